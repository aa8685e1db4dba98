-- Types and literals: what a value is, and how it comes back from a table.
CREATE TABLE kinds (id INT PRIMARY KEY, t TINYINT, s SMALLINT, i INT, b BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10,2), w DECIMAL(38,10), z BOOLEAN, x STRING, y BINARY, e DATE, u TIMESTAMP, n TIMESTAMP_NTZ);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO kinds VALUES (1, 127, 32767, 2147483647, 9223372036854775807, 1.5, 2.25, 12345678.90, 1234567890123456789012345678.0123456789, true, 'plain', unhex('00FF'), DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:45.123456Z', TIMESTAMP_NTZ '1999-12-31 23:59:59'), (2, -128, -32768, -2147483648, -9223372036854775808, -0.5, 1e-30, -0.01, -0.0000000001, false, '', unhex(''), DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59+01:00', TIMESTAMP_NTZ '1900-01-01 00:00:00'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 3 | 0 | 0
SELECT * FROM kinds ORDER BY id;
--| id: int | t: tinyint | s: smallint | i: int | b: bigint | f: float | d: double | m: decimal(10,2) | w: decimal(38,10) | z: boolean | x: string | y: binary | e: date | u: timestamp | n: timestamp_ntz
--| 1 | 127 | 32767 | 2147483647 | 9223372036854775807 | 1.5 | 2.25 | 12345678.90 | 1234567890123456789012345678.0123456789 | true | plain | X'00ff' | 2024-02-29 | 2024-02-29T12:30:45.123456+00:00 | 1999-12-31T23:59:59
--| 2 | -128 | -32768 | -2147483648 | -9223372036854775808 | -0.5 | 1e-30 | -0.01 | -1E-10 | false | "" | X'' | 1969-12-31 | 1969-12-31T22:59:59+00:00 | 1900-01-01T00:00:00
--| 3 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
SELECT 1 AS i, 3000000000 AS b, 1.50 AS m, 1e3 AS d, 'a' AS s, true AS z, NULL AS n;
--| i: int | b: bigint | m: decimal(3,2) | d: double | s: string | z: boolean | n: void
--| 1 | 3000000000 | 1.50 | 1000.0 | a | true | NULL
SELECT 1Y AS t, 2S AS s, 3L AS b, 1.5F AS f, 2.5D AS d;
--| t: tinyint | s: smallint | b: bigint | f: float | d: double
--| 1 | 2 | 3 | 1.5 | 2.5
--: spark
SELECT 10BD AS m, 1e-300 AS small;
--| m: decimal(2,0) | small: double
--| 10 | 1e-300
--: spark
SELECT X'CAFE' AS x, TIMESTAMP '2024-02-29 01:02:03' AS u;
--| x: binary | u: timestamp
--| X'cafe' | 2024-02-29T01:02:03+00:00
SELECT DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 01:02:03+02:00' AS u, TIMESTAMP_NTZ '2024-02-29 01:02:03.5' AS n;
--| d: date | u: timestamp | n: timestamp_ntz
--| 2024-02-29 | 2024-02-28T23:02:03+00:00 | 2024-02-29T01:02:03.500000
SELECT "double" AS double_quoted, "it's" AS quoted;
--| double_quoted: string | quoted: string
--| double | it's
SELECT 'it' 's' AS glued, 'it\'s' AS quoted, 'tab\tnew\nline' AS escaped, r'raw\n' AS raw;
--| glued: string | quoted: string | escaped: string | raw: string
--| its | it's | "tab\tnew\nline" | raw\n
SELECT 'Žluťoučký kůň' AS cs, '日本語' AS ja, '😀' AS face, length('😀') AS one;
--| cs: string | ja: string | face: string | one: int
--| Žluťoučký kůň | 日本語 | 😀 | 1
SELECT CAST('12' AS INT) AS i, CAST(' 7 ' AS BIGINT) AS b, CAST('true' AS BOOLEAN) AS z;
--| i: int | b: bigint | z: boolean
--| 12 | 7 | true
SELECT CAST(1 AS DECIMAL(5,2)) AS m, CAST(2.75 AS INT) AS i, CAST(-2.75 AS BIGINT) AS b, CAST(1 AS BOOLEAN) AS z;
--| m: decimal(5,2) | i: int | b: bigint | z: boolean
--| 1.00 | 2 | -2 | true
SELECT CAST(12 AS STRING) AS i, CAST(1.50 AS STRING) AS m, CAST(true AS STRING) AS z, CAST(DATE '2024-02-29' AS STRING) AS d;
--| i: string | m: string | z: string | d: string
--| 12 | 1.50 | true | 2024-02-29
SELECT CAST('2024-02-29' AS DATE) AS d, CAST(TIMESTAMP_NTZ '2024-02-29 23:59:59' AS DATE) AS u, CAST(DATE '2024-02-29' AS TIMESTAMP_NTZ) AS back;
--| d: date | u: date | back: timestamp_ntz
--| 2024-02-29 | 2024-02-29 | 2024-02-29T00:00:00
--: spark
SELECT CAST('1.25' AS DECIMAL(5,2)) AS m, CAST('NaN' AS DOUBLE) AS nan, CAST(DATE '2024-02-29' AS TIMESTAMP) AS u;
--| m: decimal(5,2) | nan: double | u: timestamp
--| 1.25 | nan | 2024-02-29T00:00:00+00:00
--: spark
SELECT TRY_CAST('x' AS INT) AS i, TRY_CAST('2024-02-30' AS DATE) AS d, TRY_CAST('maybe' AS BOOLEAN) AS z;
--| i: int | d: date | z: boolean
--| NULL | NULL | NULL
--: engine's words
SELECT CAST('x' AS INT) AS i;
--! InvalidRequest
--: engine's words
SELECT CAST('2024-02-30' AS DATE) AS d;
--! InvalidRequest
--: engine's words
SELECT CAST(b AS INT) AS i FROM kinds WHERE id = 1;
--! InvalidRequest
SELECT id, t + s AS ts, s * i AS si FROM kinds WHERE id = 3;
--| id: int | ts: smallint | si: int
--| 3 | NULL | NULL
SELECT id, CAST(i AS BIGINT) + 1 AS next, m * 2 AS twice FROM kinds WHERE id < 3 ORDER BY id;
--| id: int | next: bigint | twice: decimal(12,2)
--| 1 | 2147483648 | 24691357.80
--| 2 | -2147483647 | -0.02
SELECT id, w + w AS sum FROM kinds WHERE id < 3 ORDER BY id;
--| id: int | sum: decimal(38,9)
--| 1 | 2469135780246913578024691356.024691358
--| 2 | 0E-9
SELECT id, f = 1.5 AS f, d < 1 AS d, m >= -0.01 AS m, z AND true AS z FROM kinds ORDER BY id;
--| id: int | f: boolean | d: boolean | m: boolean | z: boolean
--| 1 | true | false | true | true
--| 2 | false | true | true | false
--| 3 | NULL | NULL | NULL | NULL
SELECT hex(y) AS y, length(y) AS n, y = unhex('00ff') AS same FROM kinds ORDER BY id;
--| y: string | n: int | same: boolean
--| 00FF | 2 | true
--| "" | 0 | false
--| NULL | NULL | NULL
SELECT id FROM kinds WHERE e = DATE '2024-02-29' OR u < TIMESTAMP '1970-01-01 00:00:00Z' ORDER BY id;
--| id: int
--| 1
--| 2
--: spark
SELECT id FROM kinds WHERE e = '2024-02-29' OR u < '1970-01-01' ORDER BY id;
--| id: int
--| 1
--| 2
SELECT id FROM kinds WHERE x = '' ORDER BY id;
--| id: int
--| 2
--: spark
SELECT array(1, 2, NULL) AS a, map('k', 1) AS m, named_struct('a', 1, 'b', 'x') AS s;
--| a: array<int> | m: map<string,int> | s: struct<a:int,b:string>
--| [1, 2, null] | [["k", 1]] | {"a": 1, "b": "x"}
--: spark
SELECT typeof(i) AS i, typeof(m) AS m, typeof(u) AS u, typeof(n) AS n FROM kinds WHERE id = 1;
--| i: string | m: string | u: string | n: string
--| int | decimal(10,2) | timestamp | timestamp_ntz
--: engine's words
INSERT INTO kinds (id, t) VALUES (4, 128);
--! InvalidRequest
--: engine's words
INSERT INTO kinds (id, m) VALUES (4, 123456789.01);
--! InvalidRequest
CREATE TABLE nested (id INT PRIMARY KEY, a ARRAY<INT>, m MAP<STRING, DOUBLE>, s STRUCT<x: INT, y: STRING>);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 0 | 0 | 0
INSERT INTO nested VALUES (1, NULL, NULL, NULL);
--| inserted: bigint | updated: bigint | deleted: bigint
--| 1 | 0 | 0
SELECT * FROM nested ORDER BY id;
--| id: int | a: array<int> | m: map<string,double> | s: struct<x:int,y:string>
--| 1 | NULL | NULL | NULL
--: spark
SELECT id, a[0] AS first, s.y FROM nested ORDER BY id;
--| id: int | first: int | y: string
--| 1 | NULL | NULL
