-- Order, limits, nulls, NaN and the two zeros.
CREATE TABLE q (id INT PRIMARY KEY, x DOUBLE, s STRING); INSERT INTO q VALUES (1, 1.0, 'b'), (2, 1e99 * 1e99 * 1e99 * 1e99 - 1e99 * 1e99 * 1e99 * 1e99, 'B'), (3, NULL, NULL), (4, 0e0 * -1e0, 'a'), (5, 0.0D, ''), (6, -1e99 * 1e99 * 1e99 * 1e99, 'é'), (7, 1e99 * 1e99 * 1e99 * 1e99, '😀'), (8, -1.0, '1');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 8 | 0 | 0
SELECT id, x FROM q ORDER BY x, id;
--| id: int | x: double
--| 3 | NULL
--| 6 | -inf
--| 8 | -1.0
--| 4 | -0.0
--| 5 | 0.0
--| 1 | 1.0
--| 7 | inf
--| 2 | nan
SELECT id, x FROM q ORDER BY x DESC, id;
--| id: int | x: double
--| 2 | nan
--| 7 | inf
--| 1 | 1.0
--| 4 | -0.0
--| 5 | 0.0
--| 8 | -1.0
--| 6 | -inf
--| 3 | NULL
SELECT id FROM q ORDER BY x NULLS LAST, id;
--| id: int
--| 6
--| 8
--| 4
--| 5
--| 1
--| 7
--| 2
--| 3
SELECT id FROM q ORDER BY x DESC NULLS FIRST, id;
--| id: int
--| 3
--| 2
--| 7
--| 1
--| 4
--| 5
--| 8
--| 6
SELECT id, s FROM q ORDER BY s;
--| id: int | s: string
--| 3 | NULL
--| 5 | ""
--| 8 | 1
--| 2 | B
--| 4 | a
--| 1 | b
--| 6 | é
--| 7 | 😀
SELECT id, s FROM q ORDER BY s DESC NULLS FIRST;
--| id: int | s: string
--| 3 | NULL
--| 7 | 😀
--| 6 | é
--| 1 | b
--| 4 | a
--| 2 | B
--| 8 | 1
--| 5 | ""
SELECT id FROM q ORDER BY id LIMIT 3;
--| id: int
--| 1
--| 2
--| 3
SELECT id FROM q ORDER BY id LIMIT 2 OFFSET 3;
--| id: int
--| 4
--| 5
SELECT id FROM q ORDER BY id OFFSET 6;
--| id: int
--| 7
--| 8
SELECT id FROM q ORDER BY id LIMIT 0;
--| id: int
--: spark
SELECT id FROM q ORDER BY id LIMIT ALL;
--| id: int
--| 1
--| 2
--| 3
--| 4
--| 5
--| 6
--| 7
--| 8
SELECT id FROM q ORDER BY 1 DESC LIMIT 1;
--| id: int
--| 8
SELECT id AS s FROM q ORDER BY s LIMIT 2;
--| s: int
--| 1
--| 2
SELECT id, -id AS k FROM q ORDER BY k LIMIT 2;
--| id: int | k: int
--| 8 | -8
--| 7 | -7
SELECT s FROM q ORDER BY id + 0 DESC LIMIT 2;
--| s: string
--| 1
--| 😀
SELECT id FROM q ORDER BY length(s) DESC, id LIMIT 3;
--| id: int
--| 1
--| 2
--| 4
SELECT id FROM q WHERE x = 0 ORDER BY id;
--| id: int
--| 4
--| 5
SELECT id FROM q WHERE x = (SELECT max(x) FROM q) ORDER BY id;
--| id: int
--| 2
--: spark
SELECT id FROM q WHERE x = DOUBLE('NaN') ORDER BY id;
--| id: int
--| 2
SELECT id FROM q WHERE x > 1 ORDER BY id;
--| id: int
--| 2
--| 7
SELECT id FROM q WHERE isnan(x) ORDER BY id;
--| id: int
--| 2
SELECT x, count(*) AS n FROM q GROUP BY x ORDER BY x;
--| x: double | n: bigint
--| NULL | 1
--| -inf | 1
--| -1.0 | 1
--| 0.0 | 2
--| 1.0 | 1
--| inf | 1
--| nan | 1
SELECT count(DISTINCT x) AS n FROM q;
--| n: bigint
--| 6
SELECT min(x) AS low, max(x) AS high FROM q;
--| low: double | high: double
--| -inf | nan
SELECT id, x IS NULL AS none, x <=> 1e99 * 1e99 * 1e99 * 1e99 AS infinite FROM q ORDER BY id;
--| id: int | none: boolean | infinite: boolean
--| 1 | false | false
--| 2 | false | false
--| 3 | true | false
--| 4 | false | false
--| 5 | false | false
--| 6 | false | false
--| 7 | false | true
--| 8 | false | false
SELECT a.id, b.id AS other FROM q a JOIN q b ON a.x = b.x AND a.id < b.id ORDER BY a.id;
--| id: int | other: int
--| 4 | 5
SELECT DISTINCT x FROM q WHERE x = 0 OR isnan(x) ORDER BY x;
--| x: double
--| 0.0
--| nan
SELECT id FROM q ORDER BY nope;
--! NotFound: there is no column 'nope'
--: spark
--: engine's words
SELECT id FROM q ORDER BY 3;
--! InvalidRequest
--: spark
--: engine's words
SELECT id FROM q ORDER BY id LIMIT -1;
--! InvalidRequest
