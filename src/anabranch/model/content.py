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
    """The step of each object; within a step, each key changes once. Empty if all are one step."""


@dataclass(frozen=True)
class ChangeReference:
    """The difference to a further parent: the path from a base to the first parent, and an object of exceptions."""

    thing_id: ThingId
    parent_number: int
    base: Position | None
    """None if changes do not give the difference, and states must be compared."""
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
    """The turn of each object; empty if all are 0."""


@dataclass(frozen=True)
class LateView:
    """A view that is written after its commit was published; it serves all that is published on top."""

    id: ViewId
    thing_id: ThingId
    kind: ViewKind
    at: Position
    since: Position | None
    """For a fold: the commit of the snapshot below it."""
    links: tuple[tuple[int, ObjectId], ...]
    """Its objects with their turns; a fold's begin at 1, above all of the snapshot's."""
    row_count: int
    objects: tuple[NewObject, ...]
    """The objects in `links` that are new."""
    described: Mapping[ObjectId, StoredObject]
    """Every object in `links`."""


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
    """The open commit that this one finishes, and its version; its rows are removed in the same transaction."""
    open_merge: str | None = None
    """The open merge that this commit finishes; its rows are removed, too."""
    line_of: BranchHead | None = None
    """The branch whose line it belongs to, if it is made aside for that branch to show later."""
    starts_line: bool = False
    """Whether it begins a line even where it could continue one."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What it was captured, grafted, built or computed from: JSON by key, published and hashed with it."""
