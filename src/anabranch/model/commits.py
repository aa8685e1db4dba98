"""Commits, branches, tags and moves as users see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from anabranch.model.clock import Position
from anabranch.model.ids import BranchId, CommitId, RepositoryId


def _subject(message: str) -> str:
    """The first line of a message, cut to 50 characters."""
    first = message.strip().split("\n", 1)[0]
    return first if len(first) <= 50 else f"{first[:49]}…"


@dataclass(frozen=True)
class Commit:
    """A finished commit: immutable, known by its hash."""

    hash: str
    id: str
    """The branch that it was made on and its number there, such as `main/7`: it has seven first parents.

    As a ref, `main/7` is number 7 on `main` as it is now; a reset may make that another commit. The hash stays."""
    author: str
    message: str
    started_at: datetime
    finished_at: datetime
    parents: tuple[str, ...]
    """The hashes of its parents, the first parent first."""
    tables: tuple[str, ...]
    """The names of the tables that it changed."""
    provenance: tuple[str, ...] = ()
    """The hashes of the commits that it was made from, and the sources outside."""
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What it was captured, grafted, built or computed from."""

    def __str__(self) -> str:
        return self.hash

    def __repr__(self) -> str:
        return (
            f"Commit({self.id} {self.hash[:10]} {_subject(self.message)!r} by {self.author}, {self.finished_at:%F %T}Z)"
        )

    def _repr_html_(self) -> str:
        from anabranch.model import html

        described: dict[str, object] = {name: value for name, value in vars(self).items() if value not in ((), "", {})}
        described["hash"] = html.short(self.hash)
        for name in ("parents", "provenance"):
            if name in described:
                described[name] = html.shorts(getattr(self, name))
        return html.block(html.facts((name.replace("_", " "), value) for name, value in described.items()))


@dataclass(frozen=True)
class Origin:
    """What a commit was made from: a commit, of this repository or another of the store, or a source outside."""

    commit: str | None
    role: str | None = None
    """What the input is called there."""
    repository: RepositoryId | None = None
    """Where the commit is found; None for the same repository."""
    source: str | None = None

    @classmethod
    def of(cls, hashes: Iterable[str]) -> tuple[Origin, ...]:
        """Origins by hash alone: commits of the same repository, or of an unknown one."""
        return tuple(cls(h) for h in hashes)

    def __str__(self) -> str:
        return self.commit or self.source or ""


@dataclass(frozen=True)
class CommitHead:
    """What publishing needs to know of a commit."""

    position: Position
    id: CommitId
    hash: str
    generation: int
    finished_at: int


@dataclass(frozen=True)
class Branch:
    """A name for a commit that publishing moves."""

    name: str
    commit: str
    """The hash of the commit it shows."""
    created_at: datetime

    def __repr__(self) -> str:
        return f"Branch({self.name!r} at {self.commit[:10]})"


@dataclass(frozen=True)
class BranchHead:
    """A branch as publishing expects to find it."""

    name: str
    id: BranchId
    position: Position


@dataclass(frozen=True)
class Tag:
    """A name for a commit that never moves."""

    name: str
    commit: str
    created_at: datetime
    author: str
    message: str | None = None
    """The note given when it was made."""

    def __repr__(self) -> str:
        return f"Tag({self.name!r} at {self.commit[:10]})"


@dataclass(frozen=True)
class BranchMove:
    """One move of a branch: from, to, when, who, by which verb."""

    branch: str
    before: str | None
    """The hash it showed before; None when the branch was made."""
    after: str | None
    """The hash it showed after; None when the branch was deleted."""
    moved_at: datetime
    author: str
    verb: str
    commit_id: CommitId | None
    """The random id of the commit that was published by this move, if one was."""
