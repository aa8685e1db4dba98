-- Aggregates and grouping.
CREATE TABLE sales (id INT PRIMARY KEY, region STRING, kind STRING, qty INT, price DECIMAL(8,2), rate DOUBLE, paid BOOLEAN); INSERT INTO sales VALUES (1, 'north', 'a', 1, 10.00, 0.5, true), (2, 'north', 'b', 2, 20.00, 1.5, false), (3, 'south', 'a', 3, 5.50, 0.25, true), (4, 'south', 'a', NULL, 4.50, NULL, NULL), (5, NULL, 'b', 5, NULL, 2.0, true), (6, NULL, NULL, 6, 1.00, -1.0, false);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 6 | 0 | 0
SELECT count(*) AS n, count(qty) AS known, count(DISTINCT region) AS regions, sum(qty) AS qty, min(price) AS low, max(price) AS high FROM sales;
--| n: bigint | known: bigint | regions: bigint | qty: bigint | low: decimal(8,2) | high: decimal(8,2)
--| 6 | 5 | 2 | 17 | 1.00 | 20.00
SELECT region, count(*) AS n, sum(price) AS total FROM sales GROUP BY region ORDER BY region;
--| region: string | n: bigint | total: decimal(18,2)
--| NULL | 2 | 1.00
--| north | 2 | 30.00
--| south | 2 | 10.00
SELECT region, kind, sum(qty) AS qty FROM sales GROUP BY region, kind ORDER BY region, kind;
--| region: string | kind: string | qty: bigint
--| NULL | NULL | 6
--| NULL | b | 5
--| north | a | 1
--| north | b | 2
--| south | a | 3
SELECT avg(qty) AS q, avg(price) AS p, avg(rate) AS r FROM sales;
--| q: double | p: decimal(12,6) | r: double
--| 3.4 | 8.200000 | 0.65
SELECT region, avg(price) AS mean FROM sales GROUP BY region ORDER BY region;
--| region: string | mean: decimal(12,6)
--| NULL | 1.000000
--| north | 15.000000
--| south | 5.000000
SELECT min(region) AS low, max(region) AS high, min(paid) AS no, max(paid) AS yes, min(rate) AS least FROM sales;
--| low: string | high: string | no: boolean | yes: boolean | least: double
--| north | south | false | true | -1.0
SELECT bool_and(paid) AS every_one, bool_or(paid) AS some, count_if(paid) AS paid FROM sales;
--| every_one: boolean | some: boolean | paid: bigint
--| false | true | 3
SELECT count(*) FILTER (WHERE qty > 2) AS big, sum(qty) FILTER (WHERE paid) AS paid FROM sales;
--| big: bigint | paid: bigint
--| 3 | 9
SELECT region, count(*) AS n FROM sales GROUP BY region HAVING count(*) > 1 AND sum(qty) > 3 ORDER BY region;
--| region: string | n: bigint
--| NULL | 2
SELECT region AS r, sum(qty) AS q FROM sales GROUP BY r ORDER BY q DESC;
--| r: string | q: bigint
--| NULL | 11
--| north | 3
--| south | 3
SELECT region, sum(qty) AS q FROM sales GROUP BY 1 ORDER BY 2;
--| region: string | q: bigint
--| north | 3
--| south | 3
--| NULL | 11
SELECT kind, region, count(*) AS n FROM sales GROUP BY ALL ORDER BY kind, region;
--| kind: string | region: string | n: bigint
--| NULL | NULL | 1
--| a | north | 1
--| a | south | 2
--| b | NULL | 1
--| b | north | 1
SELECT region, kind, sum(qty) AS q FROM sales GROUP BY ROLLUP (region, kind) ORDER BY region NULLS FIRST, kind NULLS FIRST, q;
--| region: string | kind: string | q: bigint
--| NULL | NULL | 6
--| NULL | NULL | 11
--| NULL | NULL | 17
--| NULL | b | 5
--| north | NULL | 3
--| north | a | 1
--| north | b | 2
--| south | NULL | 3
--| south | a | 3
SELECT region, kind, count(*) AS n FROM sales GROUP BY CUBE (region, kind) ORDER BY region, kind, n;
--| region: string | kind: string | n: bigint
--| NULL | NULL | 1
--| NULL | NULL | 1
--| NULL | NULL | 2
--| NULL | NULL | 6
--| NULL | a | 3
--| NULL | b | 1
--| NULL | b | 2
--| north | NULL | 2
--| north | a | 1
--| north | b | 1
--| south | NULL | 2
--| south | a | 2
SELECT region, kind, grouping(region) AS g, count(*) AS n FROM sales GROUP BY GROUPING SETS ((region), (kind), ()) ORDER BY region, kind, g, n;
--| region: string | kind: string | g: tinyint | n: bigint
--| NULL | NULL | 0 | 2
--| NULL | NULL | 1 | 1
--| NULL | NULL | 1 | 6
--| NULL | a | 1 | 3
--| NULL | b | 1 | 2
--| north | NULL | 0 | 2
--| south | NULL | 0 | 2
SELECT qty > 2 AS big, count(*) AS n FROM sales GROUP BY qty > 2 ORDER BY big;
--| big: boolean | n: bigint
--| NULL | 1
--| false | 2
--| true | 3
SELECT left(region, 1) AS r, count(*) AS n FROM sales WHERE region IS NOT NULL GROUP BY left(region, 1) ORDER BY r;
--| r: string | n: bigint
--| n | 2
--| s | 2
SELECT DISTINCT kind FROM sales ORDER BY kind;
--| kind: string
--| NULL
--| a
--| b
SELECT DISTINCT region, kind FROM sales ORDER BY region, kind;
--| region: string | kind: string
--| NULL | NULL
--| NULL | b
--| north | a
--| north | b
--| south | a
SELECT sum(DISTINCT CASE WHEN qty > 2 THEN 1 ELSE 0 END) AS n FROM sales;
--| n: bigint
--| 1
SELECT count(*) AS n, sum(qty) AS q, max(qty) AS m FROM sales WHERE id > 100;
--| n: bigint | q: bigint | m: int
--| 0 | NULL | NULL
SELECT region, count(*) AS n FROM sales WHERE id > 100 GROUP BY region;
--| region: string | n: bigint
SELECT sum(price * qty) AS total, count(price) AS n FROM sales;
--| total: decimal(29,2) | n: bigint
--| 72.50 | 5
SELECT sum(price) / count(price) AS mean FROM sales;
--| mean: decimal(38,22)
--| 8.2000000000000000000000
SELECT stddev(qty) AS s, var_pop(qty) AS v FROM sales WHERE qty < 4;
--| s: double | v: double
--| 1.0 | 0.6666666666666666
--: spark
SELECT sort_array(collect_list(qty)) AS listed, sort_array(collect_set(kind)) AS kinds FROM sales;
--| listed: array<int> | kinds: array<string>
--| [1, 2, 3, 5, 6] | ["a", "b"]
--: spark
SELECT max_by(id, qty) AS most, min_by(id, qty) AS least FROM sales;
--| most: int | least: int
--| 6 | 1
SELECT any_value(kind) AS k FROM sales WHERE kind = 'a';
--| k: string
--| a
SELECT kind, (sum(qty) + count(*)) * 2 AS mixed FROM sales GROUP BY kind ORDER BY kind;
--| kind: string | mixed: bigint
--| NULL | 14
--| a | 14
--| b | 18
--: spark
--: engine's words
SELECT region, qty FROM sales GROUP BY region;
--! InvalidRequest
--: spark
--: engine's words
SELECT region FROM sales WHERE sum(qty) > 1;
--! InvalidRequest
