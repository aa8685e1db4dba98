"""Drops columns of inner queries that no outer query needs, so that tables needn't be read for them."""

from __future__ import annotations

from sqlglot import exp


def prune(whole: exp.Query) -> None:
    """Drop columns of inner queries that nothing names; column names are unique in a proven query."""
    while True:
        named = {node.name for node in whole.find_all(exp.Column)}
        if not sum(_drop(query, named) for query in whole.find_all(exp.Select) if _is_table(query)):
            return


def _is_table(query: exp.Expr) -> bool:
    """Tell whether a query's columns are only used by name: not by position, nor as whole rows."""
    parent = query.parent
    by_place = query.args.get("distinct") or query.args.get("order")
    return not by_place and isinstance(parent, (exp.CTE, exp.Subquery)) and bool(parent.args.get("alias"))


def _drop(query: exp.Select, named: set[str]) -> bool:
    # The grouping keys come first and stay: GROUP BY refers to them by position.
    group = query.args.get("group")
    keys = sum(len(part.expressions) or 1 for part in group.expressions) if group is not None else 0
    kept = [c for n, c in enumerate(query.expressions) if n < keys or c.alias in named] or query.expressions[:1]
    dropped = len(kept) < len(query.expressions)
    if dropped:
        query.set("expressions", kept)
    return dropped
