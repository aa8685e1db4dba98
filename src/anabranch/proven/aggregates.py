"""Aggregates that DuckDB computes as Spark does: the types they take and return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.table.decimals import unit, unscaled
from anabranch.proven.table.row import Unproven, Value, guarded, only_spark
from anabranch.proven.table.types import BOOLEAN, DOUBLE
from anabranch.queries.duck_text import DuckText
from anabranch.queries.query import all_of, cast_to, choose, is_null, number

INT, BIGINT = DataType("int"), DataType("bigint")
_FRACTIONS = ("float", "double")
_EXACT_SUM = 28
"""Sums of longer decimals may pass 38 digits, in a partial sum or at the end."""
_MEAN = "CASE WHEN $2 > 0 THEN $1 / $2 END"
_DECIMAL_MEAN = (
    "CASE WHEN $2 > 0 THEN CAST($top * $shift::HUGEINT // $2"
    " + CASE WHEN 2 * abs($top * $shift::HUGEINT % $2) < $2 THEN 0"
    " WHEN $1 < 0 THEN -1 ELSE 1 END AS DECIMAL(38, 0)) * CAST('$unit' AS DECIMAL($scale, $scale)) END"
)
_CHECKED_SUM = "CASE WHEN $2 <= CAST('$most' AS DECIMAL(38, $scale)) THEN $1 WHEN $2 IS NOT NULL THEN $only_spark END"
_TOO_GREAT = "sums of more than 38 digits"

Called = Callable[[str, Sequence[exp.Expr]], exp.Expr]
"""Builds DuckDB's call of an aggregate: over a group, or over a window."""
Rule = Callable[[str, Sequence[Value], Called], Value]
_CHOSEN = {
    **dict.fromkeys(("first", "first_value", "any_value"), "first"),
    **dict.fromkeys(("last", "last_value"), "last"),
}


@dataclass(frozen=True)
class Call:
    """An aggregate call as written."""

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False
    condition: exp.Expr | None = None


def call_of(node: exp.Expr) -> Call | None:
    """Read a call of a known aggregate; None for any other node."""
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
    if call.distinct and call.name in ("count_if", *_CHOSEN):
        raise Unproven(f"{call.name.upper()} of distinct values")
    if call.condition is not None and call.name in _CHOSEN:
        raise Unproven(f"{call.name.upper()} with FILTER")
    if call.distinct:
        values = [zero_made_plain(v) for v in values]
    return _RULES[call.name](call.name, values, called)


def zero_made_plain(value: Value) -> Value:
    """Add 0 to a float or double: Spark groups -0.0 and 0.0 together."""
    if value.type is None or value.type.name not in _FRACTIONS:
        return value
    zero = cast_to(number(0), value.type)
    return Value(DuckText(this="$1 + $2", expressions=[value.node, zero]), value.type, value.may_fail)


def where_holds(condition: Value, value: Value) -> Value:
    """A value that is null where FILTER drops the row: all aggregates here skip nulls."""
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
    if type_.name == "decimal":
        wide = DataType("decimal", min(38, type_.precision + 10), type_.scale)
        return Value(cast_to(_decimal_sum(value, type_, called), wide), wide, value.may_fail)
    raise Unproven(f"SUM of {type_}")


def _average(name: str, values: Sequence[Value], called: Called) -> Value:
    value, type_ = _only(name, values)
    count = called("count", [value.node.copy()])
    if type_.is_integer or type_.name in _FRACTIONS:
        total = called("sum", [_as_double(value)])
        return Value(DuckText(this=_MEAN, expressions=[total, count]), DOUBLE, value.may_fail)
    if type_.name == "decimal":
        return Value(_decimal_mean(value, type_, called), _mean_type(type_), value.may_fail)
    raise Unproven(f"AVG of {type_}")


def _decimal_sum(value: Value, type_: DataType, called: Called) -> exp.Expr:
    """A sum in DuckDB's widest decimal; fails where a partial sum of Spark's might overflow."""
    total = called("sum", [value.node])
    if (value.width or type_.precision) <= _EXACT_SUM:
        return total
    size = called("sum", [DuckText(this="abs($1)", expressions=[value.node.copy()])])
    most = "9" * (38 - type_.scale) + "." + "9" * type_.scale
    text = _CHECKED_SUM.replace("$most", most).replace("$scale", str(type_.scale))
    wide = DataType("decimal", 38, type_.scale)
    checked = DuckText(this=text.replace("$only_spark", only_spark(_TOO_GREAT, wide)), expressions=[total, size])
    return guarded(checked, _TOO_GREAT)


def _mean_type(type_: DataType) -> DataType:
    return DataType("decimal", min(38, type_.precision + 4), min(38, type_.scale + 4))


def _decimal_mean(value: Value, type_: DataType, called: Called) -> exp.Expr:
    """A mean rounded as Spark rounds it; fails where the scaled sum overflows."""
    mean, wide = _mean_type(type_), DataType("decimal", 38, type_.scale)
    if mean.scale > _LONGEST_MEAN:
        raise Unproven(f"AVG of {type_}")
    words = {"$top": unscaled("$1", wide), "$shift": 10 ** (mean.scale - type_.scale)}
    words |= {"$scale": mean.scale, "$unit": unit(mean.scale)}
    text = _DECIMAL_MEAN
    for word, given in words.items():
        text = text.replace(word, str(given))
    total, count = _decimal_sum(value, type_, called), called("count", [value.node.copy()])
    node = cast_to(DuckText(this=text, expressions=[total, count]), mean)
    return guarded(node, _TOO_GREAT) if type_.precision > _EXACT_MEAN else node


_EXACT_MEAN = 24
"""With longer decimals, a sum scaled by four more digits may not fit a HUGEINT."""
_LONGEST_MEAN = 20
"""Spark rounds a mean twice, first to 39 decimal places; up to this scale that changes nothing."""


def _spread(name: str, values: Sequence[Value], called: Called) -> Value:
    """stddev and variance, by our own function over all values of a group."""
    value, type_ = _only(name, values)
    if not type_.is_number or type_.name == "decimal":
        raise Unproven(f"{name.upper()} of {type_}")
    listed = called("list", [_as_double(value)])
    return Value(DuckText(this=f"{_SPREADS[name]}($1)", expressions=[listed]), DOUBLE, value.may_fail)


_SPREADS = {
    **dict.fromkeys(("stddev", "stddev_samp", "std"), "spark_stddev_samp"),
    **dict.fromkeys(("variance", "var_samp"), "spark_var_samp"),
    "stddev_pop": "spark_stddev_pop",
    "var_pop": "spark_var_pop",
}


def _of_one(fits: Callable[[DataType], bool] = lambda _: True, duck: str | None = None) -> Rule:
    """An aggregate that returns the type it takes; first, last and any_value by the order in which rows are read."""

    def rule(name: str, values: Sequence[Value], called: Called) -> Value:
        value, type_ = _only(name, values)
        if not fits(type_):
            raise Unproven(f"{name.upper()} of {type_}")
        return Value(called(duck or name, [value.node]), type_, value.may_fail)

    return rule


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


_RULES: dict[str, Rule] = {
    "count": _count,
    "sum": _sum,
    **dict.fromkeys(("avg", "mean"), _average),
    **dict.fromkeys(("min", "max"), _of_one()),
    **dict.fromkeys(("bool_and", "every"), _of_one(lambda type_: type_ == BOOLEAN, "bool_and")),
    **dict.fromkeys(("bool_or", "some", "any"), _of_one(lambda type_: type_ == BOOLEAN, "bool_or")),
    "count_if": _count_if,
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _of_one(lambda type_: type_.is_integer)),
    **{name: _of_one(duck=duck) for name, duck in _CHOSEN.items()},
    **dict.fromkeys(_SPREADS, _spread),
}
AGGREGATES = frozenset(_RULES)
SPREADS = frozenset(_SPREADS)
