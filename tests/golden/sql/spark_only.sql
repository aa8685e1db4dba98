-- What runs on Spark only: elsewhere it is refused, and the refusal names the part.
CREATE TABLE t (id INT PRIMARY KEY, g STRING, v INT); INSERT INTO t VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 30);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 3 | 0 | 0
--: spark
FROM t |> WHERE v > 10 |> SELECT id, v |> ORDER BY id;
--| id: int | v: int
--| 2 | 20
--| 3 | 30
--: spark
FROM t |> AGGREGATE sum(v) AS s GROUP BY g |> ORDER BY g;
--| g: string | s: bigint
--| a | 30
--| b | 30
--: spark
SELECT * FROM (SELECT g, v FROM t) PIVOT (sum(v) FOR g IN ('a' AS a, 'b' AS b));
--| a: bigint | b: bigint
--| 30 | 30
--: spark
SELECT * FROM (SELECT 1 AS x, 2 AS y) UNPIVOT (v FOR k IN (x, y)) ORDER BY k;
--| k: string | v: int
--| x | 1
--| y | 2
--: spark
SELECT id, e FROM t LATERAL VIEW explode(array(v, v + 1)) x AS e WHERE id = 1 ORDER BY e;
--| id: int | e: int
--| 1 | 10
--| 1 | 11
--: spark
SELECT explode(sequence(1, 3)) AS n;
--| n: int
--| 1
--| 2
--| 3
--: spark
SELECT posexplode(array('a', 'b'));
--| pos: int | col: string
--| 0 | a
--| 1 | b
--: spark
SELECT transform(array(1, 2, 3), x -> x * 2) AS doubled, filter(array(1, 2, 3), x -> x > 1) AS some;
--| doubled: array<int> | some: array<int>
--| [2, 4, 6] | [2, 3]
--: spark
SELECT aggregate(array(1, 2, 3), 0, (a, x) -> a + x) AS total, exists(array(1, 2), x -> x > 1) AS one;
--| total: int | one: boolean
--| 6 | true
--: spark
SELECT soundex('Robert') AS s, levenshtein('kitten', 'sitting') AS d;
--| s: string | d: int
--| R163 | 3
--: spark
--: not on Spark 4.0
SELECT parse_json('{"a": {"b": 7}}'):a.b::INT AS b;
--| b: int
--| 7
--: spark
SELECT get_json_object('{"a": [1, 2]}', '$.a[1]') AS x, from_json('{"k": 1}', 'k INT').k AS k;
--| x: string | k: int
--| 2 | 1
--: spark
SELECT upper('straße') AS u, lower('ÀÉ') AS l, initcap('ab cd') AS i;
--| u: string | l: string | i: string
--| STRASSE | àé | Ab Cd
SELECT regexp_replace('a1b22', '[0-9]+', '#') AS r, 'abc' RLIKE '^a.c$' AS matches;
--| r: string | matches: boolean
--| a#b# | true
--: spark
SELECT split('a,b,c', ',') AS parts, size(array(1, 2)) AS n, element_at(map('k', 1), 'k') AS e;
--| parts: array<string> | n: int | e: int
--| ["a", "b", "c"] | 2 | 1
--: spark
SELECT date_format(DATE '2024-02-29', 'yyyy/MM') AS d, to_date('29.02.2024', 'dd.MM.yyyy') AS p, unix_timestamp(TIMESTAMP '1970-01-02 00:00:00') AS u;
--| d: string | p: date | u: bigint
--| 2024/02 | 2024-02-29 | 86400
--: spark
SELECT percentile(v, 0.5) AS p, approx_count_distinct(g) AS n, corr(id, v) AS c FROM t;
--| p: double | n: bigint | c: double
--| 20.0 | 2 | 1.0
--: spark
SELECT g, sort_array(collect_list(v)) AS vs FROM t GROUP BY g ORDER BY g;
--| g: string | vs: array<int>
--| a | [10, 20]
--| b | [30]
--: spark
SELECT listagg(g, ',') WITHIN GROUP (ORDER BY id) AS l FROM t;
--| l: string
--| a,a,b
--: spark
SELECT id FROM t TABLESAMPLE (100 PERCENT) ORDER BY id;
--| id: int
--| 1
--| 2
--| 3
--: spark
SELECT * FROM range(3) ORDER BY id;
--| id: bigint
--| 0
--| 1
--| 2
--: spark
SELECT stack(2, 1, 'a', 2, 'b') AS (n, s);
--| n: int | s: string
--| 1 | a
--| 2 | b
SELECT * EXCEPT (v) FROM t ORDER BY id;
--| id: int | g: string
--| 1 | a
--| 2 | a
--| 3 | b
--: spark
SELECT conv('ff', 16, 10) AS c, bin(5) AS b, format_number(1234.5, 2) AS f, base64('x') AS s;
--| c: string | b: string | f: string | s: string
--| 255 | 101 | 1,234.50 | eA==
--: spark
UPDATE t SET g = lower(g) WHERE id = 3;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT id FROM t WHERE g <> 'a' ORDER BY id;
--| id: int
--| 3
CREATE TABLE made AS SELECT upper(g) AS g FROM t WHERE id = 3;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
--: spark
DELETE FROM t WHERE soundex(g) = 'A000' AND id > 100;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
