-- What a repository tells of itself.
CREATE TABLE t (id INT PRIMARY KEY, v STRING DEFAULT 'x', n INT NOT NULL); INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2); CREATE NAMESPACE s; CREATE TABLE s.u (a STRING, b DOUBLE);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
CREATE TAG v1;
--| tag: string | commit: string
--| v1 | <hash>
CREATE BRANCH dev;
--| branch: string | commit: string
--| dev | <hash>
USE BRANCH dev;
--| branch: string
--| dev
UPDATE t SET v = 'dev' WHERE id = 1; INSERT INTO t VALUES (3, DEFAULT, 3);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
USE BRANCH main;
--| branch: string
--| main
UPDATE t SET v = 'main' WHERE id = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
SELECT id, author, tables FROM ana.log ORDER BY id;
--| id: string | author: string | tables: array<string>
--| main/0 | ann | []
--| main/1 | ann | ["s.u", "t"]
--| main/2 | ann | ["t"]
--: spark
SELECT id, size(parents) AS parents FROM ana.log ORDER BY id;
--| id: string | parents: int
--| main/0 | 0
--| main/1 | 1
--| main/2 | 1
SELECT message FROM ana.log('dev');
--| message: string
--| CREATE TABLE t (id INT PRIMARY KEY, v STRING DEFAULT 'x', n INT NOT NULL); INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2); CREATE NAMESPACE s; CREATE TABLE s.u (a STRING, b DOUBLE)
--| UPDATE t SET v = 'dev' WHERE id = 1; INSERT INTO t VALUES (3, DEFAULT, 3)
--| start
SELECT name, current FROM ana.branches ORDER BY name;
--| name: string | current: boolean
--| dev | false
--| main | true
SELECT name, author FROM ana.tags;
--| name: string | author: string
--| v1 | ann
SELECT name, row_count, column_count, key FROM ana.tables ORDER BY name;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| s.u | 0 | 2 | []
--| t | 2 | 3 | ["id"]
SELECT * FROM ana.namespaces;
--| name: string
--| s
SELECT * FROM ana.columns ORDER BY `table`, position;
--| table: string | position: int | name: string | type: string | nullable: boolean | default: string | key: boolean | comment: string
--| s.u | 1 | a | string | true | NULL | false | NULL
--| s.u | 2 | b | double | true | NULL | false | NULL
--| t | 1 | id | int | false | NULL | true | NULL
--| t | 2 | v | string | true | 'x' | false | NULL
--| t | 3 | n | int | false | NULL | false | NULL
SELECT name, type, key FROM ana.columns('t') ORDER BY position;
--| name: string | type: string | key: boolean
--| id | int | true
--| v | string | false
--| n | int | false
SELECT branch, author, verb FROM ana.reflog;
--| branch: string | author: string | verb: string
--| main | ann | commit
--| main | ann | commit
--| main | ann | init
SELECT branch, verb FROM ana.reflog('dev');
--| branch: string | verb: string
--| dev | branch
--| dev | commit
SELECT * FROM ana.status;
--| name: string | kind: string | state: string | operations: array<string> | inserted: bigint | updated: bigint | deleted: bigint
SELECT * FROM ana.diff('t', 'main', 'dev') ORDER BY id, 2;
--| id: int | v: string | n: int | _change_type: string
--| 1 | dev | 1 | update_postimage
--| 1 | main | 1 | update_preimage
--| 3 | x | 3 | insert
SELECT * FROM ana.diff('t', 'v1', 'dev') ORDER BY id, 2;
--| id: int | v: string | n: int | _change_type: string
--| 1 | a | 1 | update_preimage
--| 1 | dev | 1 | update_postimage
--| 3 | x | 3 | insert
SELECT id, _change_type FROM ana.changes('t', 'v1', 'dev') ORDER BY id, _change_type;
--| id: int | _change_type: string
--| 1 | update_postimage
--| 1 | update_preimage
--| 3 | insert
SELECT message, operations, inserted, updated, deleted FROM ana.history('t');
--| message: string | operations: array<string> | inserted: bigint | updated: bigint | deleted: bigint
--| CREATE TABLE t (id INT PRIMARY KEY, v STRING DEFAULT 'x', n INT NOT NULL); INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2); CREATE NAMESPACE s; CREATE TABLE s.u (a STRING, b DOUBLE) | ["create"] | 2 | 0 | 0
--| UPDATE t SET v = 'main' WHERE id = 1 | ["update"] | 0 | 1 | 0
SELECT message, `change`, `before`, `after`, columns FROM ana.history('t', 1);
--| message: string | change: string | before: string | after: string | columns: array<string>
--| CREATE TABLE t (id INT PRIMARY KEY, v STRING DEFAULT 'x', n INT NOT NULL); INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2); CREATE NAMESPACE s; CREATE TABLE s.u (a STRING, b DOUBLE) | insert | NULL | "{\"id\": 1, \"v\": \"a\", \"n\": 1}" | []
--| UPDATE t SET v = 'main' WHERE id = 1 | update | "{\"id\": 1, \"v\": \"a\", \"n\": 1}" | "{\"id\": 1, \"v\": \"main\", \"n\": 1}" | ["v"]
SELECT id, _commit_version FROM ana.blame('t') ORDER BY id;
--| id: int | _commit_version: string
--| 1 | main/2
--| 2 | main/1
SELECT * FROM ana.conflicts;
--| table: string | level: string | column: string | kind: string | count: bigint
SELECT kind, `rows`, key_low, key_high FROM ana.layout('t');
--| kind: string | rows: bigint | key_low: string | key_high: string
--| rows | 2 | [1] | [2]
--| update | 1 | [1] | [1]
DESCRIBE ana.tables;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| column_count | int | true | NULL | false | NULL
--| key | array<string> | true | NULL | false | NULL
--| name | string | true | NULL | false | NULL
--| row_count | bigint | true | NULL | false | NULL
SELECT b.name, count(*) AS n FROM ana.branches b JOIN ana.tags t ON b.commit = t.commit GROUP BY b.name ORDER BY b.name;
--| name: string | n: bigint
SELECT name FROM ana.tables VERSION AS OF v1 ORDER BY name;
--| name: string
--| s.u
--| t
SELECT count(*) AS n FROM ana.log VERSION AS OF v1;
--| n: bigint
--| 2
SELECT * FROM ana.nope;
--! NotFound: there is no system table 'ana.nope'
SELECT * FROM ana.diff;
--! InvalidRequest: ana.diff: it needs the name of a table
SELECT * FROM ana.diff('t', 'main', 'dev', 'x');
--! InvalidRequest: ana.diff: 4 arguments were given, it takes no more than 3
SELECT * FROM ana.history('t', 1, 2);
--! InvalidRequest: ana.history: 2 values were given, but 't' has id
SELECT * FROM ana.blame('nope');
--! NotFound: there is no table 'nope' at this commit
SELECT nope FROM ana.log;
--! NotFound: there is no column 'nope'
SHOW TABLES;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| s.u | 0 | 2 | []
--| t | 2 | 3 | ["id"]
SHOW TABLES IN s;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| s.u | 0 | 2 | []
SHOW TABLES LIKE 't*';
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| t | 2 | 3 | ["id"]
SHOW NAMESPACES;
--| name: string
--| s
SHOW COLUMNS IN s.u;
--| table: string | position: int | name: string | type: string | nullable: boolean | default: string | key: boolean | comment: string
--| s.u | 1 | a | string | true | NULL | false | NULL
--| s.u | 2 | b | double | true | NULL | false | NULL
SHOW STATUS;
--| name: string | kind: string | state: string | operations: array<string> | inserted: bigint | updated: bigint | deleted: bigint
SHOW CONFLICTS;
--| table: string | level: string | column: string | kind: string | count: bigint
SHOW TABLES IN nope;
--! NotFound: there is no namespace 'nope'
DESCRIBE ana.blame;
--! InvalidRequest: ana.blame: it needs the name of a table
DESCRIBE ana.blame('t');
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| _commit_author | string | true | NULL | false | NULL
--| _commit_hash | string | true | NULL | false | NULL
--| _commit_message | string | true | NULL | false | NULL
--| _commit_timestamp | timestamp | true | NULL | false | NULL
--| _commit_version | string | true | NULL | false | NULL
--| id | int | true | NULL | false | NULL
DESCRIBE ana.log('v1');
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| author | string | true | NULL | false | NULL
--| finished_at | timestamp | true | NULL | false | NULL
--| hash | string | true | NULL | false | NULL
--| id | string | true | NULL | false | NULL
--| message | string | true | NULL | false | NULL
--| parents | array<string> | true | NULL | false | NULL
--| provenance | array<string> | true | NULL | false | NULL
--| started_at | timestamp | true | NULL | false | NULL
--| tables | array<string> | true | NULL | false | NULL
DESCRIBE ana.nope;
--! NotFound: there is no system table 'ana.nope'
DESCRIBE ana.diff('nope');
--! NotFound: there is no table 'nope' at this commit
DESCRIBE nope('t');
--! InvalidRequest: SQL, line 1, column 14: found '(', expected the end
