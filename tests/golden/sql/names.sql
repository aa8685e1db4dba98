-- Names that are hard: blanks, quotes, reserved words, other alphabets, names of ours.
CREATE TABLE `my table` (`the id` INT PRIMARY KEY, `select` STRING, `a-b` INT, `ключ` STRING, `it's` INT, `say "hi"` STRING, `_commit_version` STRING);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO `my table` VALUES (1, 'x', 2, 'значение', 3, 'q', 'mine'), (2, NULL, NULL, NULL, NULL, NULL, NULL);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
SELECT * FROM `my table` ORDER BY `the id`;
--| the id: int | select: string | a-b: int | ключ: string | it's: int | say "hi": string | _commit_version: string
--| 1 | x | 2 | значение | 3 | q | mine
--| 2 | NULL | NULL | NULL | NULL | NULL | NULL
CREATE TABLE dotted (`a.b` INT);
--! InvalidRequest: 'a.b' is not a name for a column: it has a dot or a slash
SELECT `select`, `a-b`, `ключ`, `it's`, `say "hi"`, `_commit_version` FROM `my table` WHERE `the id` = 1;
--| select: string | a-b: int | ключ: string | it's: int | say "hi": string | _commit_version: string
--| x | 2 | значение | 3 | q | mine
SELECT m.`the id`, m.`a-b` + m.`it's` AS `sum of both` FROM `my table` m ORDER BY m.`the id`;
--| the id: int | sum of both: int
--| 1 | 5
--| 2 | NULL
SELECT `ключ` AS `列`, count(*) AS `count(*)` FROM `my table` GROUP BY `ключ` ORDER BY `列`;
--| 列: string | count(*): bigint
--| NULL | 1
--| значение | 1
UPDATE `my table` SET `select` = concat(`select`, '!'), `a-b` = 5 WHERE `the id` = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
SELECT * FROM `my table` VERSION AS OF main~1 WHERE `the id` = 1;
--| the id: int | select: string | a-b: int | ключ: string | it's: int | say "hi": string | _commit_version: string
--| 1 | x | 2 | значение | 3 | q | mine
ALTER TABLE `my table` RENAME COLUMN `say "hi"` TO `back``tick`;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT `back``tick` FROM `my table` ORDER BY `the id`;
--| back`tick: string
--| q
--| NULL
DESCRIBE `my table`;
--| col_name: string | data_type: string | nullable: boolean | default: string | key: boolean | comment: string
--| _commit_version | string | true | NULL | false | NULL
--| a-b | int | true | NULL | false | NULL
--| back`tick | string | true | NULL | false | NULL
--| it's | int | true | NULL | false | NULL
--| select | string | true | NULL | false | NULL
--| the id | int | false | NULL | true | NULL
--| ключ | string | true | NULL | false | NULL
SHOW CREATE TABLE `my table`;
--| createtab_stmt: string
--| "CREATE TABLE `my table` (\n  `the id` int NOT NULL,\n  `select` string,\n  `a-b` int,\n  `ключ` string,\n  `it's` int,\n  `back``tick` string,\n  _commit_version string,\n  PRIMARY KEY (`the id`)\n)"
CREATE TABLE `order` (`group` INT PRIMARY KEY, `from` STRING); INSERT INTO `order` VALUES (1, 'where');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT `order`.`group`, `from` FROM `order`;
--| group: int | from: string
--| 1 | where
DELETE FROM `order` WHERE `group` = 1;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 1
CREATE TABLE `таблица` AS SELECT 1 AS `число`;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT `число` FROM `таблица`;
--| число: int
--| 1
CREATE NAMESPACE `my space`; CREATE TABLE `my space`.`t 1` (a INT);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT count(*) AS n FROM `my space`.`t 1`;
--| n: bigint
--| 0
CREATE BRANCH `feature/x-1`;
--| branch: string | commit: string
--| feature/x-1 | <hash>
CREATE BRANCH 'release 1';
--! InvalidRequest: 'release 1' is not a name for a branch: git's rules forbid blanks, control characters and any of ~ ^ : ? * [ \ .. @{ //
SELECT name FROM ana.branches ORDER BY name;
--| name: string
--| feature/x-1
--| main
SELECT count(*) AS n FROM `order` VERSION AS OF 'feature/x-1';
--| n: bigint
--| 0
SELECT count(*) AS n FROM `order`@`feature/x-1`;
--| n: bigint
--| 0
SELECT `the id`, `select`, _change_type FROM `my table` CHANGES FROM VERSION 1 ORDER BY _commit_timestamp, `the id`, _change_type;
--! InvalidRequest: column '_commit_version' has the name of a column that the feed of changes adds
CREATE TABLE feed (id INT, `_change_type` STRING);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
CREATE TABLE C (ID INT PRIMARY KEY, Name STRING); INSERT INTO C VALUES (1, 'x');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT id, NAME FROM C;
--| id: int | NAME: string
--| 1 | x
SELECT * FROM c;
--| ID: int | Name: string
--| 1 | x
INSERT INTO C (iD, nAME) VALUES (2, 'y');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
UPDATE C SET NAME = 'z' WHERE Id = 2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
SELECT * FROM C ORDER BY id;
--| ID: int | Name: string
--| 1 | x
--| 2 | z
CREATE TABLE twice (a INT, A INT);
--! InvalidRequest: columns 'a' and 'A' have the same name
CREATE TABLE `` (a INT);
--! InvalidRequest: '' is not a table's name
CREATE TABLE `a/b` (a INT);
--! InvalidRequest: 'a/b' is not a name for a table: it has a dot or a slash
CREATE TABLE `x` (`` INT);
--! InvalidRequest: '' is not a name for a column: it is empty
MERGE INTO `my table` USING (SELECT 2 AS `the id`, 'merged' AS `select`) `the source` ON `my table`.`the id` = `the source`.`the id` WHEN MATCHED THEN UPDATE SET `select` = `the source`.`select`;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 1 | 0
SELECT `the id`, `select` FROM `my table` ORDER BY `the id`;
--| the id: int | select: string
--| 1 | x!
--| 2 | merged
SHOW TABLES;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| C | 2 | 2 | ["ID"]
--| feed | 0 | 2 | []
--| my space.t 1 | 0 | 1 | []
--| my table | 2 | 7 | ["the id"]
--| order | 0 | 2 | ["group"]
--| таблица | 1 | 1 | []
