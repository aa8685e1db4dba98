-- UPDATE and DELETE.
CREATE TABLE t (id INT PRIMARY KEY, g STRING, qty INT, price DECIMAL(8,2), CONSTRAINT cheap CHECK (price < 1000)); CREATE TABLE n (a INT, b STRING); CREATE TABLE r (g STRING, factor INT); INSERT INTO t VALUES (1, 'a', 1, 10.00), (2, 'a', 2, 20.00), (3, 'b', NULL, 30.00), (4, NULL, 4, NULL); INSERT INTO n VALUES (1, 'x'), (1, 'x'), (2, NULL); INSERT INTO r VALUES ('a', 3), ('c', 5);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
CREATE TAG start;
--| tag: string | commit: string
--| start | <hash>
UPDATE t SET qty = 5 WHERE id = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
UPDATE t SET qty = qty + 1, price = price * 2 WHERE g = 'a';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 2 | 0
UPDATE t x SET x.qty = coalesce(x.qty, 0) WHERE x.qty IS NULL;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
UPDATE t SET g = CASE WHEN g IS NULL THEN 'none' ELSE g END;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
SELECT * FROM t ORDER BY id;
--| id: int | g: string | qty: int | price: decimal(8,2)
--| 1 | a | 6 | 20.00
--| 2 | a | 3 | 40.00
--| 3 | b | 0 | 30.00
--| 4 | none | 4 | NULL
UPDATE t SET qty = qty * (SELECT max(factor) FROM r WHERE r.g = t.g) WHERE g IN (SELECT g FROM r);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 2 | 0
UPDATE t SET price = (SELECT max(o.price) FROM t VERSION AS OF start o WHERE o.id = t.id) WHERE id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
UPDATE t SET qty = id, id = id + 100 WHERE id = 4;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 1
UPDATE t SET price = DEFAULT WHERE id = 104;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT * FROM t ORDER BY id;
--| id: int | g: string | qty: int | price: decimal(8,2)
--| 1 | a | 18 | 20.00
--| 2 | a | 9 | 20.00
--| 3 | b | 0 | 30.00
--| 104 | none | 4 | NULL
UPDATE t SET qty = 1 WHERE id = 999;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
UPDATE n SET b = 'y' WHERE a = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 2 | 0
SELECT * FROM n ORDER BY a, b;
--| a: int | b: string
--| 1 | y
--| 1 | y
--| 2 | NULL
DELETE FROM n WHERE b IS NULL;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
DELETE FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.g = t.g AND r.factor = 3) AND t.id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
DELETE FROM t AS x WHERE x.qty > (SELECT avg(qty) FROM t);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
SELECT id FROM t ORDER BY id;
--| id: int
--| 3
--| 104
DELETE FROM t WHERE id = 999;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
UPDATE t SET id = 1;
--! InvalidRequest: update of 't': the rows have a key more than once: id=1
UPDATE t SET price = 5000 WHERE id = 3;
--! InvalidRequest: update of 't': check 'cheap' (price < 1000) does not hold for: id=3, price=5000.00
--: spark
UPDATE t SET g = (SELECT r.g FROM r WHERE r.g = t.g) WHERE id = 999;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
UPDATE t SET nope = 1;
--! NotFound: there is no column 'nope'
UPDATE t SET qty = nope;
--! NotFound: there is no column 'nope'
UPDATE t SET qty = 1, qty = 2;
--! InvalidRequest: update of 't': a column is set twice
UPDATE t SET id = NULL WHERE id = 3;
--! InvalidRequest: update of 't': null in column 'id', which may not be null: id=NULL
UPDATE nope SET a = 1;
--! NotFound: there is no table 'nope' at this commit
DELETE FROM t WHERE nope = 1;
--! NotFound: there is no column 'nope'
--: engine's words
DELETE FROM t WHERE qty;
--! InvalidRequest
--: engine's words
UPDATE t SET g = 'x' WHERE id + 1;
--! InvalidRequest
DELETE FROM nope;
--! NotFound: there is no table 'nope' at this commit
UPDATE t SET qty = 1 WHERE;
--! InvalidRequest: SQL, line 1, column 27: the text ends, expected a condition
SELECT count(*) AS n FROM t;
--| n: bigint
--| 2
DELETE FROM n;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 2
TRUNCATE TABLE t;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 2
SELECT count(*) AS n FROM t UNION ALL SELECT count(*) FROM n;
--| n: bigint
--| 0
--| 0
SELECT count(*) AS n FROM t VERSION AS OF start;
--| n: bigint
--| 4
-- WITH before the statement.
RESTORE TABLE t TO VERSION AS OF start;
--| branch: string | commit: string | commit_id: string | inserted: bigint | updated: bigint | deleted: bigint
--| main | <hash> | main/15 | 4 | 0 | 0
WITH x AS (SELECT g, max(factor) AS f FROM r GROUP BY g) UPDATE t SET qty = (SELECT max(f) FROM x WHERE x.g = t.g) WHERE g IN (SELECT g FROM x);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 2 | 0
SELECT id, g, qty FROM t ORDER BY id;
--| id: int | g: string | qty: int
--| 1 | a | 3
--| 2 | a | 3
--| 3 | b | NULL
--| 4 | NULL | 4
WITH x (k) AS (SELECT 1), y AS (SELECT k + 1 AS k FROM x) DELETE FROM t WHERE id IN (SELECT k FROM y);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
WITH x AS (SELECT 99 AS n) UPDATE t a SET a.qty = a.id + 1 WHERE a.id = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
WITH t AS (SELECT 3 AS id) DELETE FROM t AS d WHERE d.id IN (SELECT id FROM t);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
SELECT id, g, qty FROM t ORDER BY id;
--| id: int | g: string | qty: int
--| 1 | a | 2
--| 4 | NULL | 4
WITH update AS (SELECT 5 AS n) SELECT n FROM update;
--| n: int
--| 5
WITH x AS (SELECT 1 AS a) DELETE FROM t;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 2
WITH x AS (SELECT a FROM nope) DELETE FROM n WHERE a IN (SELECT a FROM x);
--! NotFound: there is no table 'nope' at this commit
