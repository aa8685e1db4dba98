-- Namespaces and the tables in them.
CREATE NAMESPACE sales;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
CREATE SCHEMA IF NOT EXISTS sales;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
CREATE DATABASE sales;
--! AlreadyExists: there is a table or namespace 'sales'
CREATE NAMESPACE stock COMMENT 'what there is' WITH DBPROPERTIES ('owner' = 'ann');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
CREATE TABLE sales.orders (id INT PRIMARY KEY, v STRING); INSERT INTO sales.orders VALUES (1, 'a'), (2, 'b');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
CREATE TABLE stock.items AS SELECT id AS item FROM sales.orders;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 2 | 0 | 0
CREATE TABLE nope.t (a INT);
--! NotFound: there is no namespace 'nope'
SELECT orders.id, sales.orders.v FROM sales.orders ORDER BY id;
--| id: int | v: string
--| 1 | a
--| 2 | b
SELECT o.v, i.item FROM sales.orders o JOIN stock.items i ON o.id = i.item ORDER BY i.item;
--| v: string | item: int
--| a | 1
--| b | 2
SELECT count(*) AS n FROM sales.orders VERSION AS OF main~1;
--| n: bigint
--| 2
SELECT * FROM orders;
--! NotFound: there is no table 'orders' at this commit
SHOW NAMESPACES;
--| name: string
--| sales
--| stock
SHOW TABLES IN sales;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| sales.orders | 2 | 2 | ["id"]
SHOW TABLES;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| sales.orders | 2 | 2 | ["id"]
--| stock.items | 2 | 1 | []
SHOW SCHEMAS LIKE 'st*';
--| name: string
--| stock
SHOW CREATE TABLE sales.orders;
--| createtab_stmt: string
--| "CREATE TABLE sales.orders (\n  id int NOT NULL,\n  v string,\n  PRIMARY KEY (id)\n)"
ALTER NAMESPACE sales RENAME TO shop;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SELECT count(*) AS n FROM shop.orders;
--| n: bigint
--| 2
SELECT * FROM sales.orders;
--! NotFound: there is no namespace 'sales'
ALTER NAMESPACE shop SET DBPROPERTIES ('a' = 'b');
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
ALTER NAMESPACE nope SET DBPROPERTIES ('a' = 'b');
--! NotFound: there is no namespace 'nope'
ALTER TABLE stock.items RENAME TO shop.items;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
SHOW TABLES IN shop;
--| name: string | row_count: bigint | column_count: int | key: array<string>
--| shop.items | 2 | 1 | []
--| shop.orders | 2 | 2 | ["id"]
DROP NAMESPACE shop;
--! InvalidRequest: namespace 'shop' is not empty: it has 'items'
ALTER NAMESPACE stock RENAME TO stock2;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
DROP NAMESPACE shop CASCADE;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
DROP NAMESPACE shop;
--! NotFound: there is no namespace 'shop'
DROP NAMESPACE IF EXISTS shop;
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
CREATE NAMESPACE ana;
--! InvalidRequest: 'ana' is the namespace of the system tables
ALTER NAMESPACE stock2 RENAME TO Ana;
--! InvalidRequest: 'Ana' is the namespace of the system tables
SHOW NAMESPACES;
--| name: string
--| stock2
SHOW TABLES;
--| name: string | row_count: bigint | column_count: int | key: array<string>
