"""The input and output of a merge of rows: a table at base, ours and theirs, and the resulting statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from anabranch.model.ids import ObjectId
from anabranch.model.layers import chained
from anabranch.model.objects import Layer, NewObject
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.queries.three_way import Decision
from anabranch.repo.merge.merge_base import BaseRows


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
