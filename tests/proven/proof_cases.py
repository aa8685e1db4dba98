"""Expressions for every row of the table of what is proven."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

ARGS = {
    "n3": 3,
    "m": Decimal("1.5"),
    "text": "it's",
    "a_day": dt.date(1970, 1, 1),
    "a_ts": dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC),
    "a_ntz": dt.datetime(1970, 1, 1),
    "none": None,
    "a_double": 1.5,
    "a_bin": b"a",
    "iso": " 2024-02-29 ",
    "word": "ToDay",
}

OPERATORS = """
i = 1; i == i2; i <> 1; i != i2; i < t; i <= i2; i > i2; i >= big; big > 2147483648; i <=> NULL; i <=> i2; x <=> x2
equal_null(i, i2)
i IS DISTINCT FROM t; x IS NOT DISTINCT FROM x2; d = 1; d > i; d <= 1.005; wide > d; x > f; x = x2; f = f2; x < x2
x < i; f >= i; d = x; big = x; f < d
s = 'a'; s < 'b'; s > s2; s <= s3; b; NOT b; ! b; b = true; b < b2; b AND i > 0; b OR i > 0; b AND b2; b OR b2
NOT (b AND b2)
day > DATE'2000-01-01'; day <= day2; ts = TIMESTAMP'2026-03-29 01:30:00Z'
ts > TIMESTAMP'1969-12-31T23:59:59.999999+00:00'
ntz = TIMESTAMP_NTZ'1970-01-01 00:00:00'; bin = bin2; bin < bin2; i IS NULL; s IS NOT NULL; b IS NULL; NULL IS NULL
isnull(x); isnotnull(s)
b IS TRUE; b IS NOT TRUE; b IS FALSE; b IS NOT FALSE; b IS UNKNOWN; isnan(x); isnan(f); (i = 1) = b; i = i2 IS NULL
!b = b2; (i IS NULL) = b
i IN (1, 0, NULL); s IN ('a', 'A'); i NOT IN (1, 2); d IN (1, 2.5); i + 0 IN (1, 2); x IN (1, 2.5)
i BETWEEN -7 AND 1; i NOT BETWEEN i2 AND 7; x BETWEEN 0 AND x2
day BETWEEN DATE'1969-01-01' AND DATE'2026-01-01'; s LIKE 'a%'; s LIKE '_b%'; s NOT LIKE '%a%'; s LIKE '_'
s || s2 LIKE '%a%'
i + 1; i + i2; i - t; i - i2; i * 2; i * i2; t + 1; t + t2; t - t2; t * t2; t * i; sm + sm; sm * t; big + i
big + big2; big - big2; big * big2; i + 5000000000
d + 1; d - 0.005; d * 2; d * 1.1; d * d; d + wide; wide * 2; d + i; d * t; big + d; d2 - big; d + d2; d * d2; d * -3
d + -100; d * (2); d * -(2); d + 007; wide - 1
x + x2; x - x2; x * i; x * x2; f + x; f + f2; f - f2; f * f2; f * i; d + x; (i + 1) * 2; i2 * (i + 1); -i; -d; -x
-t; -big; -f; +i; -5; -2147483648; -(5); negative(i); negative(d); negative(x); positive(i); positive(x)
positive(d)
i / 2; i / i2; x / x2; big / big2; f / f2; t / t2; d / x; d / 2; d / d2; d / i; i / d; d / 1.7; d / t; d2 / d
d / 0.03
i div i2; big div big2; t div t2; i % i2; i % 3; big % big2; t % t2; x % x2; f % f2; d % d2; d % 3; i % d2
mod(i, i2); mod(x, x2); mod(d, d2)
pmod(x, x2); pmod(f, f2); pmod(i, 3); pmod(t, 7); pmod(big, 100); 1e3; 1.5e-3 * x; -1e3 + x; 1L + i; 1.5D * x
1S + sm; 1Y + t
try_add(i, i2); try_add(x, x2); try_subtract(big, big2); try_subtract(f, f2); try_multiply(i, i2)
try_multiply(t, t2); try_multiply(x, x2); try_divide(i, i2); try_divide(x, x2); try_mod(i, i2); try_mod(x, x2)
try_add(t, t2)
i & i2; i | i2; i ^ i2; ~i; t & t2; t | t2; big ^ big2; ~big; ~t; sm & t; i | big; (i & 3) | (i2 ^ 1)
shiftleft(i, n); shiftleft(big, n); i << n; i >> n; shiftright(i, n); shiftright(big, n); shiftrightunsigned(i, n)
shiftrightunsigned(big, n); shiftleft(t, n); t >> 1
bit_count(i); bit_count(big); bit_count(t); bit_count(b); getbit(i, 3); getbit(big, 0); bit_get(t, 7)
CASE WHEN i2 <> 0 THEN i / i2 ELSE 0D END; i2 <> 0 AND i / i2 > 1; i2 = 0 OR i % i2 = 1; i / (i2 + 1); (i + 1) / i2
(i + 1) % (i2 - 1); NOT (i / i2 > 1); (i + i2 > 0) AND b; b AND (i + i2 > 0); b OR (i + i2 > 0)
coalesce(i, i2 + 1); coalesce(i + i2, 1); i + :n3; d * :m; d * :n3; d / :n3; s = :text; day = :a_day; ts = :a_ts
ntz = :a_ntz; i > :none; x = :a_double; bin = :a_bin; 1 = 1; NULL; true; 5; 1.50; 'text'; i = i
"""

CHOICES = """
coalesce(i, t, 9); coalesce(d, i); coalesce(d, big); coalesce(s, 'none'); coalesce(d, 1); coalesce(i, NULL)
coalesce(x, d); nvl(i, 0); nvl(s, s2); ifnull(x, 0); ifnull(d, 0); nvl2(i, s, s2); nvl2(s, 1, 2.5)
CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' END; CASE WHEN b THEN i ELSE big END; CASE WHEN b THEN d ELSE 7 END
CASE i WHEN 1 THEN 'one' WHEN 7 THEN 'seven' ELSE s END; CASE s WHEN 'a' THEN 1 END
CASE i WHEN big THEN x ELSE f END; CASE WHEN b THEN NULL ELSE i END
if(b, i, t); if(b, s, NULL); if(i > 0, d, i); if(b, day, day2); greatest(i, i2); greatest(x, x2)
greatest(s, s2, s3); greatest(d, d2, i); greatest(day, day2); least(i, i2, big); least(x, x2); least(f, f2)
least(s, s2); least(b, b2); least(d, 1); least(t, NULL)
nullif(i, i2); nullif(s, s2); nullif(x, x2); nullif(d, d2); nullif(i, 0); nanvl(x, x2); nanvl(f, f2); nullifzero(i)
nullifzero(x); nullifzero(d); zeroifnull(i); zeroifnull(big); zeroifnull(x); zeroifnull(t); zeroifnull(d)
zeroifnull(d2); zeroifnull(f); zeroifnull(wide)
"""

NUMBERS = """
abs(i); abs(t); abs(big); abs(x); abs(f); abs(d); sign(x); sign(i); signum(f); sign(d); ceil(i); ceil(x); ceil(d)
ceiling(f); ceil(big); ceil(wide); floor(i); floor(x); floor(d); floor(f); floor(t); rint(x); rint(i)
+5; +5 + d; i + +5; + i * 2; ceil(ceil(d2)); floor(cast(i AS decimal(38,0)))
sqrt(x); sqrt(i); sqrt(d); sqrt(big); degrees(x); radians(x); degrees(i); pi(); e(); factorial(n); bin(big); bin(i)
hex(big); hex(i); hex(t)
"""

STRINGS = """
length(s); len(s); char_length(s2); character_length(s); length(bin); octet_length(s); octet_length(bin)
bit_length(s); bit_length(bin)
substring(s, n); substr(s, 2); substring(s, n, 2); substr(s, n, n); substring(s FROM 2 FOR 2); substring(s FROM n)
substring(s, -2, 1); substring(s, 2147483647); substring(s, -2147483648, 2147483647); substring(s, 2, i)
substring(s, i)
left(s, n); left(s, 2); right(s, n); right(s, 2); left(s, i); right(s, i); trim(s); ltrim(s); rtrim(s); btrim(s)
btrim(s, s3); btrim(s, 'a '); trim(BOTH 'a' FROM s); trim(LEADING 'a' FROM s); trim(TRAILING s3 FROM s)
trim(LEADING FROM s); trim(BOTH FROM s)
split_part(s, ',', 2); split_part(s, ',', n); split_part(s, s3, 1); split_part(s, '', n); split_part(s, 'a', -1)
split_part(s, s3, -2); substring_index(s, ',', 2); substring_index(s, ',', n); substring_index(s, 'a', -1)
substring_index(s, 'ä', n)
instr(s, s3); instr(s, 'a'); position('a' IN s); position(s3, s); position(s3, s, 2); position('a', s, n)
locate(s3, s); locate('a', s, n); locate('', s, n)
startswith(s, s3); endswith(s, s3); contains(s, s3); contains(s, ''); startswith(bin, bin2); endswith(bin, bin2)
find_in_set(s3, s); find_in_set('b', 'a,b,c'); find_in_set('', s); find_in_set('a,b', s); ascii(s)
concat(s, s2); concat(s, s2, s3); concat(s); s || 'x'; s || s; s || s2 || s3; concat_ws(',', s, s2)
concat_ws(s3, s, 'x', s2); replace(s, 'a'); replace(s, s3); replace(s, s3, s2); replace(s, 'a', '')
replace(s, '', 'x'); replace(s, '', s2)
translate(s, 'abc', 'x'); translate(s, 'aa', 'xy'); translate(s, s3, s2); translate(s, '🤦ä', 'ab'); reverse(s)
repeat(s, 2); repeat(s, 0); repeat(s, -1); space(n); lpad(s, n, s3); rpad(s, n, s3); lpad(s, 5); rpad(s, 5)
lpad(s, n); rpad(s, 3, '🤦'); lpad(s, 5, 'xy')
chr(i); chr(big); char(65); chr(n); overlay(s PLACING 'x' FROM 2 FOR 1); overlay(s, s3, 2, 1); overlay(s, s3, 3, 20)
overlay(s PLACING 'xy' FROM 2)
hex(s); hex(bin); unhex(s); unhex(num); unhex(hex(s)); md5(s); md5(bin); sha1(s); sha(bin); sha2(s, 256)
sha2(bin, 0); encode(s, 'UTF-8'); decode(bin, 'UTF-8'); to_binary(s, 'utf-8'); bin || bin2; concat(bin, bin2)
to_binary(s, 'UTF8')
"""

DATES = """
year(day); month(day); quarter(day); day(day); dayofmonth(day); dayofweek(day); weekday(day); dayofyear(day)
weekofyear(day); year(ntz); quarter(ntz); month(ntz); day(ntz); dayofweek(ntz); weekday(ntz); dayofyear(ntz)
weekofyear(ntz); hour(ntz); minute(ntz); second(ntz)
extract(YEAR FROM day); extract(MONTH FROM ntz); extract(WEEK FROM day); extract(DOW FROM day)
extract(DOW_ISO FROM day); extract(DOW_ISO FROM ntz); extract(YEAROFWEEK FROM day); extract(YEAROFWEEK FROM ntz)
extract(DOY FROM day); extract(HOUR FROM ntz); extract(MINUTE FROM ntz); extract(SECOND FROM ntz)
extract(QUARTER FROM day); date_part('DAY', day); datepart('second', ntz)
dayname(day); monthname(day); date_add(day, n); date_add(day, 100000); date_add(day, sm); date_add(day, 3000000)
dateadd(day, 1); date_sub(day, n); date_sub(day, sm); date_sub(day, 800000); day + 1; day - 1; day + n
datediff(day, day2); date_diff(day, day2); add_months(day, n); add_months(day, 1); add_months(day, -13)
add_months(day, sm); last_day(day)
next_day(day, 'MON'); next_day(day, 'tuesday'); next_day(day, 'We'); next_day(day, 'THU'); next_day(day, 'FRIDAY')
next_day(day, 'sa'); next_day(day, 'Sun'); trunc(day, 'YEAR'); trunc(day, 'quarter'); trunc(day, 'MM')
trunc(day, 'week'); trunc(day, 'mon')
make_date(2024, 2, n); make_date(sm, 1, 1); make_date(2024, n, 1); make_date(n, 12, 31); unix_date(day)
date_from_unix_date(sm); date_from_unix_date(n); unix_micros(ts); unix_millis(ts); unix_seconds(ts)
timestamp_micros(i); timestamp_millis(i); timestamp_seconds(i); timestamp_seconds(12345678901)
timestamp_millis(-12345678901234); timestamp_micros(12345678901234567)
day + INTERVAL 1 DAY; day - INTERVAL '1' DAY; day + INTERVAL 1 WEEK; day + INTERVAL 1 MONTH
day - INTERVAL '13' MONTHS; day + INTERVAL 4 YEARS; ntz + INTERVAL 1 YEAR; ntz - INTERVAL 1 MONTH
ntz + INTERVAL 1 WEEK; ntz + INTERVAL '1' DAY; ntz - INTERVAL 36 HOURS; ntz + INTERVAL 90 MINUTES
ntz + INTERVAL 86401 SECONDS; ntz - INTERVAL '1 second'
"""

GUARDED = r"""
upper(s); lower(s); ucase(num); lcase(s2); initcap(s); initcap(num); upper(s) = 'ABC'; lower(s) = upper(s)
s ILIKE 'A%'; s NOT ILIKE '%B_'; s ILIKE ''; num ILIKE '%E%'; ilike(s, 'ab')
round(x, 2); round(x); round(x2, 1); round(x, 5); round(d); round(d, 1); round(d2, 2); round(wide, 3); round(d, 4)
round(i); round(big, 2); round(t); round(d2 * 1.005, 4); round(cast(d AS decimal(38,2)), 1)
exp(x); exp(x2); exp(d2); ln(x); ln(big); log(x); log2(x); log2(i); log10(x); log10(i); log(2, x); log(x2, x)
log(i, d)
power(x, 2); pow(x, x2); power(x2, x); power(i, 3); power(d, 0.5); power(2, n); power(x, -1); pow(10, n)
pow(1.05, n)
s RLIKE '^a'; s RLIKE 'a|b'; num RLIKE '^[0-9]+$'; num RLIKE '\\d{4}-\\d{2}'; s RLIKE '(?i)ABC'; s RLIKE r'\w+\s'
num REGEXP '[+-]?1'
regexp_like(num, '^-'); rlike(s, 'b.'); s RLIKE ''
regexp_extract(num, '(\\d+)-(\\d+)', 2); regexp_extract(num, '(\\d+)-(\\d+)'); regexp_extract(s, 'a(x)?', 1)
regexp_extract(num, '[0-9]+', 0); regexp_extract(s, '(a+?)(b|c)*', 2); regexp_extract(s, '^(.*)$', 1)
regexp_replace(num, '[0-9]', 'x'); regexp_replace(num, '(\\d)(\\d)', '$2-$1'); regexp_replace(s, 'a+', '')
regexp_replace(s, 'a|ab', '<$0>')
regexp_replace(num, '\\.', ','); regexp_replace(s, ' ', '  ')
split(s, ',')[0]; split(s, ',')[1]; split(num, '-')[2]; split(s, 'ab')[0]; split(s, '🤦')[0]
split(num, '-')[0] = '2024'
s || 1; i || s; s || d; s || b; s || day; i || i2; concat(s, i, d2); concat(t, big); 1 || 2; s || -1.50; s || ntz
cast(num AS double); try_cast(num AS double); cast('1.5' AS double); cast('-.5' AS double)
cast('1e3' AS double) + x
cast(num AS decimal(10,2)); cast('1.005' AS decimal(10,2)); cast('-2.995' AS decimal(6,2))
try_cast(num AS decimal(3,1)); double('7')
day > '1998-01-01'; '2024-02-29' = day; day IN ('1970-01-01', '2000-02-29')
day BETWEEN '1969-12-31' AND '2026-01-31'
i > '5'; i = '1'; t < '100'; big >= '-7'; d = '2.5'; d > '1'; x < '1.5'; f = '0.5'; wide <= '1'; i IN ('1', '7')
x BETWEEN '0' AND '3'
day <=> '1970-01-01'; i <> '0'; ntz > '2020-12-31 00:00:00'; ntz <= '2020-12-31'; ts > '2020-01-01'
ts = '1970-01-01 00:00:00'
'it\'s'; s = 'a\tb'; s || '\n'; 'caf\u00e9'; '\x41'; '\101b'; s = '\\'; "a\"b"; 'a\%b'; r'a\nb'; s = 'it\'s'
X'AA'; X''; bin = X'FF00'; x'616263'; bin || X'00'
i BETWEEN 1 AND 10 / i2; i BETWEEN i2 + 1 AND 7; i NOT BETWEEN 1 / i2 AND 10; x BETWEEN x2 / 2 AND x2 * 2
year(ts); month(ts); quarter(ts); day(ts); dayofmonth(ts); dayofweek(ts); weekday(ts); dayofyear(ts); weekofyear(ts)
hour(ts)
minute(ts); second(ts); extract(YEAR FROM ts); extract(DOW_ISO FROM ts); extract(YEAROFWEEK FROM ts)
extract(SECOND FROM ts)
date_trunc('YEAR', ts); date_trunc('quarter', ts); date_trunc('month', ts); date_trunc('week', ts)
date_trunc('day', ts)
date_trunc('hour', ts); date_trunc('minute', ts); date_trunc('second', ts); date_trunc('MM', day)
date_trunc('dd', ntz)
date_format(day, 'yyyy-MM-dd'); date_format(ts, 'yyyy-MM-dd HH:mm:ss'); date_format(ntz, 'dd.MM.yy hh:mm a')
date_format(day, 'MMM yyyy')
date_format(ts, 'EEEE'); date_format(day, 'EEE MMMM'); date_format(ts, "yyyy-MM-dd'T'HH:mm")
date_format(day, 'yyyyMM'); date_format(day, 'E')
wide * wide; wide * d; wide * wide * d; wide + cast(d AS decimal(38,6)); cast(wide AS decimal(38,4)) * 2.00
wide / d; wide / wide; d * d * d; d / wide
cast(wide AS decimal(38,4)) / cast(d AS decimal(38,4)); cast(d AS decimal(38,10)) + cast(d2 AS decimal(38,3))
cast(d AS decimal(36,2)) > cast(d2 AS decimal(38,6))
coalesce(cast(d AS decimal(38,2)), cast(d2 AS decimal(38,18))); nullifzero(try_cast(d2 AS decimal(38,38)))
"""

_EXACT = ("t", "sm", "i", "big", "d", "wide")
_TYPES = (
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "decimal(10,2)",
    "decimal(5,0)",
    "decimal(38,6)",
    "float",
    "double",
    "string",
    "boolean",
)
CASTS = [
    *(
        f"{word}({column} AS {type_})"
        for column in (*_EXACT, "b")
        for type_ in _TYPES
        if type_ != "float" or column not in ("i", "big")
        for word in ("cast", "try_cast")
    ),
    *(
        f"{word}({column} AS {type_})"
        for column in ("f", "x")
        for type_ in _TYPES
        if (type_ != "string" and type_[0] != "d") or type_ == "double"
        for word in ("cast", "try_cast")
    ),
    *(
        f"{word}(num AS {type_})"
        for type_ in ("tinyint", "smallint", "int", "bigint", "boolean")
        for word in ("cast", "try_cast")
    ),
    *(
        "cast(num AS date)",
        "cast(s AS binary)",
        "cast(s AS string)",
        "cast(day AS string)",
        "cast(ntz AS string)",
        "cast(day AS timestamp_ntz)",
    ),
    *(
        "cast(date_add(day, 3000000) AS string)",
        "cast(date_sub(day, 800000) AS string)",
        "cast(NULL AS int)",
        "i::string",
        "int(num)",
        "string(i)",
        "double(i)",
        "date(num)",
    ),
    *(
        "to_date(num)",
        "cast(ntz AS date)",
        "bigint(x)",
        "boolean(i)",
        "decimal(i)",
        "cast('12' AS int) + i",
        "float(d)",
        "binary(s)",
    ),
    *(
        "cast(1 AS double)",
        "cast(5 AS string)",
        "cast(1.25 AS int)",
        "cast(0.05 AS string)",
        "cast(cast(d2 % 1 AS decimal(3,3)) AS string)",
        "cast('2024-01-05' AS date)",
        "cast(make_date(sm, 1, 1) AS string)",
        "cast(ntz - INTERVAL 2 SECOND AS string)",
        "cast(:iso AS date)",
        "cast(cast(wide AS decimal(20,6)) AS smallint)",
        "-cast(wide AS decimal(34,10))",
        "abs(cast(wide AS decimal(34,4)))",
    ),
]


def cases(text: str) -> list[str]:
    """The expressions of a text, parted by semicolons and line ends."""
    return [case.strip() for line in text.splitlines() for case in line.split(";") if case.strip()]


ALL = [*cases(OPERATORS), *cases(CHOICES), *cases(NUMBERS), *cases(STRINGS), *cases(DATES), *CASTS, *cases(GUARDED)]
