"""ROLLUP, CUBE and GROUPING SETS as a list of groupings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

from sqlglot import exp

from anabranch.proven.table.row import Unproven

_KINDS = {"rollup": exp.Rollup, "cube": exp.Cube, "grouping_sets": exp.GroupingSets}
_MOST = 64


def grouping_sets(group: exp.Expr) -> list[list[exp.Expr]] | None:
    """The groupings that GROUP BY asks for; None if it is a plain one."""
    after = [(name, node) for name in _KINDS for node in group.args.get(name) or []]
    if after:
        return _after(group, *after)
    if not any(isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets)) for node in group.expressions):
        return None
    ways = [_ways(node) for node in group.expressions]
    found = [[node for part in chosen for node in part] for chosen in product(*ways)]
    if len(found) > _MOST:
        raise Unproven(f"{len(found)} groupings at once")
    return found


def _after(group: exp.Expr, *more: tuple[str, exp.Expr]) -> list[list[exp.Expr]]:
    """GROUP BY a, b WITH ROLLUP."""
    (name, node), *others = more
    if others or name == "grouping_sets":
        raise Unproven("GROUPING SETS after a list")
    return _ways(type(node)(expressions=group.expressions))


def _ways(node: exp.Expr) -> list[list[exp.Expr]]:
    """The groupings that one item stands for."""
    if isinstance(node, exp.Rollup):
        parts = [_listed(part) for part in node.expressions]
        return [_joined(parts[:count]) for count in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_listed(part) for part in node.expressions]
        return [_joined(some) for count in range(len(parts), -1, -1) for some in combinations(parts, count)]
    if isinstance(node, exp.GroupingSets):
        if any(isinstance(part, (exp.Rollup, exp.Cube, exp.GroupingSets)) for part in node.expressions):
            raise Unproven("GROUPING SETS of others")
        return [_listed(part) for part in node.expressions]
    return [[node]]


def _listed(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node.unnest()]


def _joined(parts: Sequence[list[exp.Expr]]) -> list[exp.Expr]:
    return [node for part in parts for node in part]
