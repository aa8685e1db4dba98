"""Arithmetic on decimals: exact, with Spark's types and its rounding away from zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.model.types import DataType
from anabranch.proven.table.row import FAIL_ZERO, Proof, Unproven, Value, built, proof
from anabranch.proven.table.types import as_decimal, product_types, quotient_type, remainder_type, sum_type

_ZERO = f"CASE WHEN $2 = 0 AND $1 IS NOT NULL THEN {FAIL_ZERO} ELSE"
_UNSCALED = "CAST(replace(CAST({} AS VARCHAR), '.', '') AS HUGEINT)"
_TOP, _BOTTOM = f"({_UNSCALED.format('$1')} * $shift::HUGEINT)", _UNSCALED.format("$2")
_QUOTIENT = (
    f"{_ZERO} CAST(({_TOP} // {_BOTTOM} + CASE WHEN 2 * abs({_TOP} % {_BOTTOM}) < abs({_BOTTOM}) THEN 0"
    " WHEN ($1 < 0) = ($2 < 0) THEN 1 ELSE -1 END) || 'e-$scale' AS DECIMAL(38, $scale)) END"
)

DECIMALS = [
    proof("+ add", "decimal, decimal", "decimal", "$1 + $2"),
    proof("- subtract", "decimal, decimal", "decimal", "$1 - $2"),
    proof("* multiply", "decimal, decimal", "decimal", "$1 * $2"),
    proof("/", "decimal, decimal", "decimal", _QUOTIENT, may_fail=True),
    proof("% mod", "decimal, decimal", "decimal", f"{_ZERO} $1 % $2 END", may_fail=True),
]
_ROWS = {name: row for row in DECIMALS for name in row.names}
_OTHERS = frozenset(("div", "pmod", "try_add", "try_subtract", "try_multiply", "try_divide", "try_mod"))

Convert = Callable[[Value, DataType], Value]


def decimal_arithmetic(name: str, values: Sequence[Value], convert: Convert) -> Value | None:
    """Compute with two decimals, or with a decimal and a whole number; None if the name is not of arithmetic."""
    row = _ROWS.get(name)
    if row is None:
        if name in _OTHERS:
            raise Unproven(f"{name.upper()} of decimals")
        return None
    one, other = (as_decimal(v) for v in values)
    operand, result, row = _types(row, one, other)
    converted = [convert(v, operand or t) for v, t in zip(values, (one, other), strict=True)]
    return built(row, converted, result)


def _types(row: Proof, one: DataType, other: DataType) -> tuple[DataType | None, DataType, Proof]:
    """The type that both operands are brought to (None: each keeps its own), the result's, and the row to use."""
    if row.names[0] in ("+", "-"):
        result = sum_type(one, other)
        return result, result, row
    if row.names[0] == "*":
        return (*product_types(one, other), row)
    if row.names[0] == "%":
        return sum_type(one, other), remainder_type(one, other), row
    result = quotient_type(one, other)
    shift = 10 ** (result.scale - one.scale + other.scale)
    words = {"$shift": shift, "$scale": result.scale}
    return None, result, row.with_words(words)
