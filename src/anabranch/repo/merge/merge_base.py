"""The rows of a merge base: one commit, or several that a criss-cross left, merged into a virtual one.

Cells and rows that these disagree on are unknown: equal to nothing on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from anabranch.model.ids import ThingId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.repo.merge.sides import Ancestor, SideReader


@dataclass(frozen=True)
class BaseRows:
    """A table at the first commit of a base, and the commits joined with it."""

    first: TableState
    joined: tuple[JoinedRows, ...] = ()

    @property
    def states(self) -> Iterator[TableState]:
        """The table at every commit of the base."""
        yield self.first
        for other in self.joined:
            yield other.theirs
            yield from other.base.states

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The changes between these commits."""
        return tuple(x for other in self.joined for x in (*(other.path or ()), *other.base.layers))

    def has(self, column: Column) -> bool:
        """Whether the table has a column at any of these commits."""
        return any(state.schema.written_as(column) for state in self.states)

    def knowing(self, schemas: Mapping[str, Schema]) -> BaseRows:
        """The same rows, with the schemas of all objects to be read."""
        joined = (JoinedRows(o.base.knowing(schemas), replace(o.theirs, schemas=schemas), o.path) for o in self.joined)
        return BaseRows(replace(self.first, schemas=schemas), tuple(joined))


@dataclass(frozen=True)
class JoinedRows:
    """A table at one more commit, at its common base with those before, and the changes between the two."""

    base: BaseRows
    theirs: TableState
    path: tuple[Layer, ...] | None
    """None if the states must be compared."""


def rows_at(ancestor: Ancestor, ids: Iterable[ThingId], empty: TableState) -> BaseRows:
    """A table at a base; empty where it doesn't exist."""
    wanted = sorted(set(ids))
    joined = (
        JoinedRows(rows_at(j.base, wanted, empty), _table(j.theirs, wanted, empty), j.theirs.layers(wanted))
        for j in ancestor.joined
    )
    return BaseRows(_table(ancestor.first, wanted, empty), tuple(joined))


def _table(reader: SideReader, ids: Iterable[ThingId], empty: TableState) -> TableState:
    there = next(iter(reader.states(ids).values()), None)
    return empty if there is None else reader.table(there)
