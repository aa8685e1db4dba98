"""Draws a history beside its text, as `git log --graph` does; pure.

Each column waits for a commit. A commit ends the columns that wait for it, and opens one per parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

Edges = Mapping[str, Sequence[str]]
"""The parents of each commit, by hash."""


@dataclass(frozen=True)
class GraphRows:
    """The rows of the graph for one commit, and the row that continues below it."""

    rows: tuple[str, ...]
    below: str
    width: int = 0
    """The width of the commit and its parents: where its text begins, as in git."""

    def with_text(self, text: Sequence[str]) -> Iterator[str]:
        """Put text beside the rows; longer text continues beside the open columns."""
        rows = [*self.rows, *[self.below] * (len(text) - len(self.rows))]
        width = max([self.width, *map(len, rows[: len(text)])])
        for row, line in zip_longest(rows, text, fillvalue=""):
            yield f"{row.ljust(width)} {line}".rstrip()


def draw(commits: Sequence[str], edges: Edges) -> Iterator[GraphRows]:
    """Draw commits, children before parents."""
    columns: list[str] = []
    for commit in commits:
        if commit not in columns:
            columns.append(commit)
        at = columns.index(commit)
        node = " ".join("*" if i == at else "|" for i in range(len(columns)))
        after = _after(columns, at, edges.get(commit, ()))
        rows = _moves(_steps(columns, at, edges.get(commit, ()), after))
        width = 2 * (len(columns) + max(len(edges.get(commit, ())), 1) - 1) - 1
        yield GraphRows((node, *rows), " ".join("|" for _ in after), width)
        columns = after


def simplify(parents: Edges, shown: set[str]) -> dict[str, list[str]]:
    """Redirect each edge to the nearest commits that are shown; `parents` lists children before parents."""
    nearest: dict[str, list[str]] = {}
    for commit in reversed(list(parents)):
        found = [p for parent in parents[commit] for p in ([parent] if parent in shown else nearest.get(parent, []))]
        nearest[commit] = list(dict.fromkeys(found))
    return {commit: nearest[commit] for commit in parents if commit in shown}


def _after(columns: Sequence[str], at: int, parents: Sequence[str]) -> list[str]:
    """The columns below a commit: its parents take its place, unless a column already waits for them."""
    others = {column for i, column in enumerate(columns) if i != at}
    return [*columns[:at], *(p for p in dict.fromkeys(parents) if p not in others), *columns[at + 1 :]]


def _steps(columns: Sequence[str], at: int, parents: Sequence[str], after: Sequence[str]) -> set[tuple[int, int]]:
    """Which column each line goes from and to."""
    kept = {(i, after.index(column)) for i, column in enumerate(columns) if i != at}
    return kept | {(at, after.index(parent)) for parent in parents}


def _moves(steps: set[tuple[int, int]]) -> list[str]:
    """Rows that lead each line to its column, one column per row."""
    rows = []
    while any(start != end for start, end in steps):
        rows.append(_row(steps))
        steps = {(start + _sign(end - start), end) for start, end in steps}
    return rows


def _row(steps: set[tuple[int, int]]) -> str:
    cells: dict[int, str] = {}
    for start, end in steps:
        way = _sign(end - start)
        mark = "/|\\"[way + 1]
        place = 2 * start + way
        cells[place] = mark if cells.get(place, mark) == mark else "X"
    return "".join(cells.get(i, " ") for i in range(max(cells) + 1))


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
