"""The whole table of what is proven, by name."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.queries.proven import Proof
from anabranch.queries.proven_casts import CASTS
from anabranch.queries.proven_decimals import DECIMALS
from anabranch.queries.proven_dates import DATES, INTERVALS
from anabranch.queries.proven_numbers import CHOICES, NUMBERS
from anabranch.queries.proven_operators import OPERATORS
from anabranch.queries.proven_strings import STRINGS


def _by_name(rows: list[Proof]) -> Mapping[str, tuple[Proof, ...]]:
    found: dict[str, list[Proof]] = {}
    for row in rows:
        for name in row.names:
            found.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


FUNCTIONS = _by_name([*OPERATORS, *DECIMALS, *NUMBERS, *CHOICES, *STRINGS, *DATES, *INTERVALS])
"""Functions and operators."""
CAST_ROWS = {(row.takes[0], str(row.gives)): row for row in CASTS}
"""Casts by the two types' names."""
