"""Arithmetic on decimals: exact, with Spark's types and its rounding away from zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.table.row import FAIL_ZERO, Proof, Unproven, Value, built, guarded, marked, proof
from anabranch.proven.table.types import (
    as_decimal,
    natural_width,
    product_types,
    quotient_type,
    remainder_type,
    result_type,
    sum_type,
)
from anabranch.queries.duck_text import DuckText
from anabranch.queries.query import cast_to

_ZERO = f"CASE WHEN $2 = 0 AND $1 IS NOT NULL THEN {FAIL_ZERO} ELSE"
_TOP, _BOTTOM = "($top * $shift::HUGEINT)", "$bottom"
_QUOTIENT = (
    f"{_ZERO} CAST({_TOP} // {_BOTTOM} + CASE WHEN 2 * abs({_TOP} % {_BOTTOM}) < abs({_BOTTOM}) THEN 0"
    " WHEN ($1 < 0) = ($2 < 0) THEN 1 ELSE -1 END AS DECIMAL(38, 0)) * CAST('$unit' AS DECIMAL($scale, $scale)) END"
)
_TOO_LONG = "decimals of so many digits"


def unit(scale: int) -> str:
    """The least positive decimal of this scale."""
    return f"0.{'0' * (scale - 1)}1"


def unscaled(hole: str, type_: DataType) -> str:
    """DuckDB's text for a decimal's unscaled value, a whole number."""
    if type_.precision + type_.scale < 38:
        return f"CAST({hole} * CAST({10**type_.scale} AS DECIMAL({type_.scale + 1}, 0)) AS HUGEINT)"
    return f"CAST(replace(CAST({hole} AS VARCHAR), '.', '') AS HUGEINT)"


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


def decimal_arithmetic(name: str, values: Sequence[Value], convert: Convert, guards: bool) -> Value | None:
    """Compute with two decimals, or a decimal and a whole number; None if the name is no arithmetic operator.

    With guards, operands stay in their own types: DuckDB fails where a result does not fit.
    """
    row = _ROWS.get(name)
    if row is None:
        if name in _OTHERS:
            raise Unproven(f"{name.upper()} of decimals")
        return None
    one, other = (as_decimal(v) for v in values)
    if guards and row.names[0] in ("+", "-", "*"):
        return _in_own_types(row, [convert(v, t) for v, t in zip(values, (one, other), strict=True)])
    operand, result, row = _types(row, one, other, guards)
    converted = [convert(v, operand or t) for v, t in zip(values, (one, other), strict=True)]
    return built(row, converted, result)


def _in_own_types(row: Proof, values: Sequence[Value]) -> Value:
    """Let DuckDB choose the type, which holds the result or makes it fail."""
    symbol = row.names[0]
    one, other = (v.type for v in values)
    assert one is not None
    assert other is not None
    type_, scale = result_type(symbol, one, other)
    widths = [v.width or t.precision for v, t in zip(values, (one, other), strict=True)]
    width = natural_width(symbol, *(replace(t, precision=w) for t, w in zip((one, other), widths, strict=True)))
    text = row.duck
    if width == _NARROW and _NARROW - scale < _ROOM:
        text, width = row.duck.replace("$1", "CAST($1 AS DECIMAL($width, $scale))"), 38
        text = text.replace("$width", str(max(widths[0], _NARROW + 1))).replace("$scale", str(one.scale))
    node: exp.Expr = DuckText(this=text, expressions=[v.node for v in values])
    if type_.scale != scale:
        node, width = cast_to(node, type_), 0
    found = Value(guarded(node, _TOO_LONG), type_, any(v.may_fail for v in values), width=width)
    return marked(replace(found, size=1 + sum(v.size for v in values)), row.key)


_NARROW = 18
"""DuckDB is fast up to this many digits; if both operands are this short, a longer result fails."""
_ROOM = 12
"""Leave at least this many digits before the point, lest common values fail."""


def _types(row: Proof, one: DataType, other: DataType, guards: bool) -> tuple[DataType | None, DataType, Proof]:
    """The type that both operands are cast to (None: each keeps its own), the result's type, and the row to use."""
    if row.names[0] in ("+", "-"):
        result = sum_type(one, other)
        return result, result, row
    if row.names[0] == "*":
        return (*product_types(one, other), row)
    if row.names[0] == "%":
        return sum_type(one, other), remainder_type(one, other), row
    result = result_type("/", one, other)[0] if guards else quotient_type(one, other)
    shift = result.scale - one.scale + other.scale
    if shift < 0:
        raise Unproven(f"/ of {one} and {other}")
    words = {
        "$shift": 10**shift,
        "$scale": result.scale,
        "$unit": unit(result.scale),
        "$top": unscaled("$1", one),
        "$bottom": unscaled("$2", other),
    }
    return None, result, replace(row.with_words(words), guard=_TOO_LONG if guards else "")
