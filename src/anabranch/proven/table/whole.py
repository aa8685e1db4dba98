"""The whole table of what is proven, by name."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.proven.table.casts import CASTS
from anabranch.proven.table.dates import DATES, INTERVALS
from anabranch.proven.table.decimals import DECIMALS
from anabranch.proven.table.numbers import CHOICES, NUMBERS
from anabranch.proven.table.operators import ARITHMETIC, BITS, COMPARISONS
from anabranch.proven.table.row import Proof
from anabranch.proven.table.strings import STRINGS
from anabranch.proven.table.syntax import CONSTRUCTS


def _by_name(rows: list[Proof]) -> Mapping[str, tuple[Proof, ...]]:
    found: dict[str, list[Proof]] = {}
    for row in rows:
        for name in row.names:
            found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


FAMILIES: Mapping[str, list[Proof]] = {
    "Comparisons": COMPARISONS,
    "Arithmetic": [*ARITHMETIC, *DECIMALS],
    "Bits": BITS,
    "Numbers": NUMBERS,
    "Choices": CHOICES,
    "Strings and bytes": STRINGS,
    "Dates": DATES,
    "Intervals": INTERVALS,
}
FUNCTIONS = _by_name([row for rows in FAMILIES.values() for row in rows])
"""Functions and operators."""
CAST_ROWS = {(row.takes[0], str(row.gives)): row for row in CASTS}
"""Casts by the names of both types."""


def names_proven() -> list[str]:
    """Everything that is proven, without aliases and kinds of arguments."""
    functions = dict.fromkeys(row.names[0] for rows in FAMILIES.values() for row in rows)
    return [*functions, *CONSTRUCTS, *(f"cast({source} AS {target})" for source, target in CAST_ROWS)]
