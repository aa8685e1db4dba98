"""Casts: between which types, and how. `$T` is the target type; a cast fails if the value does not fit."""

from __future__ import annotations

from anabranch.model.types import INTEGERS
from anabranch.proven.table.row import Proof, proof

_SPACE = r"[\x00-\x20\x7f]*"
_TRIMMED = rf"regexp_replace($1, '^{_SPACE}|{_SPACE}$', '', 'g')"
_YEAR_SIZE = "CASE WHEN year($1) BETWEEN 1 AND 9999 THEN CAST($1 AS VARCHAR)"
_OTHER_YEAR = (
    " WHEN $1 IS NULL THEN NULL ELSE CASE WHEN year($1) > 9999 THEN '+' WHEN year($1) < 0 THEN '-' ELSE '' END"
    " || repeat('0', 4 - length(CAST(abs(year($1)) AS VARCHAR))) || CAST(abs(year($1)) AS VARCHAR) || "
)
_AFTER_YEAR = "replace(substring(CAST($1 AS VARCHAR), position('-' IN CAST($1 AS VARCHAR))), ' (BC)', '')"
_TO_INTEGER = (
    rf"CASE WHEN regexp_full_match($1, '{_SPACE}[+-]?[0-9]+{_SPACE}')"
    " THEN CAST(ltrim(regexp_extract($1, '[+-]?[0-9]+'), '+') AS $T)"
    " WHEN $1 IS NOT NULL THEN CAST(concat('not a whole number: ', $1) AS $T) END"
)
_TO_BOOLEAN = (
    f"CASE WHEN lower({_TRIMMED}) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE"
    f" WHEN lower({_TRIMMED}) IN ('f', 'false', 'n', 'no', '0') THEN FALSE"
    " WHEN $1 IS NOT NULL THEN CAST(concat('not a boolean: ', $1) AS BOOLEAN) END"
)
_TO_DATE = (
    rf"CASE WHEN regexp_full_match({_TRIMMED}, '[+-]?[0-9]{{4,7}}(-[0-9]{{1,2}}(-[0-9]{{1,2}}([ T](?s:.)*)?)?)?')"
    rf" THEN make_date(CAST(ltrim(regexp_extract({_TRIMMED}, '^[+-]?[0-9]+'), '+') AS INTEGER),"
    rf" coalesce(TRY_CAST(regexp_extract({_TRIMMED}, '^[+-]?[0-9]+-([0-9]+)', 1) AS INTEGER), 1),"
    rf" coalesce(TRY_CAST(regexp_extract({_TRIMMED}, '^[+-]?[0-9]+-[0-9]+-([0-9]+)', 1) AS INTEGER), 1))"
    " WHEN $1 IS NOT NULL THEN CAST(concat('not a date: ', $1) AS DATE) END"
)
_TO_BIGINT = "CASE WHEN $1 = 9223372036854775808::DOUBLE THEN 9223372036854775807 ELSE CAST(trunc($1) AS BIGINT) END"
_TO_FLOAT = (
    "CASE WHEN isfinite($1) AND abs($1) >= 3.4028235677973366e38::DOUBLE THEN CAST(sign($1) * 'inf'::DOUBLE AS FLOAT)"
    " ELSE CAST($1 AS FLOAT) END"
)


_NUMBER_SHAPE = r"[+-]?([0-9]{1,17}[.]?[0-9]{0,17}|[.][0-9]{1,17})"
_NUMBER = (
    rf"CASE WHEN regexp_full_match($1, '{_NUMBER_SHAPE}$exponent') THEN CAST(ltrim($1, '+') AS $T)"
    " WHEN $1 IS NOT NULL THEN $only_spark END"
)
_OTHER_NUMBERS = "numbers in text that are not plain digits"


def _cast(source: str, target: str, duck: str = "CAST($1 AS $T)", *, may_fail: bool = False, guard: str = "") -> Proof:
    return proof("cast", source, target, duck, may_fail=may_fail, guard=guard)


CASTS = [
    *[_cast(a, b, may_fail=INTEGERS.index(a) > INTEGERS.index(b)) for a in INTEGERS for b in INTEGERS if a != b],
    # No wider integers: Spark skips the cast to float if the float is then cast to double.
    *[_cast(a, "float") for a in ("tinyint", "smallint")],
    *[_cast(a, b) for a in INTEGERS for b in ("double", "string")],
    *[_cast(a, "decimal", may_fail=True) for a in (*INTEGERS, "decimal")],
    *[_cast(a, "boolean", "$1 <> 0") for a in (*INTEGERS, "decimal", "float", "double")],
    *[_cast("decimal", b, "CAST(trunc($1) AS $T)", may_fail=True) for b in INTEGERS],
    *[_cast("decimal", b, "CAST(CAST($1 AS VARCHAR) AS $T)") for b in ("float", "double")],
    _cast("decimal", "string", r"regexp_replace(CAST($1 AS VARCHAR), '^(-?)[.]', '\10.')"),
    _cast("float", "double"),
    _cast("double", "float", _TO_FLOAT),
    *[
        _cast(a, b, "CAST(trunc($1) AS $T)", may_fail=True)
        for a in ("float", "double")
        for b in ("tinyint", "smallint", "int")
    ],
    *[_cast(a, "bigint", _TO_BIGINT, may_fail=True) for a in ("float", "double")],
    *[_cast("boolean", b, "CAST(CAST($1 AS INTEGER) AS $T)") for b in (*INTEGERS, "float", "double")],
    _cast("boolean", "decimal", "CAST(CAST($1 AS INTEGER) AS $T)", may_fail=True),
    _cast("boolean", "string"),
    *[_cast("string", b, _TO_INTEGER, may_fail=True) for b in INTEGERS],
    _cast("string", "boolean", _TO_BOOLEAN, may_fail=True),
    _cast("string", "date", _TO_DATE, may_fail=True),
    _cast("string", "binary", "encode($1)"),
    _cast("string", "double", _NUMBER.replace("$exponent", "([eE][+-]?[0-9]{1,2})?"), guard=_OTHER_NUMBERS),
    _cast("string", "decimal", _NUMBER.replace("$exponent", ""), may_fail=True, guard=_OTHER_NUMBERS),
    _cast("date", "string", f"{_YEAR_SIZE}{_OTHER_YEAR}strftime($1, '-%m-%d') END"),
    _cast("date", "timestamp_ntz", may_fail=True),
    _cast("timestamp_ntz", "date"),
    _cast("timestamp_ntz", "string", f"{_YEAR_SIZE}{_OTHER_YEAR}{_AFTER_YEAR} END"),
]
