"""Window functions that DuckDB computes as Spark does, and ORDER BY."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.aggregates import INT, SPREADS, Call, aggregated, call_of, zero_made_plain
from anabranch.proven.scope import check_parts
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import DOUBLE
from anabranch.queries.query import cast_to, number


class Visitor(Protocol):
    """Translates the parts of a window function."""

    def visit(self, node: exp.Expr) -> Value: ...


_PARTS = frozenset(("this", "partition_by", "order", "spec", "alias", "over"))
_RANKS = {"row_number": INT, "rank": INT, "dense_rank": INT, "percent_rank": DOUBLE, "cume_dist": DOUBLE}


def windowed(node: exp.Expr, terms: Visitor, named: Mapping[str, exp.Expr]) -> Value:
    """Translate a window function."""
    check_parts(node, _PARTS)
    window = _window(node, named)
    partition = [zero_made_plain(terms.visit(p)).node for p in window.args.get("partition_by") or []]
    order = window.args.get("order")
    sorted_by = [ordered(o, terms.visit(o.this)) for o in order.expressions] if order else []
    spec = _frame(window.args.get("spec"))

    def over(call: exp.Expr) -> exp.Expr:
        parts = [p.copy() for p in partition]
        orders = exp.Order(expressions=[o.copy() for o in sorted_by]) if sorted_by else None
        return exp.Window(this=call, partition_by=parts, order=orders, spec=spec.copy() if spec else None, over="OVER")

    call = call_of(node.this)
    if call is not None and call.name in SPREADS:
        raise Unproven(f"{call.name.upper()} over a window")
    if call is not None and call.name not in _VALUES:
        return _aggregate(call, terms, over, bool(sorted_by))
    if not isinstance(node.this, exp.Anonymous):
        raise Unproven(f"{node.this.key.upper()} over a window")
    name = str(node.this.this).lower()
    if not sorted_by:
        raise Unproven(f"{name.upper()} over a window without ORDER BY")
    if spec is not None and name not in _VALUES:
        raise Unproven(f"{name.upper()} over a window with a frame")
    return _function(name, node.this.expressions, terms, over)


def ordered(node: exp.Expr, value: Value) -> exp.Ordered:
    """A sort key; always says where nulls go, since the engines' defaults differ."""
    check_parts(node, frozenset(("this", "desc", "nulls_first")))
    if value.type is not None and not value.type.is_ordered:
        raise Unproven(f"ORDER BY a value of type {value.type}")
    nulls_first = bool(node.args.get("nulls_first"))
    return exp.Ordered(this=value.node, desc=bool(node.args.get("desc")), nulls_first=nulls_first)


def _window(node: exp.Expr, named: Mapping[str, exp.Expr]) -> exp.Expr:
    name = node.args.get("alias")
    if name is None:
        return node
    found = named.get(str(name.name).lower())
    if found is None or any(node.args.get(p) for p in ("partition_by", "order", "spec")):
        raise Unproven(f"the window {name.name}")
    check_parts(found, _PARTS)
    if found.args.get("alias"):
        raise Unproven("a window that is named by another one")
    return found


def _frame(spec: exp.Expr | None) -> exp.Expr | None:
    """Check a frame: a number of rows, or everything, before and after."""
    if spec is None:
        return None
    check_parts(spec, frozenset(("kind", "start", "start_side", "end", "end_side")))
    start = _edge(spec.args.get("start"), spec.args.get("start_side"), str(spec.args["kind"]))
    end = _edge(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), str(spec.args["kind"]))
    if start > end or start == _FAR or end == -_FAR:
        raise Unproven("a window's frame that ends before it starts")
    return spec


_FAR = float("inf")


def _edge(edge: exp.Expr | str | None, side: str | None, kind: str) -> float:
    if edge == "CURRENT ROW":
        return 0
    sign = -1 if side == "PRECEDING" else 1
    if edge == "UNBOUNDED":
        return sign * _FAR
    if kind == "ROWS" and isinstance(edge, exp.Literal) and str(edge.this).isdigit() and len(str(edge.this)) < 9:
        return sign * int(edge.this)
    raise Unproven(f"a frame of {kind} that is counted by anything but a number of rows")


def _aggregate(call: Call, terms: Visitor, over: Callable[[exp.Expr], exp.Expr], in_order: bool) -> Value:
    if call.distinct or call.condition is not None:
        raise Unproven(f"{call.name.upper()} over a window, with DISTINCT or FILTER")
    star = [type(a) for a in call.arguments] == [exp.Star] and call.name == "count"
    values = [Value(number(1), None)] if star else [terms.visit(a) for a in call.arguments]
    types = [v.type for v in values if v.type is not None]
    inexact = call.name in ("avg", "mean") and any(t.name == "bigint" for t in types)
    if in_order and call.name in ("sum", "avg", "mean") and (inexact or any(t.name in _ROUNDED for t in types)):
        raise Unproven(f"{call.name.upper()} of {types[0]} over a window with ORDER BY, whose roundings differ")
    return aggregated(call, values, lambda name, nodes: over(exp.Anonymous(this=name, expressions=list(nodes))))


_ROUNDED = ("float", "double")


def _function(name: str, arguments: Sequence[exp.Expr], terms: Visitor, over: Callable[[exp.Expr], exp.Expr]) -> Value:
    if name in _RANKS and not arguments:
        node = over(exp.Anonymous(this=name))
        return Value(cast_to(node, _RANKS[name]), _RANKS[name])
    if name == "ntile" and len(arguments) == 1:
        count = number(_count(name, arguments[0], 1))
        return Value(cast_to(over(exp.Anonymous(this=name, expressions=[count])), INT), INT)
    if name in ("lag", "lead") and 1 <= len(arguments) <= 3:
        return _shifted(name, arguments, terms, over)
    if name in _VALUES and len(arguments) == 1 + (name == "nth_value"):
        value = terms.visit(arguments[0])
        extra = [number(_count(name, arguments[1], 1))] if name == "nth_value" else []
        call = exp.Anonymous(this=_VALUES[name], expressions=[value.node, *extra])
        return Value(over(call), _typed(name, value), value.may_fail)
    raise Unproven(f"{name.upper()} over a window, with {len(arguments)} arguments")


_VALUES = {
    **dict.fromkeys(("first_value", "first"), "first_value"),
    **dict.fromkeys(("last_value", "last"), "last_value"),
    "nth_value": "nth_value",
}


def _shifted(name: str, arguments: Sequence[exp.Expr], terms: Visitor, over: Callable[[exp.Expr], exp.Expr]) -> Value:
    """lag and lead: the value so many rows away, or a default where there is no such row."""
    value = terms.visit(arguments[0])
    type_ = _typed(name, value)
    count = _count(name, arguments[1], 0) if len(arguments) > 1 else 1
    given = [value.node, number(count)]
    if len(arguments) == 3:
        default = terms.visit(arguments[2])
        if default.type not in (type_, None) or default.may_fail:
            raise Unproven(f"{name.upper()} with a default of another type, or that may fail")
        given.append(default.node)
    return Value(over(exp.Anonymous(this=name, expressions=given)), type_, value.may_fail)


def _typed(name: str, value: Value) -> DataType:
    if value.type is None:
        raise Unproven(f"{name.upper()} of null")
    return value.type


def _count(name: str, node: exp.Expr, least: int) -> int:
    text = str(node.this) if isinstance(node, exp.Literal) else ""
    if text.isdigit() and least <= int(text) < 1_000_000_000:
        return int(text)
    raise Unproven(f"{name.upper()} with anything but a plain number of rows")
