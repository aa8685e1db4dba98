-- INSERT in all forms.
CREATE TABLE t (id INT PRIMARY KEY, name STRING DEFAULT 'new', qty INT NOT NULL DEFAULT 1, price DECIMAL(6,2), CHECK (qty >= 0)); CREATE TABLE log (at INT, what STRING);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO t VALUES (1, 'a', 2, 1.50), (2, DEFAULT, DEFAULT, NULL);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
INSERT INTO t (id, price) VALUES (3, 9);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
INSERT INTO TABLE t (price, id) VALUES (4.25, 4);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
INSERT INTO t BY NAME SELECT 5 AS id, 'five' AS name;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
INSERT INTO t SELECT id + 10, name, qty * 2, price FROM t WHERE id <= 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
INSERT INTO t (id, name) WITH x AS (SELECT max(id) + 1 AS id FROM t) SELECT id, 'with' FROM x;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
WITH y AS (SELECT 20 AS id) INSERT INTO t (id) SELECT id FROM y;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT * FROM t ORDER BY id;
--| id: int | name: string | qty: int | price: decimal(6,2)
--| 1 | a | 2 | 1.50
--| 2 | new | 1 | NULL
--| 3 | new | 1 | 9.00
--| 4 | new | 1 | 4.25
--| 5 | five | 1 | NULL
--| 11 | a | 4 | 1.50
--| 12 | new | 2 | NULL
--| 13 | with | 1 | NULL
--| 20 | new | 1 | NULL
INSERT INTO t SELECT * FROM t WHERE id > 100;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO log VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 3 | 0 | 0
INSERT INTO log SELECT * FROM log;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 3 | 0 | 0
SELECT * FROM log ORDER BY at;
--| at: int | what: string
--| NULL | NULL
--| NULL | NULL
--| 1 | x
--| 1 | x
--| 1 | x
--| 1 | x
INSERT OVERWRITE log VALUES (1, 'x'), (2, 'y');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 5
SELECT * FROM log ORDER BY at;
--| at: int | what: string
--| 1 | x
--| 2 | y
INSERT OVERWRITE t SELECT * FROM t WHERE id < 4;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 6
SELECT count(*) AS n FROM t;
--| n: bigint
--| 3
INSERT INTO t VALUES (1, 'again', 1, 1);
--! InvalidRequest: insert into 't': the table has these keys already: id=1
INSERT INTO t VALUES (50, 'a', 1, 1), (50, 'b', 1, 1);
--! InvalidRequest: insert into 't': the rows have a key more than once: id=50
INSERT INTO t (name) VALUES ('no key');
--! InvalidRequest: insert into 't': the key's column 'id' is missing
INSERT INTO t (id, qty) VALUES (60, NULL);
--! InvalidRequest: insert into 't': null in column 'qty', which may not be null: id=60, qty=NULL
INSERT INTO t (id, qty) VALUES (60, -1);
--! InvalidRequest: insert into 't': check 'check_1' (qty >= 0) does not hold for: id=60, qty=-1
INSERT INTO t VALUES (60, 'few');
--! InvalidRequest: insert into 't': 2 values were given for 4 columns (id, name, qty, price)
INSERT INTO t VALUES (60, 'many', 1, 1, 1);
--! InvalidRequest: insert into 't': 5 values were given for 4 columns (id, name, qty, price)
INSERT INTO t (id, nope) VALUES (60, 1);
--! NotFound: there is no column 'nope'
INSERT INTO t (id, id) VALUES (60, 61);
--! InvalidRequest: columns 'id' and 'id' of the rows have the same name
INSERT INTO t BY NAME SELECT 60 AS id, 1 AS nope;
--! NotFound: there is no column 'nope'
INSERT INTO nope VALUES (1);
--! NotFound: there is no table 'nope' at this commit
INSERT INTO t (id, name) VALUES (60, nope);
--! NotFound: there is no column 'nope'
INSERT INTO t SELECT 60, 'x' FROM nope;
--! NotFound: there is no table 'nope' at this commit
SELECT count(*) AS n, max(id) AS last FROM t;
--| n: bigint | last: int
--| 3 | 3
INSERT INTO t (id, name) VALUES (70, 'kept'); INSERT INTO t (id) VALUES (70);
--! InvalidRequest: insert into 't': the table has these keys already: id=70
SELECT count(*) AS n FROM t WHERE id = 70;
--| n: bigint
--| 0
-- WITH before and inside.
WITH a AS (SELECT 30 AS id) INSERT INTO t (id) WITH b AS (SELECT id + 1 AS id FROM a) SELECT id FROM b UNION ALL SELECT id FROM a;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
WITH a AS (SELECT 1) INSERT INTO t (id, name) VALUES (40, DEFAULT);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT id, name FROM t WHERE id >= 30 ORDER BY id;
--| id: int | name: string
--| 30 | new
--| 31 | new
--| 40 | new
