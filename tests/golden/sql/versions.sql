-- Branches, tags, merges, conflicts, and going back.
CREATE TABLE t (id INT PRIMARY KEY, price INT, qty INT); INSERT INTO t VALUES (1, 10, 1), (2, 20, 2), (3, 30, 3);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 3 | 0 | 0
CREATE TAG v1;
--| tag: string | commit: string
--| v1 | <hash>
CREATE BRANCH dev;
--| branch: string | commit: string
--| dev | <hash>
CREATE BRANCH dev;
--! AlreadyExists: there is a branch 'dev'
CREATE BRANCH IF NOT EXISTS dev;
--| branch: string | commit: string
--| dev | <hash>
CREATE BRANCH old AT v1;
--| branch: string | commit: string
--| old | <hash>
CREATE TAG v1 AT main;
--! AlreadyExists: there is a tag 'v1'
CREATE BRANCH x AT nope;
--! NotFound: there is no branch, tag or commit 'nope'
USE BRANCH dev;
--| branch: string
--| dev
UPDATE t SET price = 11, qty = 5 WHERE id = 1; INSERT INTO t VALUES (4, 40, 4);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
USE BRANCH main;
--| branch: string
--| main
UPDATE t SET price = 12, qty = 9 WHERE id = 1; DELETE FROM t WHERE id = 3;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
MERGE BRANCH DRY RUN dev;
--| table: string | inserted: bigint | updated: bigint | deleted: bigint | cells: bigint | conflicts: bigint
--| t | 1 | 0 | 0 | 0 | 2
MERGE BRANCH dev;
--! MergeConflict: 'dev' can't be merged into 'main': 2 conflicts in t (2)
SHOW CONFLICTS;
--| table: string | level: string | column: string | kind: string | count: bigint
--| t | rows | price | update/update | 1
--| t | rows | qty | update/update | 1
SELECT * FROM ana.conflicts('t') ORDER BY `column`;
--| id: int | kind: string | column: string | base: string | ours: string | theirs: string
--| 1 | update/update | price | 10 | 12 | 11
--| 1 | update/update | qty | 1 | 9 | 5
SHOW CONFLICTS IN t;
--| id: int | kind: string | column: string | base: string | ours: string | theirs: string
--| 1 | update/update | price | 10 | 12 | 11
--| 1 | update/update | qty | 1 | 9 | 5
CONTINUE MERGE;
--! MergeConflict: 'dev' can't be merged into 'main': 2 conflicts in t (2)
RESOLVE t TAKE THEIRS WHERE `column` = 'nope';
--! NotFound: there is no column 'column'
RESOLVE t SET price = ours + theirs WHERE id = 1;
--| table: string | resolved: bigint | left: bigint
--| t | 1 | 1
RESOLVE t TAKE THEIRS;
--| table: string | resolved: bigint | left: bigint
--| t | 1 | 0
CONTINUE MERGE 'both';
--| branch: string | commit: string | commit_id: string | inserted: bigint | updated: bigint | deleted: bigint | fast_forward: boolean | up_to_date: boolean | conflicts: bigint
--| main | <hash> | main/3 | 1 | 1 | 0 | false | false | 0
SELECT * FROM t ORDER BY id;
--| id: int | price: int | qty: int
--| 1 | 23 | 5
--| 2 | 20 | 2
--| 4 | 40 | 4
SELECT message FROM ana.log LIMIT 1;
--| message: string
--| both
REVERT main PARENT 1;
--| branch: string | commit: string | commit_id: string | inserted: bigint | updated: bigint | deleted: bigint
--| main | <hash> | main/4 | 0 | 1 | 1
SELECT * FROM t ORDER BY id;
--| id: int | price: int | qty: int
--| 1 | 12 | 9
--| 2 | 20 | 2
USE BRANCH old;
--| branch: string
--| old
UPDATE t SET qty = qty + 10 WHERE id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
USE BRANCH main;
--| branch: string
--| main
UPDATE t SET qty = qty + 100 WHERE id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
MERGE BRANCH old INTO main RULES (t.qty = 'ours + theirs - base') MESSAGE 'sum';
--| branch: string | commit: string | commit_id: string | inserted: bigint | updated: bigint | deleted: bigint | fast_forward: boolean | up_to_date: boolean | conflicts: bigint
--| main | <hash> | main/6 | 0 | 1 | 0 | false | false | 0
SELECT qty FROM t WHERE id = 2;
--| qty: int
--| 112
UPDATE t SET price = 21 WHERE id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
USE BRANCH old;
--| branch: string
--| old
CHERRY PICK main;
--| branch: string | commit: string | commit_id: string | inserted: bigint | updated: bigint | deleted: bigint
--| old | <hash> | old/3 | 0 | 1 | 0
SELECT * FROM t WHERE id = 2;
--| id: int | price: int | qty: int
--| 2 | 21 | 12
USE BRANCH main;
--| branch: string
--| main
UPDATE t SET price = 22 WHERE id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
MERGE BRANCH old;
--! MergeConflict: 'old' can't be merged into 'main': 1 conflict in t (1)
ABORT MERGE;
--| branch: string | aborted: array<string>
--| main | ["old"]
ABORT MERGE;
--! NotFound: no merge into 'main' is open
RESTORE TABLE t TO VERSION AS OF v1;
--| branch: string | commit: string | commit_id: string | inserted: bigint | updated: bigint | deleted: bigint
--| main | <hash> | main/9 | 1 | 2 | 0
SELECT * FROM t ORDER BY id;
--| id: int | price: int | qty: int
--| 1 | 10 | 1
--| 2 | 20 | 2
--| 3 | 30 | 3
CREATE BRANCH fix;
--| branch: string | commit: string
--| fix | <hash>
ALTER BRANCH fix RENAME TO mend;
--| branch: string | renamed_from: string | commit: string
--| mend | fix | <hash>
USE BRANCH mend;
--| branch: string
--| mend
DELETE FROM t WHERE id = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
RESET BRANCH mend TO v1;
--| branch: string | commit: string
--| mend | <hash>
SELECT count(*) AS n FROM t;
--| n: bigint
--| 3
DROP BRANCH mend;
--! InvalidRequest: 'mend' is the current branch
USE BRANCH main;
--| branch: string
--| main
DROP BRANCH old;
--! InvalidRequest: branch 'old' has commits that no other branch or tag reaches
DROP BRANCH dev FORCE;
--| branch: string | commit: string
--| dev | <hash>
DROP BRANCH dev;
--! NotFound: there is no branch 'dev'
DROP BRANCH IF EXISTS dev;
--| branch: string | commit: string
DROP TAG v1;
--| tag: string | commit: string
--| v1 | <hash>
DROP TAG v1;
--! NotFound: there is no tag 'v1'
USE BRANCH nope;
--! NotFound: there is no branch 'nope'
MERGE BRANCH nope;
--! NotFound: there is no branch, tag or commit 'nope'
RESOLVE t TAKE OURS;
--! NotFound: no merge into 'main' is open
SELECT name FROM ana.branches ORDER BY name;
--| name: string
--| main
--| mend
--| old
