-- Wrong SQL, and what is said of it.
CREATE TABLE t (id INT PRIMARY KEY, v STRING, n INT NOT NULL DEFAULT 0, CONSTRAINT few CHECK (n < 10)); INSERT INTO t VALUES (1, 'a', 1);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELEC * FROM t;
--! InvalidRequest: SQL, line 1, column 1: found 'SELEC', expected a statement
INSRT INTO t VALUES (1);
--! InvalidRequest: SQL, line 1, column 1: found 'INSRT', expected a statement
SELECT * FROM t WHERE (id = 1;
--! InvalidRequest: SQL, line 1, column 23: ( opens what nothing closes
SELECT * FROM t WHERE id = 1);
--! InvalidRequest: SQL, line 1, column 29: ) closes what nothing opened
SELECT 'open FROM t;
--! InvalidRequest: SQL, line 1, column 8: ' opens what nothing closes
SELECT * FROM nope;
--! NotFound: there is no table 'nope' at this commit
SELECT * FROM n.t;
--! NotFound: there is no namespace 'n'
SELECT nope FROM t;
--! NotFound: there is no column 'nope'
SELECT t.nope FROM t;
--! NotFound: there is no column 't.nope'
SELECT x.id FROM t;
--! NotFound: there is no column 'x.id'
SELECT id FROM t WHERE nope = 1;
--! NotFound: there is no column 'nope'
SELECT id FROM t GROUP BY nope;
--! NotFound: there is no column 'nope'
--: spark
SELECT nope(id) FROM t;
--! NotFound: there is no function 'nope'
--: spark
--: engine's words
SELECT * FROM nope(1);
--! InvalidRequest
SELECT * FROM t VERSION AS OF nope;
--! NotFound: there is no branch, tag or commit 'nope'
SELECT * FROM t VERSION AS OF;
--! InvalidRequest: SQL, line 1, column 30: the text ends, expected a version: a ref in quotes, such as 'main~2'
SELECT * FROM t TIMESTAMP AS OF 'yesterday at tea';
--! InvalidRequest: ref 'main@{yesterday at tea}': 'yesterday at tea' is not a time
SELECT :missing AS p;
--! InvalidRequest: SQL has no value for :missing
SELECT * FROM {frame};
--! InvalidRequest: SQL: there is no frame for {frame}
INSERT t VALUES (1);
--! InvalidRequest: SQL, line 1, column 8: found 't', expected INTO or OVERWRITE
INSERT INTO t;
--! InvalidRequest: SQL, line 1, column 14: the text ends, expected PARTITION or BY NAME or REPLACE or VALUES or SELECT or a list of columns
INSERT INTO t (id VALUES (1);
--! InvalidRequest: SQL, line 1, column 15: ( opens what nothing closes
UPDATE t id = 1;
--! InvalidRequest: SQL, line 1, column 13: found '=', expected SET
UPDATE t SET id 1;
--! InvalidRequest: SQL, line 1, column 17: found '1', expected = or ==
DELETE t WHERE id = 1;
--! InvalidRequest: SQL, line 1, column 8: found 't', expected FROM
MERGE INTO t USING t ON true WHEN MATCHED UPDATE SET v = 1;
--! InvalidRequest: SQL, line 1, column 43: found 'UPDATE', expected AND or THEN
CREATE TABLE;
--! InvalidRequest: SQL, line 1, column 13: the text ends, expected IF NOT EXISTS or a table
CREATE TABLE x (a);
--! InvalidRequest: SQL, line 1, column 18: found ')', expected a type
CREATE TABLE x (a INT;
--! InvalidRequest: SQL, line 1, column 16: ( opens what nothing closes
CREATE VIEW v AS SELECT 1;
--! InvalidRequest: SQL, line 1, column 8: found 'VIEW', expected NAMESPACE or SCHEMA or DATABASE or TABLE or BRANCH or TAG
CREATE TABLE x (a DECIMAL(99, 2));
--! InvalidRequest: 'DECIMAL(99, 2)' is not a decimal that Spark has
CREATE TABLE x (a INT PRIMARY KEY, b INT PRIMARY KEY);
--! InvalidRequest: SQL, line 1, column 53: found ')', expected one PRIMARY KEY: for several columns, PRIMARY KEY (a, b)
CREATE TABLE x (a INT, a INT);
--! InvalidRequest: table 'x': a column is defined twice
CREATE TABLE x (a INT DEFAULT 'x');
--! InvalidRequest: default of 'a': column 'a' is int, the value is string
CREATE TABLE x (a INT COMMENT c);
--! InvalidRequest: SQL, line 1, column 31: found 'c', expected a text in quotes
CREATE TABLE x (a INT) PARTITIONED BY (a);
--! InvalidRequest: SQL, line 1, column 24: tables are not partitioned
ALTER TABLE t ADD;
--! InvalidRequest: SQL, line 1, column 18: the text ends, expected PRIMARY KEY or CONSTRAINT or COLUMNS or COLUMN or IF NOT EXISTS or a column
ALTER TABLE t FROB;
--! InvalidRequest: SQL, line 1, column 15: found 'FROB', expected ADD or DROP or RENAME or ALTER or CHANGE or SET or UNSET or CLUSTER
DROP t;
--! InvalidRequest: SQL, line 1, column 6: found 't', expected NAMESPACE or SCHEMA or DATABASE or TABLE
TRUNCATE t t;
--! InvalidRequest: SQL, line 1, column 12: found 't', expected the end
SHOW NOTHING;
--! InvalidRequest: SQL, line 1, column 6: found 'NOTHING', expected CREATE or BRANCHES or TAGS or TABLES or NAMESPACES or SCHEMAS or DATABASES or LOG or STATUS or CONFLICTS or COLUMNS or TBLPROPERTIES
DESCRIBE;
--! InvalidRequest: SQL, line 1, column 9: the text ends, expected a table
CREATE BRANCH;
--! InvalidRequest: SQL, line 1, column 14: the text ends, expected IF NOT EXISTS or a name
MERGE BRANCH;
--! InvalidRequest: SQL, line 1, column 13: the text ends, expected DRY RUN or a branch, a tag or a commit
COMMIT;
--! InvalidRequest: SQL, line 1, column 7: the text ends, expected a message in quotes
INSERT INTO t VALUES (1, 'again', 1);
--! InvalidRequest: insert into 't': the table has these keys already: id=1
INSERT INTO t VALUES (NULL, 'no key', 1);
--! InvalidRequest: insert into 't': null in column 'id', which may not be null: id=NULL
INSERT INTO t (id, n) VALUES (2, NULL);
--! InvalidRequest: insert into 't': null in column 'n', which may not be null: id=2, n=NULL
INSERT INTO t (id, n) VALUES (2, 10);
--! InvalidRequest: insert into 't': check 'few' (n < 10) does not hold for: id=2, n=10
INSERT INTO t VALUES (2, 'short');
--! InvalidRequest: insert into 't': 2 values were given for 3 columns (id, v, n)
INSERT INTO t VALUES (2, 'x', 'y');
--! InvalidRequest: insert into 't': column 'n' is int, the value is string
UPDATE t SET n = 10;
--! InvalidRequest: update of 't': check 'few' (n < 10) does not hold for: id=1, n=10
UPDATE t SET n = NULL;
--! InvalidRequest: update of 't': null in column 'n', which may not be null: id=1, n=NULL
UPDATE t SET id = NULL;
--! InvalidRequest: update of 't': null in column 'id', which may not be null: id=NULL
--: spark
--: engine's words
SELECT 1 FROM t HAVING;
--! InvalidRequest
EXPLAIN;
--! InvalidRequest: SQL, line 1, column 8: the text ends, expected EXTENDED or FORMATTED or CODEGEN or COST or a query
SELECT * FROM t;
--| id: int | v: string | n: int
--| 1 | a | 1
