"""The JSON shapes that several commands share; they only ever grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch import Branch, Commit, Counts
    from anabranch.model.schema import Column
    from anabranch.repo.compare.commit_changes import TableChange


_COMMIT = ("hash", "id", "author", "message", "started_at", "finished_at", "parents", "tables", "provenance")
PROVENANCE = ("hash", "repository", "role", "message", "author", "finished_at", "source", "depth", "via")
TAG = ("name", "commit", "created_at", "author", "message")
MOVE = ("before", "after", "moved_at", "author", "verb")
OPEN = ("id", "verb", "into", "sources", "started_at")
"""What is told of an open merge, cherry-pick, revert or rebase."""


def commit_document(commit: Commit) -> dict[str, Any]:
    """A commit: hash, id, author, message, started_at, finished_at, parents, tables, provenance, facts."""
    return {**record(commit, *_COMMIT), "facts": dict(commit.facts)}


def branch_document(branch: Branch, current: str) -> dict[str, Any]:
    """A branch: name, commit, created_at, current."""
    return {**record(branch, "name", "commit", "created_at"), "current": branch.name == current}


def counts_document(counts: Counts | TableChange) -> dict[str, int]:
    """Touched rows: inserted, updated, deleted."""
    return record(counts, "inserted", "updated", "deleted")


def record(value: object, *names: str) -> dict[str, Any]:
    """A value as JSON tells it, by the names of what is told of it."""
    return {name: getattr(value, name) for name in names}


def columns_document(columns: Sequence[Column], key: tuple[str, ...]) -> list[dict[str, Any]]:
    """The columns of a table: name, type, nullable, default, key, comment."""
    first = ("name", "type", "nullable", "default")
    return [{**record(c, *first), "type": str(c.type), "key": c.name in key, "comment": c.comment} for c in columns]
