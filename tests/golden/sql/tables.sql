-- Tables: made, changed, described, dropped.
CREATE TABLE t (id BIGINT NOT NULL, name STRING DEFAULT 'new', price DECIMAL(6,2) CHECK (price > 0), PRIMARY KEY (id), CONSTRAINT named CHECK (name <> '')) CLUSTER BY (name) COMMENT 'things' TBLPROPERTIES ('owner' = 'ann');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
DESCRIBE t;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| id | bigint | false | NULL | true | NULL
--| name | string | true | 'new' | false | NULL
--| price | decimal(6,2) | true | NULL | false | NULL
SHOW CREATE TABLE t;
--| createtab_stmt: string
--| "CREATE TABLE t (\n  id bigint NOT NULL,\n  name string DEFAULT 'new',\n  price decimal(6,2),\n  PRIMARY KEY (id),\n  CONSTRAINT check_1 CHECK (price > 0),\n  CONSTRAINT named CHECK (name <> '')\n)\nCLUSTER BY (name)\nCOMMENT 'things'\nTBLPROPERTIES (\n  'owner' = 'ann'\n)"
DESCRIBE EXTENDED t;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| "" | "" | NULL | NULL | NULL | NULL
--| # Detailed Table Information | "" | NULL | NULL | NULL | NULL
--| Check check_1 | price > 0 | NULL | NULL | NULL | NULL
--| Check named | name <> '' | NULL | NULL | NULL | NULL
--| Clustering | name | NULL | NULL | NULL | NULL
--| Key | id | NULL | NULL | NULL | NULL
--| Name | t | NULL | NULL | NULL | NULL
--| Property comment | things | NULL | NULL | NULL | NULL
--| Property owner | ann | NULL | NULL | NULL | NULL
--| Rows | 0 | NULL | NULL | NULL | NULL
--| id | bigint | false | NULL | true | NULL
--| name | string | true | 'new' | false | NULL
--| price | decimal(6,2) | true | NULL | false | NULL
CREATE TABLE t (a INT);
--! AlreadyExists: there is a table or namespace 't'
CREATE TABLE IF NOT EXISTS t (a INT);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO t VALUES (1, 'one', 1.00), (2, 'two', 2.00);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
CREATE TABLE copy AS SELECT id, name, price * 2 AS twice FROM t;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
CREATE TABLE keyed (id BIGINT PRIMARY KEY, label STRING) AS SELECT id, name FROM t;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
SELECT * FROM copy ORDER BY id;
--| id: bigint | name: string | twice: decimal(8,2)
--| 1 | one | 2.00
--| 2 | two | 4.00
DESCRIBE copy;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| id | bigint | true | NULL | false | NULL
--| name | string | true | NULL | false | NULL
--| twice | decimal(8,2) | true | NULL | false | NULL
SELECT * FROM keyed ORDER BY id;
--| id: bigint | label: string
--| 1 | one
--| 2 | two
CREATE OR REPLACE TABLE keyed AS SELECT 1 AS one;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT * FROM keyed;
--| one: int
--| 1
ALTER TABLE t ADD COLUMN qty INT DEFAULT 5;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ADD COLUMNS (note STRING, flag BOOLEAN DEFAULT true);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ADD COLUMN IF NOT EXISTS qty INT;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT * FROM t ORDER BY id;
--| id: bigint | name: string | price: decimal(6,2) | qty: int | note: string | flag: boolean
--| 1 | one | 1.00 | 5 | NULL | true
--| 2 | two | 2.00 | 5 | NULL | true
ALTER TABLE t RENAME COLUMN note TO remark;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ALTER COLUMN qty TYPE BIGINT;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ALTER COLUMN qty SET DEFAULT 6;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ALTER COLUMN qty SET NOT NULL;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ALTER COLUMN remark SET NOT NULL;
--! InvalidRequest: column 'remark' of 't' can't be made not null: null in column 'remark', which may not be null: id=1, remark=NULL; id=2, remark=NULL
ALTER TABLE t ALTER COLUMN flag DROP DEFAULT;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ADD CONSTRAINT few CHECK (qty < 100);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ADD CONSTRAINT wrong CHECK (qty > 5);
--! InvalidRequest: check 'wrong' of 't': check 'wrong' (qty > 5) does not hold for: id=1, qty=5; id=2, qty=5
ALTER TABLE t DROP CONSTRAINT named;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t DROP CONSTRAINT IF EXISTS named;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t DROP CONSTRAINT named;
--! NotFound: table 't' has no check 'named'
ALTER TABLE t DROP COLUMN flag;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t DROP COLUMN IF EXISTS flag;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t DROP COLUMN id;
--! InvalidRequest: column 'id' is part of the key
ALTER TABLE t SET TBLPROPERTIES ('team' = 'blue', 'owner' = 'bob');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t UNSET TBLPROPERTIES ('team');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SHOW TBLPROPERTIES t;
--| key: string | value: string
--| comment | things
--| owner | bob
ALTER TABLE t CLUSTER BY (price, id);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t CLUSTER BY NONE;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t DROP PRIMARY KEY;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ADD PRIMARY KEY (name);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE t ALTER COLUMN qty DROP NOT NULL;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SHOW CREATE TABLE t;
--| createtab_stmt: string
--| "CREATE TABLE t (\n  id bigint NOT NULL,\n  name string NOT NULL DEFAULT 'new',\n  price decimal(6,2),\n  qty bigint DEFAULT 6,\n  remark string,\n  PRIMARY KEY (name),\n  CONSTRAINT check_1 CHECK (price > 0),\n  CONSTRAINT few CHECK (qty < 100)\n)\nCOMMENT 'things'\nTBLPROPERTIES (\n  'owner' = 'bob'\n)"
INSERT INTO t (id, name, price) VALUES (3, 'one', 1);
--! InvalidRequest: insert into 't': the table has these keys already: name='one'
CREATE TABLE t2 (
  id bigint NOT NULL,
  name string NOT NULL DEFAULT 'new',
  price decimal(6,2),
  qty bigint DEFAULT 6,
  remark string,
  PRIMARY KEY (name),
  CONSTRAINT check_1 CHECK (price > 0),
  CONSTRAINT few CHECK (qty < 100)
)
TBLPROPERTIES (
  'comment' = 'things',
  'owner' = 'bob'
);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SHOW CREATE TABLE t2;
--| createtab_stmt: string
--| "CREATE TABLE t2 (\n  id bigint NOT NULL,\n  name string NOT NULL DEFAULT 'new',\n  price decimal(6,2),\n  qty bigint DEFAULT 6,\n  remark string,\n  PRIMARY KEY (name),\n  CONSTRAINT check_1 CHECK (price > 0),\n  CONSTRAINT few CHECK (qty < 100)\n)\nCOMMENT 'things'\nTBLPROPERTIES (\n  'owner' = 'bob'\n)"
ALTER TABLE t RENAME TO things;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT id, name, price, qty, remark FROM things ORDER BY id;
--| id: bigint | name: string | price: decimal(6,2) | qty: bigint | remark: string
--| 1 | one | 1.00 | 5 | NULL
--| 2 | two | 2.00 | 5 | NULL
SELECT * FROM t;
--! NotFound: there is no table 't' at this commit
ALTER TABLE nope ADD COLUMN a INT;
--! NotFound: there is no table 'nope' at this commit
ALTER TABLE things ADD COLUMN id INT;
--! AlreadyExists: there is a column 'id'
ALTER TABLE things ALTER COLUMN price TYPE INT;
--! InvalidRequest: column 'price' is decimal(6,2) and can't become int
CREATE TABLE bad (a INT, a STRING);
--! InvalidRequest: table 'bad': a column is defined twice
CREATE TABLE braces (id INT PRIMARY KEY, v STRING DEFAULT '{}', CHECK (v <> '{x}')); INSERT INTO braces (id) VALUES (1);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT v, v = '{}' AS same, '{"a": 1}' AS json FROM braces;
--| v: string | same: boolean | json: string
--| {} | true | "{\"a\": 1}"
SELECT '{}' AS bare, '{a}' AS named;
--| bare: string | named: string
--| {} | {a}
INSERT INTO braces VALUES (2, '{x}');
--! InvalidRequest: insert into 'braces': check 'check_1' (v <> '{x}') does not hold for: id=2, v='{x}'
CREATE TABLE bad (a INT DEFAULT 'x');
--! InvalidRequest: default of 'a': column 'a' is int, the value is string
CREATE TABLE bad (a NOPE);
--! InvalidRequest: 'NOPE' is not a type that a column can have
CREATE TABLE bad (a INT, PRIMARY KEY (b));
--! NotFound: there is no column 'b'
CREATE TABLE bad (a INT UNIQUE);
--! InvalidRequest: SQL, line 1, column 25: UNIQUE is not enforced
CREATE TABLE bad (a INT, CHECK (b > 0));
--! NotFound: there is no column 'b'
CREATE TABLE bad;
--! InvalidRequest: table 'bad' has no columns
TRUNCATE TABLE things;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 2
DROP TABLE things;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
DROP TABLE things;
--! NotFound: there is no table 'things' at this commit
DROP TABLE IF EXISTS things;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SHOW TABLES;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| braces | 1 | 2 | ["id"]
--| copy | 2 | 3 | []
--| keyed | 1 | 1 | []
--| t2 | 0 | 5 | ["name"]
DESCRIBE nope;
--! NotFound: there is no table 'nope' at this commit
-- Comments.
CREATE TABLE noted (id INT COMMENT 'which one' PRIMARY KEY, name STRING NOT NULL DEFAULT 'it''s' COMMENT 'what it''s called') COMMENT 'all of them';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
DESCRIBE noted;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| id | int | false | NULL | true | which one
--| name | string | false | 'it''s' | false | what it's called
SHOW CREATE TABLE noted;
--| createtab_stmt: string
--| "CREATE TABLE noted (\n  id int NOT NULL COMMENT 'which one',\n  name string NOT NULL DEFAULT 'it''s' COMMENT 'what it\\'s called',\n  PRIMARY KEY (id)\n)\nCOMMENT 'all of them'"
ALTER TABLE noted ALTER COLUMN name COMMENT 'its name';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE noted ADD COLUMN qty INT COMMENT 'how many' DEFAULT 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER TABLE noted ALTER COLUMN qty COMMENT '';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
COMMENT ON COLUMN noted.id IS 'the key';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
COMMENT ON TABLE noted IS 'some of them';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
DESCRIBE noted;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| id | int | false | NULL | true | the key
--| name | string | false | 'it''s' | false | its name
--| qty | int | true | 1 | false | NULL
SHOW TBLPROPERTIES noted;
--| key: string | value: string
--| comment | some of them
COMMENT ON TABLE noted IS NULL;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
COMMENT ON COLUMN noted.id IS NULL;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SHOW CREATE TABLE noted;
--| createtab_stmt: string
--| "CREATE TABLE noted (\n  id int NOT NULL,\n  name string NOT NULL DEFAULT 'it''s' COMMENT 'its name',\n  qty int DEFAULT 1,\n  PRIMARY KEY (id)\n)"
COMMENT ON COLUMN noted.nope IS 'x';
--! NotFound: there is no column 'nope'
COMMENT ON COLUMN id IS 'x';
--! InvalidRequest: SQL, line 1, column 22: found 'IS', expected the table and the column, table.column
COMMENT ON TABLE nope IS 'x';
--! NotFound: there is no table 'nope' at this commit
