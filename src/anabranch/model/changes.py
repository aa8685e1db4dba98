"""Counts of what a write did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """How many rows a write touched; rows that stayed the same are not counted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def rows(self) -> int:
        return self.inserted + self.updated + self.deleted

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.inserted + other.inserted, self.updated + other.updated, self.deleted + other.deleted)

    def __str__(self) -> str:
        return f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted"


@dataclass(frozen=True)
class Optimized:
    """What `optimize` did to a table; nothing is written where it would not pay."""

    table: str
    view: str | None
    """The kind of view that was written: a snapshot if files were rewritten, else a fold; None for nothing."""
    kept: int
    """Files of rows that were kept as they are."""
    rewritten: int
    written: int
    """Files of rows that took their place."""
    rows: int
    """Rows in the files that were written."""
    objects_before: int
    objects_after: int
    size_bytes_before: int
    size_bytes_after: int
