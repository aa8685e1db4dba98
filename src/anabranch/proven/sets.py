"""UNION, INTERSECT and EXCEPT, with both sides cast to common types."""

from __future__ import annotations

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.aggregates import zero_made_plain
from anabranch.proven.scope import Derived, Scope, Surroundings, check_parts
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import KNOWN, common_type
from anabranch.proven.terms import Outer, Terms
from anabranch.queries.query import aliased, col, select, subquery

_PARTS = frozenset(("this", "expression", "distinct", "order", "limit", "offset", "with_"))


def united(node: exp.SetOperation, around: Surroundings, outer: Outer | None) -> Derived:
    """Prove a set operation, leaving out its order and limits."""
    check_parts(node, _PARTS)
    asked = len(outer.asked) if outer else 0
    left, right = (around.prove(node.args[part], around, outer) for part in ("this", "expression"))
    if outer and len(outer.asked) > asked:
        raise Unproven(f"{node.key.upper()} in a correlated subquery")
    if len(left.columns) != len(right.columns):
        raise Unproven(f"{node.key.upper()} of queries with different numbers of columns")
    types = [_common(one, other) for (_, _, one), (_, _, other) in zip(left.columns, right.columns, strict=True)]
    plain = isinstance(node, exp.Union) and not node.args.get("distinct")
    if not plain and any(t is not None and t.name not in KNOWN for t in types):
        raise Unproven(f"{node.key.upper()} over a nested column")
    sides = [exp.Subquery(this=_brought(side, types, around, plain)) for side in (left, right)]
    whole = type(node)(this=sides[0], expression=sides[1], distinct=bool(node.args.get("distinct")))
    columns = tuple((n, inner, t) for (n, inner, _), t in zip(left.columns, types, strict=True))
    return Derived(whole, columns)


def _common(one: DataType | None, other: DataType | None) -> DataType | None:
    if one is None or other is None:
        return one or other
    return common_type(one, other)


def _brought(side: Derived, types: list[DataType | None], around: Surroundings, plain: bool) -> exp.Query:
    """One side, cast to the common types; if rows are compared, -0.0 becomes 0.0."""
    alias = around.ledger.name("q")
    terms = Terms.over(Scope(), around, None)
    nodes, changed = [], False
    for (_, name, type_), wanted in zip(side.columns, types, strict=True):
        value = Value(col(name, alias), type_)
        brought = terms.convert(value, wanted) if wanted is not None else value
        brought = brought if plain else zero_made_plain(brought)
        changed |= brought is not value
        nodes.append(aliased(brought.node, name))
    return select(nodes, subquery(side.expression, alias)) if changed else side.expression
