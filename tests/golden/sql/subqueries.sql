-- Subqueries: IN, EXISTS, scalar ones, correlated ones.
CREATE TABLE d (id INT PRIMARY KEY, name STRING); CREATE TABLE e (id INT PRIMARY KEY, d_id INT, pay INT); INSERT INTO d VALUES (1, 'sales'), (2, 'tech'), (3, 'empty'); INSERT INTO e VALUES (10, 1, 100), (11, 1, 200), (12, 2, 300), (13, 2, 50), (14, NULL, 75);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 5 | 0 | 0
SELECT name FROM d WHERE id IN (SELECT d_id FROM e) ORDER BY id;
--| name: string
--| sales
--| tech
SELECT name FROM d WHERE id NOT IN (SELECT d_id FROM e WHERE d_id IS NOT NULL) ORDER BY id;
--| name: string
--| empty
SELECT name FROM d WHERE id NOT IN (SELECT d_id FROM e) ORDER BY id;
--| name: string
SELECT name FROM d WHERE EXISTS (SELECT 1 FROM e WHERE e.d_id = d.id AND pay > 250) ORDER BY id;
--| name: string
--| tech
SELECT name FROM d WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.d_id = d.id) ORDER BY id;
--| name: string
--| empty
SELECT id FROM e WHERE pay > (SELECT avg(pay) FROM e) ORDER BY id;
--| id: int
--| 11
--| 12
SELECT id FROM e WHERE pay = (SELECT max(x.pay) FROM e x WHERE x.d_id = e.d_id) ORDER BY id;
--| id: int
--| 11
--| 12
SELECT name, (SELECT sum(pay) FROM e WHERE e.d_id = d.id) AS pay FROM d ORDER BY id;
--| name: string | pay: bigint
--| sales | 300
--| tech | 350
--| empty | NULL
SELECT name, (SELECT count(*) FROM e WHERE e.d_id = d.id) AS n FROM d ORDER BY id;
--| name: string | n: bigint
--| sales | 2
--| tech | 2
--| empty | 0
SELECT (SELECT max(pay) FROM e) - (SELECT min(pay) FROM e) AS spread;
--| spread: int
--| 250
SELECT (SELECT name FROM d WHERE id = 99) AS none;
--| none: string
--| NULL
--: engine's words
SELECT (SELECT name FROM d) AS many;
--! InvalidRequest
SELECT count(*) AS n FROM (SELECT d_id FROM e GROUP BY d_id);
--| n: bigint
--| 3
SELECT t.d_id, t.m FROM (SELECT d_id, max(pay) AS m FROM e GROUP BY d_id) t WHERE t.m > 100 ORDER BY t.d_id;
--| d_id: int | m: int
--| 1 | 200
--| 2 | 300
--: spark
SELECT id FROM e WHERE (d_id, pay) IN (SELECT d_id, max(pay) FROM e GROUP BY d_id) ORDER BY id;
--| id: int
--| 11
--| 12
SELECT name FROM d WHERE id IN (SELECT d_id FROM e WHERE pay > 60 GROUP BY d_id HAVING count(*) > 1) ORDER BY id;
--| name: string
--| sales
--: spark
SELECT CASE WHEN EXISTS (SELECT 1 FROM e WHERE pay > 1000) THEN 'rich' ELSE 'poor' END AS state;
--| state: string
--| poor
SELECT d_id, sum(pay) AS s FROM e GROUP BY d_id HAVING sum(pay) > (SELECT avg(pay) FROM e) ORDER BY d_id;
--| d_id: int | s: bigint
--| 1 | 300
--| 2 | 350
--: spark
SELECT d.name, x.pay FROM d, LATERAL (SELECT pay FROM e WHERE e.d_id = d.id ORDER BY pay DESC LIMIT 1) x ORDER BY d.id;
--| name: string | pay: int
--| sales | 200
--| tech | 300
SELECT id FROM e WHERE d_id IN (SELECT id FROM d WHERE name IN (SELECT 'tech' AS x)) ORDER BY id;
--| id: int
--| 12
--| 13
SELECT name FROM d WHERE id IN (SELECT nope FROM e);
--! NotFound: there is no column 'nope'
--: spark
--: engine's words
SELECT name FROM d WHERE id IN (SELECT id, pay FROM e);
--! InvalidRequest
SELECT id FROM e WHERE pay > (SELECT avg(pay) FROM e x WHERE x.d_id = e.d_id) OR d_id IS NULL ORDER BY id;
--| id: int
--| 11
--| 12
--| 14
--: spark
--: engine's words
SELECT name FROM d WHERE name IN (SELECT 'tech');
--! InvalidRequest
