"""Leaves out of inner queries what no outer one asks for, so that tables need not be read for it."""

from __future__ import annotations

from sqlglot import exp


def prune(whole: exp.Query) -> None:
    """Drop columns of inner queries that nothing names; names of columns are unique in a proven query."""
    while True:
        named = {node.name for node in whole.find_all(exp.Column)}
        if not sum(_drop(query, named) for query in whole.find_all(exp.Select) if _is_table(query)):
            return


def _is_table(query: exp.Expr) -> bool:
    """Tell whether a query is selected from by the names of its columns only: not by their places, or by whole rows."""
    parent = query.parent
    by_place = query.args.get("distinct") or query.args.get("order")
    return not by_place and isinstance(parent, (exp.CTE, exp.Subquery)) and bool(parent.args.get("alias"))


def _drop(query: exp.Select, named: set[str]) -> bool:
    # What rows are grouped by comes first, and stays: GROUP BY tells it by its place.
    group = query.args.get("group")
    keys = sum(len(part.expressions) or 1 for part in group.expressions) if group is not None else 0
    kept = [c for n, c in enumerate(query.expressions) if n < keys or c.alias in named] or query.expressions[:1]
    dropped = len(kept) < len(query.expressions)
    if dropped:
        query.set("expressions", kept)
    return dropped
