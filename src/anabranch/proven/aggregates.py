"""Aggregates that DuckDB computes as Spark does: which types they take, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import BOOLEAN, DOUBLE
from anabranch.queries.duck_text import DuckText
from anabranch.queries.query import all_of, cast_to, choose, is_null, number

INT, BIGINT = DataType("int"), DataType("bigint")
_FRACTIONS = ("float", "double")
_WIDEST_SUM = 28
"""Sums of longer decimals might pass 38 digits, which DuckDB does not notice."""
_WIDEST_AVERAGE = 24
"""A sum of longer decimals with four digits more may not fit a whole number.

DuckDB reads digits and a power of ten only where both together have their place, which bounds the scale, too."""
_MEAN = "CASE WHEN $2 > 0 THEN $1 / $2 END"
_UNSCALED = "(CAST(replace(CAST($1 AS VARCHAR), '.', '') AS HUGEINT) * 10000)"
_DECIMAL_MEAN = (
    f"CASE WHEN $2 > 0 THEN CAST(({_UNSCALED} // $2 + CASE WHEN 2 * abs({_UNSCALED} % $2) < $2 THEN 0"
    " WHEN $1 < 0 THEN -1 ELSE 1 END) || 'e-$scale' AS DECIMAL(38, $scale)) END"
)

Called = Callable[[str, Sequence[exp.Expr]], exp.Expr]
"""Makes DuckDB's call of an aggregate: over a group, or over a window."""


@dataclass(frozen=True)
class Call:
    """An aggregate as it is written."""

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False
    condition: exp.Expr | None = None


def call_of(node: exp.Expr) -> Call | None:
    """Read an aggregate; None if the node is none that is known."""
    if isinstance(node, exp.Filter):
        call = call_of(node.this)
        return Call(call.name, call.arguments, call.distinct, node.expression.this) if call else None
    if isinstance(node, exp.Any) and isinstance(node.this, exp.Paren):
        return Call("any", (node.this.this,))
    if not isinstance(node, exp.Anonymous) or str(node.this).lower() not in _RULES:
        return None
    given = node.expressions
    if len(given) == 1 and isinstance(given[0], exp.Distinct):
        return Call(str(node.this).lower(), tuple(given[0].expressions), True)
    return Call(str(node.this).lower(), tuple(given))


def has_aggregate(node: exp.Expr) -> bool:
    """Tell whether an expression aggregates rows of its own query."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        inner = call_of(node.this)
        parts: list[exp.Expr] = list(inner.arguments) if inner else list(node.this.iter_expressions())
        return any(has_aggregate(p) for p in (*parts, *(p for p in node.iter_expressions() if p is not node.this)))
    return call_of(node) is not None or any(has_aggregate(p) for p in node.iter_expressions())


def aggregated(call: Call, values: Sequence[Value], called: Called) -> Value:
    """Translate an aggregate over translated arguments."""
    if call.distinct and call.name == "count_if":
        raise Unproven("COUNT_IF of distinct values")
    if call.distinct:
        values = [zero_made_plain(v) for v in values]
    return _RULES[call.name](call.name, values, called)


def zero_made_plain(value: Value) -> Value:
    """A value as Spark groups by it: with one zero, which has no sign."""
    if value.type is None or value.type.name not in _FRACTIONS:
        return value
    zero = cast_to(number(0), value.type)
    return Value(DuckText(this="$1 + $2", expressions=[value.node, zero]), value.type, value.may_fail)


def where_holds(condition: Value, value: Value) -> Value:
    """A value that is null where FILTER leaves the row out: all aggregates here pass over nulls."""
    node = choose((condition.node, value.node), otherwise=exp.Null())
    return Value(node, value.type, condition.may_fail or value.may_fail)


def _count(name: str, values: Sequence[Value], called: Called) -> Value:
    if not values:
        raise Unproven("COUNT of nothing")
    nodes = [v.node for v in values]
    if len(nodes) > 1:
        known = all_of([exp.Not(this=exp.Paren(this=is_null(n.copy()))) for n in nodes])
        nodes = [choose((known, exp.Anonymous(this="row", expressions=nodes)), otherwise=exp.Null())]
    return Value(called("count", nodes), BIGINT, any(v.may_fail for v in values))


def _sum(name: str, values: Sequence[Value], called: Called) -> Value:
    value, type_ = _only(name, values)
    if type_.is_integer:
        return Value(cast_to(called("sum", [value.node]), BIGINT), BIGINT, True)
    if type_.name in _FRACTIONS:
        return Value(called("sum", [_as_double(value)]), DOUBLE, value.may_fail)
    if type_.name == "decimal" and type_.precision <= _WIDEST_SUM:
        wide = DataType("decimal", type_.precision + 10, type_.scale)
        return Value(cast_to(called("sum", [value.node]), wide), wide, value.may_fail)
    raise Unproven(f"SUM of {type_}")


def _average(name: str, values: Sequence[Value], called: Called) -> Value:
    value, type_ = _only(name, values)
    count = called("count", [value.node.copy()])
    if type_.is_integer or type_.name in _FRACTIONS:
        total = called("sum", [_as_double(value)])
        return Value(DuckText(this=_MEAN, expressions=[total, count]), DOUBLE, value.may_fail)
    if type_.name == "decimal" and type_.precision <= _WIDEST_AVERAGE and type_.precision + type_.scale <= 30:
        mean = DataType("decimal", type_.precision + 4, type_.scale + 4)
        node = DuckText(
            this=_DECIMAL_MEAN.replace("$scale", str(mean.scale)), expressions=[called("sum", [value.node]), count]
        )
        return Value(cast_to(node, mean), mean, value.may_fail)
    raise Unproven(f"AVG of {type_}")


def _extreme(name: str, values: Sequence[Value], called: Called) -> Value:
    value, type_ = _only(name, values)
    return Value(called(name, [value.node]), type_, value.may_fail)


def _every(duck: str) -> Callable[[str, Sequence[Value], Called], Value]:
    def rule(name: str, values: Sequence[Value], called: Called) -> Value:
        value, type_ = _only(name, values)
        if type_ != BOOLEAN:
            raise Unproven(f"{name.upper()} of {type_}")
        return Value(called(duck, [value.node]), BOOLEAN, value.may_fail)

    return rule


def _bits(name: str, values: Sequence[Value], called: Called) -> Value:
    value, type_ = _only(name, values)
    if not type_.is_integer:
        raise Unproven(f"{name.upper()} of {type_}")
    return Value(called(name, [value.node]), type_, value.may_fail)


def _count_if(name: str, values: Sequence[Value], called: Called) -> Value:
    value, type_ = _only(name, values)
    if type_ != BOOLEAN:
        raise Unproven(f"COUNT_IF of {type_}")
    one = choose((value.node, number(1)), otherwise=exp.Null())
    return Value(called("count", [one]), BIGINT, value.may_fail)


def _only(name: str, values: Sequence[Value]) -> tuple[Value, DataType]:
    if len(values) != 1:
        raise Unproven(f"{name.upper()} of {len(values)} values")
    if values[0].type is None:
        raise Unproven(f"{name.upper()} of null")
    return values[0], values[0].type


def _as_double(value: Value) -> exp.Expr:
    return value.node if value.type == DOUBLE else cast_to(value.node, DOUBLE)


_RULES: dict[str, Callable[[str, Sequence[Value], Called], Value]] = {
    "count": _count,
    "sum": _sum,
    "avg": _average,
    "mean": _average,
    "min": _extreme,
    "max": _extreme,
    **dict.fromkeys(("bool_and", "every"), _every("bool_and")),
    **dict.fromkeys(("bool_or", "some", "any"), _every("bool_or")),
    "count_if": _count_if,
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _bits),
}
AGGREGATES = frozenset(_RULES)
