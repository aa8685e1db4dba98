"""The order in which provenance is listed: nearest first, each commit once, after everything made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def nearest_first(start: str, edges: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Sort what a commit reaches by the longest path to it, so that a commit comes after all made from it.

    A cycle, which only a forged store can have, is listed once.
    """
    depth: dict[str, int] = {start: 0}
    order: list[str] = []
    for found in _post_order(start, edges):
        order.append(found)
    for found in reversed(order):
        for below in edges.get(found, ()):
            if below != start:
                depth[below] = max(depth.get(below, 0), depth[found] + 1)
    ranked = [(name, depth[name]) for name in reversed(order) if name != start]
    return sorted(ranked, key=lambda item: item[1])


def _post_order(start: str, edges: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """Each commit after all that it was made from."""
    seen = {start}
    stack: list[tuple[str, list[str]]] = [(start, list(edges.get(start, ())))]
    while stack:
        name, left = stack[-1]
        if left:
            below = left.pop()  # last first: the list is read backwards later
            if below not in seen:
                seen.add(below)
                stack.append((below, list(edges.get(below, ()))))
        else:
            yield name
            stack.pop()
