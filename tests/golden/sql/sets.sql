-- UNION, INTERSECT, EXCEPT and WITH.
CREATE TABLE a (k INT, v STRING); CREATE TABLE b (k INT, v STRING); INSERT INTO a VALUES (1, 'x'), (1, 'x'), (2, 'y'), (3, NULL), (NULL, NULL); INSERT INTO b VALUES (1, 'x'), (2, 'z'), (3, NULL), (3, NULL), (4, 'w');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 5 | 0 | 0
SELECT k, v FROM a UNION SELECT k, v FROM b ORDER BY k, v;
--| k: int | v: string
--| NULL | NULL
--| 1 | x
--| 2 | y
--| 2 | z
--| 3 | NULL
--| 4 | w
SELECT k, v FROM a UNION ALL SELECT k, v FROM b ORDER BY k, v;
--| k: int | v: string
--| NULL | NULL
--| 1 | x
--| 1 | x
--| 1 | x
--| 2 | y
--| 2 | z
--| 3 | NULL
--| 3 | NULL
--| 3 | NULL
--| 4 | w
SELECT k, v FROM a INTERSECT SELECT k, v FROM b ORDER BY k;
--| k: int | v: string
--| 1 | x
--| 3 | NULL
SELECT k, v FROM a EXCEPT SELECT k, v FROM b ORDER BY k;
--| k: int | v: string
--| NULL | NULL
--| 2 | y
SELECT k FROM a EXCEPT ALL SELECT k FROM b ORDER BY k;
--| k: int
--| NULL
--| 1
SELECT k FROM a INTERSECT ALL SELECT k FROM b ORDER BY k;
--| k: int
--| 1
--| 2
--| 3
SELECT k FROM a MINUS SELECT k FROM b;
--| k: int
--| NULL
SELECT k FROM a UNION ALL SELECT 2.5 ORDER BY k;
--| k: decimal(11,1)
--| NULL
--| 1.0
--| 1.0
--| 2.0
--| 2.5
--| 3.0
SELECT k AS x FROM a UNION SELECT k AS y FROM b ORDER BY x;
--| x: int
--| NULL
--| 1
--| 2
--| 3
--| 4
(SELECT k FROM a ORDER BY k DESC LIMIT 1) UNION ALL (SELECT k FROM b ORDER BY k LIMIT 1) ORDER BY k;
--| k: int
--| 1
--| 3
SELECT k FROM a UNION SELECT k FROM b INTERSECT SELECT 4 ORDER BY k;
--| k: int
--| NULL
--| 1
--| 2
--| 3
--| 4
(SELECT k FROM a UNION SELECT k FROM b) INTERSECT SELECT 4;
--| k: int
--| 4
SELECT count(*) AS n FROM (SELECT * FROM a UNION SELECT * FROM b);
--| n: bigint
--| 6
WITH t AS (SELECT k, count(*) AS n FROM a GROUP BY k) SELECT * FROM t WHERE n > 1;
--| k: int | n: bigint
--| 1 | 2
WITH t(x, y) AS (SELECT k, v FROM a) SELECT x FROM t WHERE y IS NULL ORDER BY x;
--| x: int
--| NULL
--| 3
WITH t AS (SELECT k FROM a), u AS (SELECT k + 1 AS k FROM t) SELECT k FROM u ORDER BY k;
--| k: int
--| NULL
--| 2
--| 2
--| 3
--| 4
WITH a AS (SELECT 99 AS k) SELECT k FROM a;
--| k: int
--| 99
WITH t AS (SELECT 1 AS k) SELECT t.k, b.v FROM t JOIN b USING (k);
--| k: int | v: string
--| 1 | x
SELECT * FROM (WITH t AS (SELECT 7 AS seven) SELECT seven FROM t);
--| seven: int
--| 7
--: spark
--: not on Spark 4.0
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n ORDER BY i;
--| i: int
--| 1
--| 2
--| 3
--| 4
--| 5
VALUES (1, 'a'), (2, 'b');
--| col1: int | col2: string
--| 1 | a
--| 2 | b
SELECT * FROM VALUES (1, 'a'), (2, NULL) AS t(n, s) ORDER BY n;
--| n: int | s: string
--| 1 | a
--| 2 | NULL
--: spark
--: engine's words
SELECT k FROM a UNION SELECT k, v FROM b;
--! InvalidRequest
--: spark
--: engine's words
SELECT k FROM a UNION ALL SELECT v FROM b ORDER BY k;
--! InvalidRequest
WITH t AS (SELECT k FROM nope) SELECT * FROM t;
--! NotFound: there is no table 'nope' at this commit
--: spark
TABLE b;
--| k: int | v: string
--| 1 | x
--| 2 | z
--| 3 | NULL
--| 3 | NULL
--| 4 | w
FROM b SELECT k ORDER BY k;
--| k: int
--| 1
--| 2
--| 3
--| 3
--| 4
