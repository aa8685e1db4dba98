"""Polycat's conflict matrices as data: what the source did (rows) against what the destination did (columns)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["none", "conflict", "maybe"]


@dataclass(frozen=True)
class Cell:
    """What happens if two operations meet: nothing, a conflict, or a conflict if the note says so."""

    verdict: Verdict
    note: str | None = None
    """The note of the seed that gives details."""
    is_empty: bool = False
    """Whether the seed leaves the cell open: no conflict, the source wins."""


@dataclass(frozen=True)
class MetOperation:
    """An operation of the source that met one of the destination."""

    source: str
    destination: str
    cell: Cell


Matrix = Mapping[tuple[str, str], Cell]

NOTES = {
    "A1": "update and delete of the same rows conflict",
    "A2": "two deletes of the same rows are one",
    "A3": "two updates of the same rows conflict",
    "A4": "of the source's updates only those of rows that the source inserted are taken",
    "A5": "of the source's deletes only those of rows that the source inserted are taken",
    "A6": "a type that is wider at the destination conflicts, and a column there that may not be null and has no value",
    "D1": "unsetting the same property conflicts",
}
"""The seed speaks of files; we know the rows."""


def _read(text: str) -> Matrix:
    """Parse a drawn matrix: `ok` no conflict, `X` conflict, `?` a conflict on a condition, `-` left open."""
    head, *lines = [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]
    return {
        (line[0], there): _cell(described)
        for line in lines
        for there, described in zip(head[1:], line[1:], strict=True)
    }


def _cell(described: str) -> Cell:
    sign, _, note = described.partition(" ")
    verdicts: dict[str, Verdict] = {"ok": "none", "-": "none", "X": "conflict", "?": "maybe"}
    return Cell(verdicts[sign], note or None, sign == "-")


NAMESPACES = _read("""
source / destination | drop | alter name | set properties | unset properties
drop                 | ok   | ok         | ok             | ok
alter name           | X    | ok         | ok             | ok
set properties       | X    | ok         | ok             | ok
unset properties     | X    | ok         | ok             | ? D1
""")
"""Section 2.2 of the seed: databases that both sides have."""

# fmt: off
TABLES = _read("""
source / destination | drop | alter name | alter properties | alter column | alter partition | insert | delete | update | overwrite | compaction
drop                 | ok   | ok         | ok               | ok           | ok              | ok     | ok     | ok     | ok        | -
alter name           | X    | ok         | ok               | ok           | ok              | ok     | ok     | ok     | ok        | -
alter properties     | X    | ok         | -                | ok           | ok              | ok     | ok     | ok     | ok        | -
alter column         | X    | ok         | ok               | ? A6         | ok              | ok     | ok     | ok     | ok        | -
alter partition      | X    | ok         | ok               | ok           | -               | ok     | ok     | ok     | ok        | -
insert               | X    | ok         | ok               | ok           | ok              | ok     | ok     | ok     | ok        | -
delete               | X    | ok         | ok               | ok           | ok              | X      | ok A2  | ok     | ok A5     | -
update               | X    | ok         | ok               | ok           | ok              | X      | ? A1   | ? A3   | ok A4     | -
overwrite            | X    | ok         | ok               | ok           | ok              | ok     | ok     | ok     | ok        | -
compaction           | X    | ok         | ok               | ok           | ok              | -      | -      | -      | -         | -
""")  # noqa: E501
# fmt: on
"""Section 3.2.1 of the seed: tables that both sides have. Compaction is a view here, and never seen."""


def judge(matrix: Matrix, source: Iterable[str], destination: Iterable[str]) -> tuple[MetOperation, ...]:
    """List the pairs of operations whose cell says more than "no conflict", in the source's order."""
    there = dict.fromkeys(destination)
    pairs = ((s, d) for s in dict.fromkeys(source) for d in there if (s, d) in matrix)
    found = (MetOperation(s, d, matrix[s, d]) for s, d in pairs)
    return tuple(m for m in found if m.cell.verdict != "none" or m.cell.note)


def namespace_operations(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What was done to properties, in the matrix's words."""
    was_set = any(before.get(name) != value for name, value in after.items())
    return (*(("set properties",) if was_set else ()), *(("unset properties",) if before.keys() - after.keys() else ()))
