"""Garbage: what gc looks for, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from anabranch.model.clock import Position
from anabranch.model.ids import LineId, ObjectId, ThingId, ViewId
from anabranch.model.objects import StoredObject, ViewKind

Kind = Literal["commits", "views", "objects", "files", "copies"]


@dataclass(frozen=True)
class Garbage:
    """How much garbage of one kind there was."""

    kind: Kind
    """`commits` that nothing reaches, `views` that are superseded or go with their commit, `objects` that already had
    no link, `files` that the catalogue does not know, `copies` that killed readers left."""
    count: int
    """How many were removed."""
    size_bytes: int
    """Bytes that this freed."""
    later_bytes: int = 0
    """Bytes that will be freed after the time of grace, when nobody can be reading them."""


@dataclass(frozen=True)
class Collected:
    """What gc removed, or would remove."""

    garbage: tuple[Garbage, ...]
    dry_run: bool
    notes: tuple[str, ...] = ()
    """What it left alone, and why."""

    @property
    def size_bytes(self) -> int:
        return sum(g.size_bytes for g in self.garbage)

    @property
    def later_bytes(self) -> int:
        return sum(g.later_bytes for g in self.garbage)

    def __getitem__(self, kind: str) -> Garbage:
        return next(g for g in self.garbage if g.kind == kind)


@dataclass(frozen=True)
class Ages:
    """How long things that nothing needs are kept."""

    grace: timedelta
    """For files and objects that nothing names or links: somebody may still be reading or writing them."""
    reflog: timedelta
    """For commits, since a branch moved away from them."""
    views: timedelta | int
    """For views that no ref reads: an age, or how many to keep per table and line."""


@dataclass(frozen=True)
class ViewRecord:
    """A view as the catalogue keeps it."""

    id: ViewId
    thing_id: ThingId
    kind: ViewKind
    at: Position
    since: Position | None
    created_at: int
    is_first: bool
    """Whether it was published with its commit: reads can start there, and its objects are the commit's change."""


@dataclass(frozen=True)
class Doomed:
    """The rows that gc takes out of the catalogue."""

    commits: Mapping[LineId, range] = field(default_factory=dict)
    """The part at the end of each line that nothing reaches."""
    views: frozenset[ViewId] = frozenset()
    objects: frozenset[ObjectId] = frozenset()

    @property
    def commit_count(self) -> int:
        return sum(len(gone) for gone in self.commits.values())


@dataclass(frozen=True)
class Loose:
    """An object that nothing links, or that nothing will link when the doomed rows are gone."""

    object: StoredObject
    kind: Kind
    """Why: its commit goes, its view goes, or it was loose before."""
    since: int
    """When it was linked last, as far as is known."""
