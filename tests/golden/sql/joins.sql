-- Joins of every kind, with keys that are null, missing or there twice.
CREATE TABLE c (id INT PRIMARY KEY, name STRING, boss INT); CREATE TABLE o (id INT PRIMARY KEY, c_id INT, amount DECIMAL(6,2)); CREATE TABLE r (low INT, high INT, label STRING); INSERT INTO c VALUES (1, 'ann', NULL), (2, 'bob', 1), (3, 'cy', 1), (4, 'dee', 2); INSERT INTO o VALUES (10, 1, 5.00), (11, 1, 7.50), (12, 2, 3.00), (13, 9, 1.00), (14, NULL, 2.00); INSERT INTO r VALUES (0, 3, 'small'), (4, 9, 'large');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
SELECT c.name, o.amount FROM c JOIN o ON c.id = o.c_id ORDER BY o.id;
--| name: string | amount: decimal(6,2)
--| ann | 5.00
--| ann | 7.50
--| bob | 3.00
SELECT c.name, o.amount FROM c LEFT JOIN o ON c.id = o.c_id ORDER BY c.id, o.id;
--| name: string | amount: decimal(6,2)
--| ann | 5.00
--| ann | 7.50
--| bob | 3.00
--| cy | NULL
--| dee | NULL
SELECT c.name, o.amount FROM c RIGHT JOIN o ON c.id = o.c_id ORDER BY o.id;
--| name: string | amount: decimal(6,2)
--| ann | 5.00
--| ann | 7.50
--| bob | 3.00
--| NULL | 1.00
--| NULL | 2.00
SELECT c.name, o.id FROM c FULL OUTER JOIN o ON c.id = o.c_id ORDER BY c.id NULLS LAST, o.id NULLS LAST;
--| name: string | id: int
--| ann | 10
--| ann | 11
--| bob | 12
--| cy | NULL
--| dee | NULL
--| NULL | 13
--| NULL | 14
SELECT count(*) AS n FROM c CROSS JOIN o;
--| n: bigint
--| 20
SELECT count(*) AS n FROM c, o WHERE c.id = o.c_id;
--| n: bigint
--| 3
SELECT name FROM c LEFT SEMI JOIN o ON c.id = o.c_id ORDER BY id;
--| name: string
--| ann
--| bob
SELECT name FROM c LEFT ANTI JOIN o ON c.id = o.c_id ORDER BY id;
--| name: string
--| cy
--| dee
SELECT id, name, amount FROM c JOIN o USING (id) ORDER BY id;
--| id: int | name: string | amount: decimal(6,2)
SELECT * FROM c JOIN (SELECT c_id AS id, amount FROM o) USING (id) ORDER BY amount;
--| id: int | name: string | boss: int | amount: decimal(6,2)
--| 2 | bob | 1 | 3.00
--| 1 | ann | NULL | 5.00
--| 1 | ann | NULL | 7.50
SELECT * FROM c NATURAL JOIN (SELECT 1 AS id, 'x' AS tag) ORDER BY id;
--| id: int | name: string | boss: int | tag: string
--| 1 | ann | NULL | x
SELECT e.name, b.name AS boss FROM c e LEFT JOIN c b ON e.boss = b.id ORDER BY e.id;
--| name: string | boss: string
--| ann | NULL
--| bob | ann
--| cy | ann
--| dee | bob
SELECT o.id, r.label FROM o JOIN r ON o.amount BETWEEN r.low AND r.high ORDER BY o.id;
--| id: int | label: string
--| 10 | large
--| 11 | large
--| 12 | small
--| 13 | small
--| 14 | small
SELECT o.id, r.label FROM o LEFT JOIN r ON o.amount > r.low AND o.amount <= r.high ORDER BY o.id, r.label;
--| id: int | label: string
--| 10 | large
--| 11 | large
--| 12 | small
--| 13 | small
--| 14 | small
SELECT a.id, b.id AS other FROM o a JOIN o b ON a.c_id <=> b.c_id AND a.id < b.id ORDER BY a.id;
--| id: int | other: int
--| 10 | 11
SELECT c.name, o.amount, r.label FROM c JOIN o ON c.id = o.c_id JOIN r ON o.amount >= r.low AND o.amount <= r.high ORDER BY o.id;
--| name: string | amount: decimal(6,2) | label: string
--| ann | 5.00 | large
--| ann | 7.50 | large
--| bob | 3.00 | small
SELECT c.name, t.total FROM c JOIN (SELECT c_id, sum(amount) AS total FROM o GROUP BY c_id) t ON c.id = t.c_id ORDER BY c.id;
--| name: string | total: decimal(16,2)
--| ann | 12.50
--| bob | 3.00
SELECT c.*, o.* FROM c JOIN o ON c.id = o.c_id WHERE o.amount > 5 ORDER BY o.id;
--| id: int | name: string | boss: int | id: int | c_id: int | amount: decimal(6,2)
--| 1 | ann | NULL | 11 | 1 | 7.50
SELECT c.name FROM c LEFT JOIN o ON c.id = o.c_id AND o.amount > 4 WHERE o.id IS NULL ORDER BY c.id;
--| name: string
--| bob
--| cy
--| dee
SELECT v.n, c.name FROM (VALUES (1, 'one'), (3, 'three')) AS v(id, n) JOIN c ON c.id = v.id ORDER BY v.id;
--| n: string | name: string
--| one | ann
--| three | cy
SELECT count(*) AS n FROM o a LEFT JOIN o b ON a.c_id = b.c_id;
--| n: bigint
--| 7
SELECT id FROM c JOIN o ON c.id = o.c_id;
--! InvalidRequest: the column 'id' is ambiguous
SELECT x.name FROM c JOIN o ON c.id = o.c_id;
--! NotFound: there is no column 'x.name'
SELECT c.nope FROM c JOIN o ON c.id = o.c_id;
--! NotFound: there is no column 'c.nope'
