"""Functions of numbers, and choices between values."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.model.types import DataType
from anabranch.proven.table.row import proof
from anabranch.proven.table.types import common_type, signed_type


def _whole(types: Sequence[DataType]) -> DataType:
    """Spark's type for a decimal without its fraction."""
    return DataType("decimal", types[0].digits + 1, 0) if types[0].scale else types[0]


def _with_zero(types: Sequence[DataType]) -> DataType:
    """Spark's type for a choice between a decimal and the whole number 0."""
    return common_type(types[0], DataType("int"))


def _unless_zero(types: Sequence[DataType]) -> DataType:
    """The type of a decimal that is compared with 0."""
    common_type(types[0], DataType("decimal", 1, 0))
    return types[0]


_TO_BIGINT = "CASE WHEN isnan($1) THEN 0 ELSE CAST({}($1) AS BIGINT) END"

_ABOVE_ZERO = "CASE WHEN $1 > 0 THEN {} END"
_LOG = "CASE WHEN $1 > 0 AND $2 > 0 THEN spark_log($2) / spark_log($1) END"
_CHOICE = "CASE WHEN $1 IS NULL OR $2 {} $1 THEN $2 ELSE $1 END"

NUMBERS = [
    proof("abs", "integer", "same", "abs($1)", may_fail=True),
    proof("abs", "fraction", "same", "abs($1)"),
    proof("abs", "decimal", signed_type, "abs($1)"),
    proof("sign signum", "double", "double", "CASE WHEN isnan($1) OR $1 = 0 THEN $1 ELSE CAST(sign($1) AS DOUBLE) END"),
    proof("ceil ceiling", "bigint", "bigint", "$1"),
    proof("ceil ceiling", "decimal", _whole, "ceil($1)"),
    proof("ceil ceiling", "double", "bigint", _TO_BIGINT.format("ceil"), may_fail=True),
    proof("floor", "bigint", "bigint", "$1"),
    proof("floor", "decimal", _whole, "floor($1)"),
    proof("floor", "double", "bigint", _TO_BIGINT.format("floor"), may_fail=True),
    proof("rint", "double", "double", "CASE WHEN abs($1) < 4503599627370496 THEN round_even($1, 0) ELSE $1 END"),
    proof("sqrt", "double", "double", "sqrt($1)"),
    proof("exp", "double", "double", "spark_exp($1)"),
    *[proof(name, "double", "double", _ABOVE_ZERO.format("spark_log($1)")) for name in ("ln", "log")],
    proof("log2", "double", "double", _ABOVE_ZERO.format("spark_log($1) / CAST('0.6931471805599453' AS DOUBLE)")),
    proof("log10", "double", "double", _ABOVE_ZERO.format("spark_log10($1)")),
    proof("log", "double, double", "double", _LOG),
    proof("power pow", "double, double", "double", "spark_pow($1, $2)"),
    proof("degrees", "double", "double", "degrees($1)"),
    proof("radians", "double", "double", "radians($1)"),
    proof("pi", "", "double", "pi()"),
    proof("e", "", "double", "CAST('2.718281828459045' AS DOUBLE)"),
    proof("factorial", "int", "bigint", "CASE WHEN $1 BETWEEN 0 AND 20 THEN CAST(factorial($1) AS BIGINT) END"),
    proof("bin", "bigint", "string", "bin($1)"),
    proof("hex", "bigint", "string", "hex($1)"),
]

CHOICES = [
    proof("coalesce nvl ifnull", "scalar*", "same", "coalesce($*)", alike=True),
    proof("greatest", "fraction, fraction", "same", _CHOICE.format(">"), alike=True),
    proof("least", "fraction, fraction", "same", _CHOICE.format("<"), alike=True),
    proof("greatest", "exact, exact, exact*", "same", "greatest($*)", alike=True),
    proof("least", "exact, exact, exact*", "same", "least($*)", alike=True),
    proof("nanvl", "fraction, fraction", "same", "CASE WHEN isnan($1) THEN $2 ELSE $1 END", alike=True),
    *[proof("nullifzero", kind, "same", "nullif($1, 0)") for kind in ("integer", "fraction")],
    proof("nullifzero", "decimal", _unless_zero, "nullif($1, 0)"),
    *[proof("zeroifnull", kind, kind, "coalesce($1, 0)") for kind in ("int", "bigint")],
    proof("zeroifnull", "decimal", _with_zero, "coalesce($1, 0)"),
    proof("zeroifnull", "double", "double", "coalesce($1, 0)"),
]
