-- Windows: ranks, neighbours, frames.
CREATE TABLE w (id INT PRIMARY KEY, g STRING, v INT, d DECIMAL(6,2)); INSERT INTO w VALUES (1, 'a', 10, 1.00), (2, 'a', 10, 2.00), (3, 'a', 20, 3.50), (4, 'b', NULL, 4.00), (5, 'b', 5, NULL), (6, 'b', 7, 6.25);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 6 | 0 | 0
SELECT id, row_number() OVER (ORDER BY id) AS n FROM w ORDER BY id;
--| id: int | n: int
--| 1 | 1
--| 2 | 2
--| 3 | 3
--| 4 | 4
--| 5 | 5
--| 6 | 6
SELECT id, row_number() OVER (PARTITION BY g ORDER BY v DESC, id) AS n FROM w ORDER BY id;
--| id: int | n: int
--| 1 | 2
--| 2 | 3
--| 3 | 1
--| 4 | 3
--| 5 | 2
--| 6 | 1
SELECT id, rank() OVER (ORDER BY v) AS r, dense_rank() OVER (ORDER BY v) AS d FROM w ORDER BY id;
--| id: int | r: int | d: int
--| 1 | 4 | 4
--| 2 | 4 | 4
--| 3 | 6 | 5
--| 4 | 1 | 1
--| 5 | 2 | 2
--| 6 | 3 | 3
SELECT id, percent_rank() OVER (PARTITION BY g ORDER BY v) AS p, cume_dist() OVER (PARTITION BY g ORDER BY v) AS c FROM w ORDER BY id;
--| id: int | p: double | c: double
--| 1 | 0.0 | 0.6666666666666666
--| 2 | 0.0 | 0.6666666666666666
--| 3 | 1.0 | 1.0
--| 4 | 0.0 | 0.3333333333333333
--| 5 | 0.5 | 0.6666666666666666
--| 6 | 1.0 | 1.0
SELECT id, ntile(2) OVER (ORDER BY id) AS half, ntile(4) OVER (ORDER BY id) AS quarter FROM w ORDER BY id;
--| id: int | half: int | quarter: int
--| 1 | 1 | 1
--| 2 | 1 | 1
--| 3 | 1 | 2
--| 4 | 2 | 2
--| 5 | 2 | 3
--| 6 | 2 | 4
SELECT id, lag(v) OVER (ORDER BY id) AS before, lead(v) OVER (ORDER BY id) AS after FROM w ORDER BY id;
--| id: int | before: int | after: int
--| 1 | NULL | 10
--| 2 | 10 | 20
--| 3 | 10 | NULL
--| 4 | 20 | 5
--| 5 | NULL | 7
--| 6 | 5 | NULL
SELECT id, lag(v, 2) OVER (ORDER BY id) AS before, lead(v, 1, -1) OVER (PARTITION BY g ORDER BY id) AS after FROM w ORDER BY id;
--| id: int | before: int | after: int
--| 1 | NULL | 10
--| 2 | NULL | 20
--| 3 | 10 | -1
--| 4 | 10 | 5
--| 5 | 20 | 7
--| 6 | NULL | -1
SELECT id, first_value(v) OVER (PARTITION BY g ORDER BY id) AS first, last_value(v) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last FROM w ORDER BY id;
--| id: int | first: int | last: int
--| 1 | 10 | 20
--| 2 | 10 | 20
--| 3 | 10 | 20
--| 4 | NULL | 7
--| 5 | NULL | 7
--| 6 | NULL | 7
SELECT id, sum(v) OVER (PARTITION BY g) AS total, count(*) OVER () AS n FROM w ORDER BY id;
--| id: int | total: bigint | n: bigint
--| 1 | 40 | 6
--| 2 | 40 | 6
--| 3 | 40 | 6
--| 4 | 12 | 6
--| 5 | 12 | 6
--| 6 | 12 | 6
SELECT id, sum(v) OVER (ORDER BY id) AS running FROM w ORDER BY id;
--| id: int | running: bigint
--| 1 | 10
--| 2 | 20
--| 3 | 40
--| 4 | 40
--| 5 | 45
--| 6 | 52
SELECT id, sum(v) OVER (PARTITION BY g ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two FROM w ORDER BY id;
--| id: int | two: bigint
--| 1 | 10
--| 2 | 20
--| 3 | 30
--| 4 | NULL
--| 5 | 5
--| 6 | 12
SELECT id, sum(d) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS around FROM w ORDER BY id;
--| id: int | around: decimal(16,2)
--| 1 | 3.00
--| 2 | 6.50
--| 3 | 9.50
--| 4 | 7.50
--| 5 | 10.25
--| 6 | 6.25
SELECT id, count(*) OVER (ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto FROM w ORDER BY id;
--| id: int | upto: bigint
--| 1 | 5
--| 2 | 5
--| 3 | 6
--| 4 | 1
--| 5 | 2
--| 6 | 3
SELECT id, min(v) OVER (PARTITION BY g) AS low, max(d) OVER (PARTITION BY g) AS high FROM w ORDER BY id;
--| id: int | low: int | high: decimal(6,2)
--| 1 | 10 | 3.50
--| 2 | 10 | 3.50
--| 3 | 10 | 3.50
--| 4 | 5 | 6.25
--| 5 | 5 | 6.25
--| 6 | 5 | 6.25
SELECT id, v - lag(v, 1, 0) OVER (PARTITION BY g ORDER BY id) AS step FROM w ORDER BY id;
--| id: int | step: int
--| 1 | 10
--| 2 | 0
--| 3 | 10
--| 4 | NULL
--| 5 | NULL
--| 6 | 2
SELECT g, sum(sum(v)) OVER () AS whole, sum(v) AS part FROM w GROUP BY g ORDER BY g;
--| g: string | whole: bigint | part: bigint
--| a | 52 | 40
--| b | 52 | 12
SELECT id, n FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id DESC) AS n FROM w) WHERE n = 1 ORDER BY id;
--| id: int | n: int
--| 3 | 1
--| 6 | 1
--: not on Spark 4.0
SELECT id, g FROM w QUALIFY row_number() OVER (PARTITION BY g ORDER BY id) = 1 ORDER BY id;
--| id: int | g: string
--| 1 | a
--| 4 | b
SELECT id, sum(v) OVER x AS s, count(v) OVER x AS c FROM w WINDOW x AS (PARTITION BY g ORDER BY id) ORDER BY id;
--| id: int | s: bigint | c: bigint
--| 1 | 10 | 1
--| 2 | 20 | 2
--| 3 | 40 | 3
--| 4 | NULL | 0
--| 5 | 5 | 1
--| 6 | 12 | 2
SELECT id, avg(v) OVER (PARTITION BY g ORDER BY id) AS mean FROM w ORDER BY id;
--| id: int | mean: double
--| 1 | 10.0
--| 2 | 10.0
--| 3 | 13.333333333333334
--| 4 | NULL
--| 5 | 5.0
--| 6 | 6.0
SELECT id, rank() OVER (PARTITION BY g ORDER BY d DESC NULLS LAST) AS r FROM w ORDER BY id;
--| id: int | r: int
--| 1 | 3
--| 2 | 2
--| 3 | 1
--| 4 | 2
--| 5 | 3
--| 6 | 1
--: spark
--: engine's words
SELECT id FROM w WHERE row_number() OVER (ORDER BY id) = 1;
--! InvalidRequest
