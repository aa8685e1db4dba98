-- A table at other states: versions, times, branches, and the changes between.
CREATE TABLE t (id INT PRIMARY KEY, v STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
CREATE TAG v1;
--| tag: string | commit: string
--| v1 | <hash>
UPDATE t SET v = 'B' WHERE id = 2; INSERT INTO t VALUES (3, 'c');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
CREATE BRANCH dev;
--| branch: string | commit: string
--| dev | <hash>
DELETE FROM t WHERE id = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
USE BRANCH dev;
--| branch: string
--| dev
INSERT INTO t VALUES (9, 'dev');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
USE BRANCH main;
--| branch: string
--| main
SELECT * FROM t ORDER BY id;
--| id: int | v: string
--| 2 | B
--| 3 | c
SELECT * FROM t VERSION AS OF 'v1' ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | b
SELECT * FROM t FOR VERSION AS OF main~1 ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | B
--| 3 | c
SELECT * FROM t FOR SYSTEM_VERSION AS OF v1 ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | b
SELECT * FROM t SYSTEM_VERSION AS OF 'dev' ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | B
--| 3 | c
--| 9 | dev
SELECT * FROM t VERSION AS OF 1 ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | b
SELECT * FROM t@v1 ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | b
SELECT * FROM t@v'main~1' ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | B
--| 3 | c
SELECT * FROM t@dev ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | B
--| 3 | c
--| 9 | dev
SELECT * FROM `t@dev` ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | B
--| 3 | c
--| 9 | dev
SELECT * FROM t TIMESTAMP AS OF '2999-01-01' ORDER BY id;
--| id: int | v: string
--| 2 | B
--| 3 | c
SELECT * FROM t FOR SYSTEM_TIME AS OF '2999-01-01 00:00:00' ORDER BY id;
--| id: int | v: string
--| 2 | B
--| 3 | c
SELECT * FROM t TIMESTAMP AS OF '2001-01-01';
--! NotFound: 'main@{2001-01-01}': branch 'main' was not there yet
SELECT * FROM t VERSION AS OF main~9;
--! NotFound: 'main~9' goes back past the first commit
SELECT * FROM t VERSION AS OF 99;
--! NotFound: branch 'main' has no commit number 99
SELECT * FROM t@nope;
--! NotFound: there is no branch, tag or commit 'nope'
SELECT n.id, n.v AS now, o.v AS then FROM t n FULL JOIN t VERSION AS OF v1 o ON n.id = o.id ORDER BY n.id, o.id;
--| id: int | now: string | then: string
--| NULL | NULL | a
--| 2 | B | b
--| 3 | c | NULL
SELECT id FROM t@dev EXCEPT SELECT id FROM t ORDER BY id;
--| id: int
--| 1
--| 9
SELECT id FROM t WHERE id NOT IN (SELECT id FROM t VERSION AS OF v1) ORDER BY id;
--| id: int
--| 3
SELECT id, v, _change_type, _commit_version FROM t CHANGES FROM VERSION 'v1' EXCLUSIVE TO VERSION main ORDER BY _commit_version, id, _change_type;
--| id: int | v: string | _change_type: string | _commit_version: string
--| 2 | B | update_postimage | main/2
--| 2 | b | update_preimage | main/2
--| 3 | c | insert | main/2
--| 1 | a | delete | main/3
SELECT id, _change_type FROM t CHANGES FROM VERSION 1 TO VERSION 1 ORDER BY id;
--| id: int | _change_type: string
--| 1 | insert
--| 2 | insert
SELECT _change_type, count(*) AS n FROM t CHANGES FROM VERSION main GROUP BY _change_type ORDER BY n;
--| _change_type: string | n: bigint
--| delete | 1
SELECT _change_type, count(*) AS n FROM t CHANGES FROM VERSION v1 TO VERSION dev GROUP BY _change_type ORDER BY _change_type;
--| _change_type: string | n: bigint
--| insert | 4
--| update_postimage | 1
--| update_preimage | 1
SELECT count(*) AS n FROM t CHANGES FROM TIMESTAMP '2001-01-01';
--| n: bigint
--| 6
SELECT count(*) AS n FROM t CHANGES FROM TIMESTAMP '2001-01-01' TO TIMESTAMP '2999-01-01';
--| n: bigint
--| 6
SELECT count(*) AS n FROM t CHANGES FROM TIMESTAMP '2999-01-01';
--| n: bigint
--| 0
WITH old AS (SELECT * FROM t VERSION AS OF v1) SELECT count(*) AS n FROM old;
--| n: bigint
--| 2
INSERT INTO t SELECT id + 100, v FROM t VERSION AS OF v1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
SELECT * FROM t ORDER BY id;
--| id: int | v: string
--| 2 | B
--| 3 | c
--| 101 | a
--| 102 | b
