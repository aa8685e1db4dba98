-- MERGE INTO with all its clauses.
CREATE TABLE t (id INT PRIMARY KEY, v STRING, n INT DEFAULT 7); CREATE TABLE s (id INT, v STRING, n INT, op STRING); INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3), (4, 'four', 4); INSERT INTO s VALUES (1, 'ONE', 10, 'u'), (2, NULL, 20, 'd'), (5, 'five', 5, 'i'), (6, 'six', 6, 'skip');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 4 | 0 | 0
CREATE TAG start;
--| tag: string | commit: string
--| start | <hash>
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v, n = t.n + s.n WHEN NOT MATCHED AND s.op <> 'skip' THEN INSERT (id, v) VALUES (s.id, s.v);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 1 | 1
SELECT * FROM t ORDER BY id;
--| id: int | v: string | n: int
--| 1 | ONE | 11
--| 3 | three | 3
--| 4 | four | 4
--| 5 | five | 7
MERGE INTO t USING (SELECT id, v, n FROM s WHERE id <> 2) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 2 | 0
SELECT * FROM t ORDER BY id;
--| id: int | v: string | n: int
--| 1 | ONE | 10
--| 3 | three | 3
--| 4 | four | 4
--| 5 | five | 5
--| 6 | six | 6
MERGE INTO t AS a USING s AS b ON a.id = b.id WHEN NOT MATCHED BY SOURCE AND a.n > 3 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'orphan';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 1
SELECT * FROM t ORDER BY id;
--| id: int | v: string | n: int
--| 1 | ONE | 10
--| 3 | orphan | 3
--| 5 | five | 5
--| 6 | six | 6
MERGE INTO t USING (VALUES (9, 'nine')) AS x(id, v) ON t.id = x.id WHEN NOT MATCHED BY TARGET THEN INSERT (id, v, n) VALUES (x.id, concat(x.v, '!'), DEFAULT);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT * FROM t WHERE id = 9;
--| id: int | v: string | n: int
--| 9 | nine! | 7
MERGE INTO t USING (SELECT 9 AS a, (SELECT max(b) FROM (VALUES (1), (2)) m(b)) AS b) x(k, w) ON t.id = x.k WHEN MATCHED THEN UPDATE SET n = x.w;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
MERGE INTO t USING t VERSION AS OF start o ON t.id = o.id WHEN MATCHED THEN UPDATE SET v = o.v WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (o.id, o.v, o.n);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 2 | 0
SELECT * FROM t ORDER BY id;
--| id: int | v: string | n: int
--| 1 | one | 10
--| 2 | two | 2
--| 3 | three | 3
--| 4 | four | 4
--| 5 | five | 5
--| 6 | six | 6
--| 9 | nine! | 2
MERGE INTO t USING s ON t.id = s.id AND s.id > 100 WHEN MATCHED THEN DELETE;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
MERGE INTO t USING s ON false WHEN NOT MATCHED AND s.id = 6 THEN INSERT (id, v) VALUES (s.id + 100, s.v);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
MERGE INTO t USING (SELECT 1 AS k UNION ALL SELECT 1) x ON t.id = x.k WHEN MATCHED THEN UPDATE SET v = 'twice';
--! InvalidRequest: merge into 't': several rows of the source match one row of the table: id=1
MERGE INTO t USING (SELECT 1 AS k UNION ALL SELECT 1) x ON t.id = x.k WHEN MATCHED THEN DELETE;
--! InvalidRequest: merge into 't': several rows of the source match one row of the table: id=1
MERGE INTO t USING s ON t.id = s.id + 1000 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (1, s.v);
--! InvalidRequest: merge into 't': the rows have a key more than once: id=1
MERGE INTO t USING s ON t.id = s.id + 1000 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (77, s.v);
--! InvalidRequest: merge into 't': the rows have a key more than once: id=77
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 1;
--! InvalidRequest: merge into 't': the rows have a key more than once: id=1
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET nope = 1;
--! NotFound: there is no column 'nope'
MERGE INTO t USING s ON t.id = s.nope WHEN MATCHED THEN DELETE;
--! NotFound: there is no column 's.nope'
MERGE INTO t USING nope ON t.id = nope.id WHEN MATCHED THEN DELETE;
--! NotFound: there is no table 'nope' at this commit
MERGE INTO nope USING s ON true WHEN MATCHED THEN DELETE;
--! NotFound: there is no table 'nope' at this commit
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN INSERT *;
--! InvalidRequest: SQL, line 1, column 55: found 'INSERT', expected UPDATE or DELETE
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id);
--! InvalidRequest: SQL, line 1, column 87: the text ends, expected 2 values for 2 columns, there are 1
MERGE INTO t USING s ON t.id = s.id;
--! InvalidRequest: SQL, line 1, column 36: the text ends, expected WHEN
MERGE INTO t USING (SELECT id FROM s WHERE id = 2) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET *;
--! InvalidRequest: merge into 't': the source has no column 'v', which `*` asks for
SELECT * FROM t ORDER BY id;
--| id: int | v: string | n: int
--| 1 | one | 10
--| 2 | two | 2
--| 3 | three | 3
--| 4 | four | 4
--| 5 | five | 5
--| 6 | six | 6
--| 9 | nine! | 2
--| 106 | six | 7
-- WITH before the statement.
CREATE TABLE w (id INT PRIMARY KEY, v STRING); INSERT INTO w VALUES (1, 'a'), (2, 'b');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
WITH s AS (SELECT id, upper_v AS v FROM VALUES (2, 'B'), (3, 'C') AS x (id, upper_v)) MERGE INTO w USING s ON w.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 1 | 0
WITH s AS (SELECT 3 AS id), l AS (SELECT 'low' AS v) MERGE INTO w t USING (SELECT id FROM s WHERE id > 2) AS q ON t.id = q.id WHEN MATCHED THEN UPDATE SET v = (SELECT max(v) FROM l);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
SELECT * FROM w ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | B
--| 3 | low
-- A key that the source has several times is told once.
MERGE INTO w USING (SELECT * FROM VALUES (7, 'x'), (7, 'y'), (7, 'z'), (8, 'a'), (8, 'b') AS s (id, v)) s ON w.id = s.id WHEN NOT MATCHED THEN INSERT *;
--! InvalidRequest: merge into 'w': the rows have a key more than once: id=7; id=8
MERGE INTO w USING (SELECT * FROM VALUES (1, 'x'), (1, 'y'), (1, 'z') AS s (id, v)) s ON w.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
--! InvalidRequest: merge into 'w': several rows of the source match one row of the table: id=1
