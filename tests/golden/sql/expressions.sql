-- Expressions and functions over a small table.
CREATE TABLE p (id INT PRIMARY KEY, name STRING, qty INT, price DECIMAL(8,2), rate DOUBLE, day DATE, at TIMESTAMP_NTZ); INSERT INTO p VALUES (1, 'apple', 10, 1.25, 0.5, DATE '2024-01-31', TIMESTAMP_NTZ '2024-01-31 10:20:30'), (2, 'Banana split', 3, 7.00, -1.5, DATE '2023-12-31', TIMESTAMP_NTZ '2023-12-31 23:59:59'), (3, ' pear ', NULL, 0.99, 2.0, NULL, NULL), (4, NULL, -7, NULL, NULL, DATE '2024-02-29', TIMESTAMP_NTZ '2024-02-29 00:00:00');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 4 | 0 | 0
SELECT id, qty + 1 AS plus, qty - 1 AS minus, qty * 2 AS times, -qty AS negative FROM p ORDER BY id;
--| id: int | plus: int | minus: int | times: int | negative: int
--| 1 | 11 | 9 | 20 | -10
--| 2 | 4 | 2 | 6 | -3
--| 3 | NULL | NULL | NULL | NULL
--| 4 | -6 | -8 | -14 | 7
SELECT id, qty / 4 AS slash, qty div 4 AS whole, qty % 4 AS rest, pmod(qty, 4) AS positive FROM p ORDER BY id;
--| id: int | slash: double | whole: bigint | rest: int | positive: int
--| 1 | 2.5 | 2 | 2 | 2
--| 2 | 0.75 | 0 | 3 | 3
--| 3 | NULL | NULL | NULL | NULL
--| 4 | -1.75 | -1 | -3 | 1
SELECT id, price + 1 AS plus, price * 3 AS times, price - 0.005 AS minus, -price AS negative FROM p ORDER BY id;
--| id: int | plus: decimal(9,2) | times: decimal(10,2) | minus: decimal(10,3) | negative: decimal(8,2)
--| 1 | 2.25 | 3.75 | 1.245 | -1.25
--| 2 | 8.00 | 21.00 | 6.995 | -7.00
--| 3 | 1.99 | 2.97 | 0.985 | -0.99
--| 4 | NULL | NULL | NULL | NULL
SELECT id, price * qty AS total, price / 3 AS third FROM p ORDER BY id;
--| id: int | total: decimal(19,2) | third: decimal(12,6)
--| 1 | 12.50 | 0.416667
--| 2 | 21.00 | 2.333333
--| 3 | NULL | 0.330000
--| 4 | NULL | NULL
SELECT id, rate + qty AS mixed, rate * rate AS square, abs(rate) AS size, sign(rate) AS sign FROM p ORDER BY id;
--| id: int | mixed: double | square: double | size: double | sign: double
--| 1 | 10.5 | 0.25 | 0.5 | 1.0
--| 2 | 1.5 | 2.25 | 1.5 | -1.0
--| 3 | NULL | 4.0 | 2.0 | 1.0
--| 4 | NULL | NULL | NULL | NULL
SELECT id, floor(rate) AS low, ceil(rate) AS high, try_add(qty, 2147483647) AS too_much FROM p ORDER BY id;
--| id: int | low: bigint | high: bigint | too_much: int
--| 1 | 0 | 1 | NULL
--| 2 | -2 | -1 | NULL
--| 3 | 2 | 2 | NULL
--| 4 | NULL | NULL | 2147483640
--: spark
SELECT id, round(price, 1) AS r, round(rate) AS whole, bround(rate, 0) AS even FROM p ORDER BY id;
--| id: int | r: decimal(8,1) | whole: double | even: double
--| 1 | 1.3 | 1.0 | 0.0
--| 2 | 7.0 | -2.0 | -2.0
--| 3 | 1.0 | 2.0 | 2.0
--| 4 | NULL | NULL | NULL
--: engine's words
SELECT id, qty / 0 AS wrong FROM p WHERE qty > 0;
--! InvalidRequest
--: engine's words
SELECT qty % (id - id) AS wrong FROM p WHERE qty > 0;
--! InvalidRequest
SELECT try_divide(qty, 0) AS n, nullif(qty, 10) AS unless, coalesce(qty, 0) AS some, nvl(name, '-') AS name FROM p ORDER BY id;
--| n: double | unless: int | some: int | name: string
--| NULL | NULL | 10 | apple
--| NULL | 3 | 3 | Banana split
--| NULL | NULL | 0 | " pear "
--| NULL | -7 | -7 | -
SELECT id, CASE WHEN qty > 5 THEN 'many' WHEN qty > 0 THEN 'few' ELSE 'none' END AS size, CASE name WHEN 'apple' THEN 1 END AS is_apple FROM p ORDER BY id;
--| id: int | size: string | is_apple: int
--| 1 | many | 1
--| 2 | few | NULL
--| 3 | none | NULL
--| 4 | none | NULL
SELECT id, if(qty > 0, 'in', 'out') AS stock, nvl2(day, 'dated', 'undated') AS dated FROM p ORDER BY id;
--| id: int | stock: string | dated: string
--| 1 | in | dated
--| 2 | in | dated
--| 3 | out | undated
--| 4 | out | dated
SELECT id, greatest(qty, id, 5) AS most, least(qty, id) AS fewest FROM p ORDER BY id;
--| id: int | most: int | fewest: int
--| 1 | 10 | 1
--| 2 | 5 | 2
--| 3 | 5 | 3
--| 4 | 5 | -7
SELECT id, length(name) AS n, trim(name) AS t, substring(name, 2, 3) AS part, left(name, 2) AS l, right(name, 2) AS r FROM p ORDER BY id;
--| id: int | n: int | t: string | part: string | l: string | r: string
--| 1 | 5 | apple | ppl | ap | le
--| 2 | 12 | Banana split | ana | Ba | it
--| 3 | 6 | pear | pea | " p" | "r "
--| 4 | NULL | NULL | NULL | NULL | NULL
SELECT id, concat(name, '!') AS bang, name || '?' AS ask, concat_ws('-', name, 'x') AS joined, repeat('ab', id) AS again FROM p ORDER BY id;
--| id: int | bang: string | ask: string | joined: string | again: string
--| 1 | apple! | apple? | apple-x | ab
--| 2 | Banana split! | Banana split? | Banana split-x | abab
--| 3 | " pear !" | " pear ?" | " pear -x" | ababab
--| 4 | NULL | NULL | x | abababab
SELECT id, instr(name, 'a') AS at, position('n' IN name) AS n, replace(name, 'a', '@') AS new, reverse(name) AS back FROM p ORDER BY id;
--| id: int | at: int | n: int | new: string | back: string
--| 1 | 1 | 0 | @pple | elppa
--| 2 | 2 | 3 | B@n@n@ split | tilps ananaB
--| 3 | 4 | 0 | " pe@r " | " raep "
--| 4 | NULL | NULL | NULL | NULL
SELECT id, lpad(name, 8, '.') AS l, rpad(name, 8, '.') AS r, split_part(name, ' ', 2) AS second, translate(name, 'ab', 'xy') AS t FROM p ORDER BY id;
--| id: int | l: string | r: string | second: string | t: string
--| 1 | ...apple | apple... | "" | xpple
--| 2 | Banana s | Banana s | split | Bxnxnx split
--| 3 | ".. pear " | " pear .." | pear | " pexr "
--| 4 | NULL | NULL | NULL | NULL
SELECT id FROM p WHERE name LIKE '%a%' AND name NOT LIKE 'B%' ORDER BY id;
--| id: int
--| 1
--| 3
SELECT id FROM p WHERE startswith(name, 'B') OR endswith(name, 'le') OR contains(name, 'ear') ORDER BY id;
--| id: int
--| 1
--| 2
--| 3
SELECT id, year(day) AS y, month(day) AS m, day(day) AS d, dayofweek(day) AS w, quarter(day) AS q, last_day(day) AS last FROM p ORDER BY id;
--| id: int | y: int | m: int | d: int | w: int | q: int | last: date
--| 1 | 2024 | 1 | 31 | 4 | 1 | 2024-01-31
--| 2 | 2023 | 12 | 31 | 1 | 4 | 2023-12-31
--| 3 | NULL | NULL | NULL | NULL | NULL | NULL
--| 4 | 2024 | 2 | 29 | 5 | 1 | 2024-02-29
SELECT id, date_add(day, 1) AS next, date_sub(day, 31) AS ago, datediff(day, DATE '2024-01-01') AS days, add_months(day, 1) AS month FROM p ORDER BY id;
--| id: int | next: date | ago: date | days: int | month: date
--| 1 | 2024-02-01 | 2023-12-31 | 30 | 2024-02-29
--| 2 | 2024-01-01 | 2023-11-30 | -1 | 2024-01-31
--| 3 | NULL | NULL | NULL | NULL
--| 4 | 2024-03-01 | 2024-01-29 | 59 | 2024-03-29
SELECT id, hour(at) AS h, minute(at) AS m, second(at) AS s, at + INTERVAL 1 DAY AS later, day - INTERVAL 1 MONTH AS before FROM p ORDER BY id;
--| id: int | h: int | m: int | s: int | later: timestamp_ntz | before: date
--| 1 | 10 | 20 | 30 | 2024-02-01T10:20:30 | 2023-12-31
--| 2 | 23 | 59 | 59 | 2024-01-01T23:59:59 | 2023-11-30
--| 3 | NULL | NULL | NULL | NULL | NULL
--| 4 | 0 | 0 | 0 | 2024-03-01T00:00:00 | 2024-01-29
SELECT id, extract(YEAR FROM day) AS y, extract(DOW FROM day) AS w, date_part('hour', at) AS h FROM p ORDER BY id;
--| id: int | y: int | w: int | h: int
--| 1 | 2024 | 4 | 10
--| 2 | 2023 | 1 | 23
--| 3 | NULL | NULL | NULL
--| 4 | 2024 | 5 | 0
SELECT id, date_trunc('MONTH', at) AS month, trunc(day, 'YEAR') AS year FROM p ORDER BY id;
--| id: int | month: timestamp | year: date
--| 1 | 2024-01-01T00:00:00+00:00 | 2024-01-01
--| 2 | 2023-12-01T00:00:00+00:00 | 2023-01-01
--| 3 | NULL | NULL
--| 4 | 2024-02-01T00:00:00+00:00 | 2024-01-01
SELECT id FROM p WHERE qty BETWEEN -7 AND 3 ORDER BY id;
--| id: int
--| 2
--| 4
SELECT id FROM p WHERE qty IN (3, 10, NULL) ORDER BY id;
--| id: int
--| 1
--| 2
SELECT id FROM p WHERE qty NOT IN (3, 10) ORDER BY id;
--| id: int
--| 4
SELECT id, qty IS NULL AS none, qty <=> NULL AS same, qty IS DISTINCT FROM 3 AS other, NOT (qty > 3) AS little FROM p ORDER BY id;
--| id: int | none: boolean | same: boolean | other: boolean | little: boolean
--| 1 | false | false | true | false
--| 2 | false | false | false | true
--| 3 | true | true | true | NULL
--| 4 | false | false | true | true
SELECT id, qty & 6 AS masked, qty | 1 AS odd, qty ^ 3 AS flipped, ~qty AS inverse, shiftleft(id, 2) AS left FROM p ORDER BY id;
--| id: int | masked: int | odd: int | flipped: int | inverse: int | left: int
--| 1 | 2 | 11 | 9 | -11 | 4
--| 2 | 2 | 3 | 0 | -4 | 8
--| 3 | NULL | NULL | NULL | NULL | 12
--| 4 | 0 | -7 | -6 | 6 | 16
SELECT md5('abc') AS m, left(sha2('abc', 256), 8) AS s, hex('abc') AS h;
--| m: string | s: string | h: string
--| 900150983cd24fb0d6963f7d28e17f72 | ba7816bf | 616263
SELECT power(2, 10) AS p, sqrt(16.0D) AS s, exp(0.0D) AS e, mod(7, 3) AS m;
--| p: double | s: double | e: double | m: int
--| 1024.0 | 4.0 | 1.0 | 1
