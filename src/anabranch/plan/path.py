"""The path from a commit to a descendant: along first parents, and into merges from their further parents."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import Corrupt
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId
from anabranch.plan.history import Edge, ForkReader, is_ancestor


@dataclass(frozen=True)
class Stretch:
    """Commits that follow one another by first parents: (line, low, high), oldest first."""

    ranges: tuple[tuple[LineId, int, int], ...]


@dataclass(frozen=True)
class Crossing:
    """A merge commit that is entered from its further parent of this number, and its first parent."""

    merge: Position
    number: int
    first_parent: Position


Leg = Stretch | Crossing


def find_path(reader: ForkReader, base: Position, tip: Position) -> tuple[Leg, ...]:
    """Find a path from a commit to a descendant, oldest leg first. All paths between them yield the same change."""
    legs: list[Leg] = []
    taken: set[Edge] = set()
    oldest = reader.generation(base)
    clock = reader.clock(tip)
    while not clock.holds(base):
        # The oldest merge that brought the base in: from there on, first parents lead to the tip.
        edge = next((e for e in reader.edges(clock, oldest) if is_ancestor(reader, base, e.parent)), None)
        first = reader.clock(edge.merge).back(1) if edge else None
        if edge is None or first is None or edge in taken:
            message = f"no way leads from commit {base} to {tip}, which comes after it"
            raise Corrupt(message, hint="restore the catalogue from a backup")
        taken.add(edge)
        legs = [Crossing(edge.merge, edge.number, first), *_stretch(clock, edge.merge), *legs]
        clock = reader.clock(edge.parent)
    return (*_stretch(clock, base), *legs)


def _stretch(clock: Clock, base: Position) -> list[Leg]:
    ranges = clock.since(base)
    return [Stretch(ranges)] if ranges else []
