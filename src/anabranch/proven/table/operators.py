"""Operators, and the functions that are operators under another name."""

from __future__ import annotations

from anabranch.proven.table.row import FAIL_ZERO, proof
from anabranch.proven.table.types import signed_type

_ZERO = f"CASE WHEN $2 = 0 AND $1 IS NOT NULL THEN {FAIL_ZERO}"
_REST = "WHEN $2 = -1 THEN $1 - $1 ELSE $1 % $2 END"
"""DuckDB's own remainder of the least integer and -1 overflows."""
_NOTHING = "CAST(0 AS $T)"
"""DuckDB's own negation of the least integer is of a wider type if the integer is constant."""
_WRAP_INT = "CAST(((%s + 2147483648) & 4294967295) - 2147483648 AS INTEGER)"
_WRAP_BIGINT = (
    "CAST(((%s + 9223372036854775808::HUGEINT) & 18446744073709551615::HUGEINT) - 9223372036854775808::HUGEINT"
    " AS BIGINT)"
)
_WIDE = "CAST($1 AS HUGEINT) ? CAST($2 AS HUGEINT)"
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*"}

COMPARISONS = [
    *[
        proof(names, "scalar, scalar", "boolean", f"$1 {names.split()[0]} $2", alike=True)
        for names in ("= ==", "<> !=", "<", "<=", ">", ">=")
    ],
    proof("<=> equal_null", "scalar, scalar", "boolean", "$1 IS NOT DISTINCT FROM $2", alike=True),
    proof("is_distinct_from", "scalar, scalar", "boolean", "$1 IS DISTINCT FROM $2", alike=True),
    proof("isnull is_null", "scalar", "boolean", "$1 IS NULL"),
    proof("isnotnull is_not_null", "scalar", "boolean", "$1 IS NOT NULL"),
    proof("is_true", "boolean", "boolean", "$1 IS NOT DISTINCT FROM TRUE"),
    proof("is_false", "boolean", "boolean", "$1 IS NOT DISTINCT FROM FALSE"),
    proof("not !", "boolean", "boolean", "NOT $1"),
    proof("isnan", "fraction", "boolean", "coalesce(isnan($1), FALSE)"),
]

ARITHMETIC = [
    # Written as functions: DuckDB would turn `i + 1 > 0` into `i > -1`, which never overflows.
    *[
        proof(f"{sign} {name}", "integer, integer", "same", f"{name}($1, $2)", may_fail=True, alike=True)
        for name, sign in _SIGNS.items()
    ],
    *[
        proof(f"{sign} {name}", "fraction, fraction", "same", f"$1 {sign} $2", alike=True)
        for name, sign in _SIGNS.items()
    ],
    proof("/", "double, double", "double", f"{_ZERO} ELSE $1 / $2 END", may_fail=True),
    proof("div", "bigint, bigint", "bigint", f"{_ZERO} ELSE $1 // $2 END", may_fail=True),
    proof("% mod", "integer, integer", "same", f"{_ZERO} {_REST}", may_fail=True, alike=True),
    proof("% mod", "fraction, fraction", "same", f"{_ZERO} ELSE $1 % $2 END", may_fail=True, alike=True),
    proof("pmod", "integer, count", "same", "CASE WHEN $1 % $2 < 0 THEN $1 % $2 + $2 ELSE $1 % $2 END", alike=True),
    proof(
        "pmod",
        "fraction, fraction",
        "same",
        f"{_ZERO} ELSE CASE WHEN $1 % $2 < 0 THEN ($1 % $2 + $2) % $2 ELSE $1 % $2 END END",
        may_fail=True,
        alike=True,
    ),
    proof("negative -", "integer", "same", f"subtract({_NOTHING}, $1)", may_fail=True),
    proof("negative -", "fraction", "same", "- $1"),
    proof("negative -", "decimal", signed_type, "- $1"),
    *[proof("positive +", kind, "same", "$1") for kind in ("integer", "fraction", "decimal")],
    *[
        proof(f"try_{name}", "integer, integer", "same", f"TRY_CAST({_WIDE} AS $T)".replace("?", sign), alike=True)
        for name, sign in _SIGNS.items()
    ],
    *[proof(f"try_{name}", "fraction, fraction", "same", f"$1 {sign} $2", alike=True) for name, sign in _SIGNS.items()],
    proof("try_divide", "double, double", "double", "CASE WHEN $2 = 0 THEN NULL ELSE $1 / $2 END"),
    proof("try_mod", "integer, integer", "same", f"CASE WHEN $2 = 0 THEN NULL {_REST}", alike=True),
    proof("try_mod", "fraction, fraction", "same", "CASE WHEN $2 = 0 THEN NULL ELSE $1 % $2 END", alike=True),
]

BITS = [
    proof("&", "integer, integer", "same", "$1 & $2", alike=True),
    proof("|", "integer, integer", "same", "$1 | $2", alike=True),
    proof("^", "integer, integer", "same", "xor($1, $2)", alike=True),
    proof("~", "integer", "same", "~ $1"),
    proof("shiftleft <<", "int, int", "int", _WRAP_INT % "CAST($1 AS BIGINT) * (1::BIGINT << ($2 & 31))"),
    proof("shiftleft <<", "bigint, int", "bigint", _WRAP_BIGINT % "CAST($1 AS HUGEINT) * (1::HUGEINT << ($2 & 63))"),
    proof("shiftright >>", "int, int", "int", "$1 >> ($2 & 31)"),
    proof("shiftright >>", "bigint, int", "bigint", "$1 >> CAST($2 & 63 AS BIGINT)"),
    proof("shiftrightunsigned", "int, int", "int", _WRAP_INT % "((CAST($1 AS BIGINT) & 4294967295) >> ($2 & 31))"),
    proof(
        "shiftrightunsigned",
        "bigint, int",
        "bigint",
        _WRAP_BIGINT % "((CAST($1 AS HUGEINT) & 18446744073709551615::HUGEINT) >> ($2 & 63))",
    ),
    proof("bit_count", "integer", "int", "CAST(bit_count(CAST($1 AS BIGINT)) AS INTEGER)"),
    proof("bit_count", "boolean", "int", "CAST($1 AS INTEGER)"),
    proof("getbit bit_get", "bigint, '0|1|2|3|4|5|6|7'", "tinyint", "CAST(($1 >> $2) & 1 AS TINYINT)"),
]
