"""What a commit says: the values that publishing writes and that the commit's hash covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, CommitHead, Origin
from anabranch.model.ids import CommitId, ObjectId, RepositoryId, ThingId, ViewId
from anabranch.model.objects import NewObject, StoredObject, ViewKind
from anabranch.model.schema import Schema
from anabranch.model.tables import Entry, ThingKind


@dataclass(frozen=True)
class NameBinding:
    """What a name stands for from a commit on; None unbinds it."""

    parent_id: ThingId
    name: str
    kind: ThingKind
    thing_id: ThingId | None


@dataclass(frozen=True)
class Change:
    """The objects that hold the difference of a table to its first parent's."""

    thing_id: ThingId
    objects: tuple[ObjectId, ...]
    steps: tuple[int, ...] = ()
    """The step of each object; those of one step change a key once. Without any, it is one step."""


@dataclass(frozen=True)
class ChangeReference:
    """The difference to a further parent: the path from a base to the first parent, and an object of exceptions."""

    thing_id: ThingId
    parent_number: int
    base: Position | None
    """None: the changes do not say; states are compared."""
    exceptions: ObjectId | None


@dataclass(frozen=True)
class View:
    """A snapshot or fold of a table at the commit that is published with it."""

    id: ViewId
    thing_id: ThingId
    kind: ViewKind
    objects: tuple[ObjectId, ...]
    row_count: int
    turns: tuple[int, ...] = ()
    """The turn of each object; 0 for all where it is empty."""


@dataclass(frozen=True)
class LateView:
    """A view that is written after its commit was published; it serves all that is published on top."""

    id: ViewId
    thing_id: ThingId
    kind: ViewKind
    at: Position
    since: Position | None
    """Of a fold: the commit of the snapshot that it lies on."""
    links: tuple[tuple[int, ObjectId], ...]
    """Its objects with their turns; a fold's begin at 1, above all of the snapshot's."""
    row_count: int
    objects: tuple[NewObject, ...]
    """Those that are new."""
    described: Mapping[ObjectId, StoredObject]
    """What `links` name."""


@dataclass(frozen=True)
class Content:
    """All that a commit says, and the new schemas and objects that it brings."""

    entries: tuple[Entry, ...] = ()
    names: tuple[NameBinding, ...] = ()
    changes: tuple[Change, ...] = ()
    references: tuple[ChangeReference, ...] = ()
    views: tuple[View, ...] = ()
    schemas: tuple[Schema, ...] = ()
    objects: tuple[NewObject, ...] = ()
    linked: tuple[ObjectId, ...] = ()
    """Objects that are in the catalogue already; publishing checks that they still are."""
    described: Mapping[ObjectId, StoredObject] = field(default_factory=dict)
    """Every object in `changes`, and those of exceptions in `references`: what the commit's hash says of them."""

    @property
    def is_empty(self) -> bool:
        return not (self.entries or self.names)


@dataclass(frozen=True)
class Publication:
    """A commit that is ready to be published on a branch that is expected to show its first parent."""

    repository: RepositoryId
    branch: BranchHead
    parents: tuple[CommitHead, ...]
    id: CommitId
    author: str
    message: str
    started_at: int
    provenance: tuple[Origin, ...]
    verb: str
    content: Content
    creates_branch: bool = False
    open_commit: tuple[str, int] | None = None
    """The open commit that this one finishes, and its version; its rows go in the same transaction."""
    open_merge: str | None = None
    """The open merge that this commit finishes; its rows go, too."""
    line_of: BranchHead | None = None
    """The branch whose line it is, where it is made aside to be shown by that branch later."""
    starts_line: bool = False
    """Whether it begins a line in any case."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What it was captured, grafted, built or computed from: JSON by key, published and hashed with it."""
