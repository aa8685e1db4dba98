-- A first session: make a table, write, read, branch, merge.
CREATE TABLE orders (id BIGINT PRIMARY KEY, status STRING DEFAULT 'new', price DECIMAL(12,2), qty INT NOT NULL DEFAULT 1);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO orders VALUES (1, 'new', 10.50, 2), (2, 'paid', 3, 1), (3, DEFAULT, 7.25, DEFAULT);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 3 | 0 | 0
SELECT * FROM orders ORDER BY id;
--| id: bigint | status: string | price: decimal(12,2) | qty: int
--| 1 | new | 10.50 | 2
--| 2 | paid | 3.00 | 1
--| 3 | new | 7.25 | 1
SELECT status, count(*) AS n, sum(price * qty) AS total FROM orders GROUP BY status ORDER BY status;
--| status: string | n: bigint | total: decimal(33,2)
--| new | 2 | 28.25
--| paid | 1 | 3.00
CREATE BRANCH dev;
--| branch: string | commit: string
--| dev | <hash>
USE BRANCH dev;
--| branch: string
--| dev
UPDATE orders SET price = price * 2 WHERE status = 'new';
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 2 | 0
SELECT o.id, o.price AS old, d.price AS new FROM orders VERSION AS OF 'main' o JOIN orders d ON o.id = d.id ORDER BY o.id;
--| id: bigint | old: decimal(12,2) | new: decimal(12,2)
--| 1 | 10.50 | 21.00
--| 2 | 3.00 | 3.00
--| 3 | 7.25 | 14.50
USE BRANCH main;
--| branch: string
--| main
SELECT sum(price) AS total FROM orders;
--| total: decimal(22,2)
--| 20.75
--: no rows
MERGE BRANCH dev;
SELECT sum(price) AS total FROM orders;
--| total: decimal(22,2)
--| 38.50
SELECT * FROM orderz;
--! NotFound: there is no table 'orderz' at this commit
SELECT prize FROM orders;
--! NotFound: there is no column 'prize'
SELECT * FROM orders VERSION AS OF nope;
--! NotFound: there is no branch, tag or commit 'nope'
INSERT INTO orders VALUES (1, 'x', 1, 1);
--! InvalidRequest: insert into 'orders': the table has these keys already: id=1
SELEC 1;
--! InvalidRequest: SQL, line 1, column 1: found 'SELEC', expected a statement
