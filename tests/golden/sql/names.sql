-- Names that are hard: blanks, quotes, reserved words, other alphabets, names of ours.
CREATE TABLE `my table` (`the id` INT PRIMARY KEY, `select` STRING, `a.b` INT, `ключ` STRING, `it's` INT, `say "hi"` STRING, `_change_type` STRING);
--! InvalidRequest: 'a.b' is not a name for a column: it has a dot or a slash
INSERT INTO `my table` VALUES (1, 'x', 2, 'значение', 3, 'q', 'mine'), (2, NULL, NULL, NULL, NULL, NULL, NULL);
--! NotFound: there is no table 'my table' at this commit
SELECT * FROM `my table` ORDER BY `the id`;
--! NotFound: there is no table 'my table' at this commit
SELECT `select`, `a.b`, `ключ`, `it's`, `say "hi"`, `_change_type` FROM `my table` WHERE `the id` = 1;
--! NotFound: there is no table 'my table' at this commit
SELECT m.`the id`, m.`a.b` + m.`it's` AS `sum of both` FROM `my table` m ORDER BY m.`the id`;
--! NotFound: there is no table 'my table' at this commit
SELECT `ключ` AS `列`, count(*) AS `count(*)` FROM `my table` GROUP BY `ключ` ORDER BY `列`;
--! NotFound: there is no table 'my table' at this commit
UPDATE `my table` SET `select` = concat(`select`, '!'), `a.b` = 5 WHERE `the id` = 1;
--! NotFound: there is no table 'my table' at this commit
SELECT * FROM `my table` VERSION AS OF main~1 WHERE `the id` = 1;
--! NotFound: 'main~1' goes back past the first commit
ALTER TABLE `my table` RENAME COLUMN `say "hi"` TO `back``tick`;
--! NotFound: there is no table 'my table' at this commit
SELECT `back``tick` FROM `my table` ORDER BY `the id`;
--! NotFound: there is no table 'my table' at this commit
DESCRIBE `my table`;
--! NotFound: there is no table 'my table' at this commit
SHOW CREATE TABLE `my table`;
--! NotFound: there is no table 'my table' at this commit
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
SELECT * FROM `my table` CHANGES FROM VERSION 1;
--! NotFound: there is no table 'my table' at this commit
CREATE TABLE C (ID INT PRIMARY KEY, Name STRING); INSERT INTO C VALUES (1, 'x');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT id, NAME FROM C;
--| id: int | NAME: string
--| 1 | x
SELECT * FROM c;
--! NotFound: there is no table 'c' at this commit
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
--! NotFound: there is no table 'my table' at this commit
SELECT `the id`, `select` FROM `my table` ORDER BY `the id`;
--! NotFound: there is no table 'my table' at this commit
SHOW TABLES;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| C | 2 | 2 | ["ID"]
--| my space.t 1 | 0 | 1 | []
--| order | 0 | 2 | ["group"]
--| таблица | 1 | 1 | []
