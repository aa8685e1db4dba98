"""What nothing needs any more: what gc looks for, and what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from anabranch.model.clock import Position
from anabranch.model.ids import LineId, ThingId, ViewId
from anabranch.model.objects import StoredObject, ViewKind

Kind = Literal["commits", "views", "objects", "files", "copies"]


@dataclass(frozen=True)
class Garbage:
    """How much there was of one kind."""

    kind: Kind
    """`commits` that nothing reaches, superseded `views`, `objects` that nothing linked before, `files` that the
    catalogue does not know, `copies` that killed readers left."""
    count: int
    """How many are gone."""
    size_bytes: int
    """What that freed."""
    later_bytes: int = 0
    """What it will free when nobody can read it any more: after the time of grace."""


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
    """How long things are kept that nothing needs."""

    grace: timedelta
    """Files and objects, since nothing names or links them: as long as somebody may still read or write them."""
    reflog: timedelta
    """Commits, since a branch left them."""
    views: timedelta | int
    """Views that no ref reads: by age, or so many of each table on each line."""


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
    """Published with its commit: reading can always begin there, and its objects are the commit's change."""


@dataclass(frozen=True)
class Doomed:
    """The rows that gc takes out of the catalogue."""

    commits: Mapping[LineId, range] = field(default_factory=dict)
    """The end of each line that nothing reaches."""
    views: frozenset[ViewId] = frozenset()

    @property
    def commit_count(self) -> int:
        return sum(len(gone) for gone in self.commits.values())


@dataclass(frozen=True)
class Loose:
    """An object that nothing links, or that nothing will link when the doomed rows are gone."""

    object: StoredObject
    kind: Kind
    """Why: its commit goes, its view goes, or it was so before."""
    since: int
    """When it was linked last, as far as is known."""
