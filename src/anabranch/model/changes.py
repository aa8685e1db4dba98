"""What writing did, in numbers."""

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
