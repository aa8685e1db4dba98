"""Names of the columns of folded changes, besides those of the table."""

from __future__ import annotations

from anabranch.model.schema import Column

GONE = "_ana_gone"


def turn_of(column: Column) -> str:
    """The column with the turn of a cell's last value."""
    return f"{column.id}_t"
