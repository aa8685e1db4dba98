"""The input and output of a merge of rows: a table at base, ours and theirs, and the resulting statements.

The base is one commit, or several that a criss-cross left, merged into a virtual one. Cells and rows that these
disagree on are unknown: equal to nothing on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from anabranch.catalog import history, paths
from anabranch.catalog.store import Connection
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.layers import chained
from anabranch.model.objects import Layer, NewObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement, ThingDraft, draft_state
from anabranch.plan.merge.things import ThingMerge
from anabranch.queries.three_way import Decision
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schemas_for
from anabranch.repo.merge.sides import Ancestor, Gathered, SideReader
from anabranch.repo.write.write import Pending


@dataclass(frozen=True)
class Times:
    """When objects were first committed, and when both heads were, for changes that no object shows."""

    objects: Mapping[ObjectId, int]
    """An object not among them is made by this merge, and newer than all others."""
    ours: int
    theirs: int

    def ranks(self) -> dict[int, int]:
        """The rank of each time, from 1."""
        return {when: n for n, when in enumerate(sorted({*self.objects.values(), self.ours, self.theirs}), 1)}


@dataclass(frozen=True)
class Sides:
    """A table at base, ours and theirs, and the changes from the base to each."""

    base: BaseRows
    ours: TableState
    theirs: TableState
    to_ours: tuple[Layer, ...] | None
    """None if the states must be compared."""
    to_theirs: tuple[Layer, ...] | None
    pending: Mapping[ObjectId, bytes] = field(default_factory=dict)
    times: Times | None = None
    """Commit times, if a rule asks for them."""

    @property
    def by_changes(self) -> bool:
        return self.to_ours is not None and self.to_theirs is not None

    @property
    def paths(self) -> Sequence[Layer]:
        return chained(self.to_ours or (), self.to_theirs or (), self.base.layers)

    @property
    def states(self) -> tuple[TableState, ...]:
        return (self.ours, self.theirs, *self.base.states)


def read_sides(
    ctx: Context, cx: Connection, gathered: Gathered, draft: ThingDraft, thing: ThingMerge, pending: Pending
) -> Sides:
    """Read the sides of a table. Each state knows the schemas of all objects."""
    assert thing.ours is not None
    assert thing.theirs is not None
    schema = draft.table_schema
    ours = draft_state(replace(draft, schema=thing.ours.schema))
    theirs = gathered.theirs.table(thing.theirs)
    ids = {*thing.ours.ids, *thing.theirs.ids, *(thing.base.ids if thing.base else ())}
    base = rows_at(gathered.ancestor, ids, replace(theirs, layers=(), row_count=0))
    to_ours, to_theirs = gathered.ours.layers(ids), gathered.theirs.layers(ids)
    if gathered.backward and shows_again(thing):
        to_theirs = None  # A dropped column's values are in no change, so the states are compared.
    layers = (*(to_ours or ()), *(to_theirs or ()), *base.layers)
    shared = {**schemas_for(ctx, cx, layers, ours, theirs, *base.states), str(schema.id): schema}
    ours, theirs = (replace(s, schemas=shared) for s in (ours, theirs))
    made = Sides(base.knowing(shared), ours, theirs, to_ours, to_theirs, pending)
    asked = thing.rows is not None and thing.rows.goes_by_time
    return replace(made, times=_times(cx, gathered, made)) if asked else made


def _times(cx: Connection, gathered: Gathered, sides: Sides) -> Times:
    """When the objects on both paths were committed, for rules that ask which side is newer."""
    objects = sorted({x.object.id for x in (*(sides.to_ours or ()), *(sides.to_theirs or ()))})
    ours, theirs = (history.known_head(cx, r.clock.head).finished_at for r in (gathered.ours, gathered.theirs))
    return Times(paths.times_of(cx, objects), ours, theirs)


def shows_again(thing: ThingMerge) -> bool:
    """Whether theirs shows a column that the base does not."""
    if thing.base is None or thing.base.schema is None or thing.theirs is None or thing.theirs.schema is None:
        return False
    return any(thing.base.schema.written_as(c) is None for c in thing.theirs.schema)


@dataclass(frozen=True)
class MergedRows:
    """What a merge makes of a table's rows; no commit links it yet."""

    statements: tuple[Statement, ...] = ()
    """Steps on top of ours, in order; objects of theirs among them are linked."""
    exceptions: NewObject | None = None
    """What the rows that both sides touched became, relative to theirs."""
    by_changes: bool = True
    """Whether the changes tell the difference to theirs, so that it can be referred to."""
    conflicts: pa.Table | None = None
    """The decided rows in conflict."""
    has_whole_conflicts: bool = True
    """Whether these rows hold every value, not only those of the cells in conflict."""
    decision: Decision | None = None
    made: tuple[NewObject, ...] = ()
    replaced: bool = False
    """Whether the statement holds all rows, because the key differs from ours: nothing written before stays."""


@dataclass(frozen=True)
class Used:
    """What a side really did with columns since the base."""

    updated: tuple[Column, ...] = ()
    """Columns with a new value in some row that the base has, too."""
    filled: tuple[Column, ...] = ()
    """Columns with a value in some row that the base lacks."""


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
