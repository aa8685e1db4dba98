"""The JSON shapes that several commands share; they only ever grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch import Branch, BranchMove, Commit, Counts, Tag
    from anabranch.model.schema import Column
    from anabranch.repo.branches.log import TableChange
    from anabranch.repo.branches.provenance import ProvenanceEntry
    from anabranch.repo.merge.open_conflicts import OpenConflicts


_COMMIT = ("hash", "id", "author", "message", "started_at", "finished_at", "parents", "tables", "provenance")
_PROVENANCE = ("hash", "repository", "role", "message", "author", "finished_at", "source", "depth", "via")


def commit_document(commit: Commit) -> dict[str, Any]:
    """A commit: hash, id, author, message, started_at, finished_at, parents, tables, provenance, facts."""
    return {**_record(commit, *_COMMIT), "facts": dict(commit.facts)}


def branch_document(branch: Branch, current: str) -> dict[str, Any]:
    """A branch: name, commit, created_at, current."""
    return {**_record(branch, "name", "commit", "created_at"), "current": branch.name == current}


def tag_document(tag: Tag) -> dict[str, Any]:
    """A tag: name, commit, created_at, author, message."""
    return _record(tag, "name", "commit", "created_at", "author", "message")


def move_document(move: BranchMove) -> dict[str, Any]:
    """A move of a branch: before, after, moved_at, author, verb."""
    return _record(move, "before", "after", "moved_at", "author", "verb")


def merge_document(merge: OpenConflicts) -> dict[str, Any]:
    """An open merge, cherry-pick, revert or rebase: id, verb, into, sources, started_at."""
    return _record(merge, "id", "verb", "into", "sources", "started_at")


def counts_document(counts: Counts | TableChange) -> dict[str, int]:
    """Touched rows: inserted, updated, deleted."""
    return _record(counts, "inserted", "updated", "deleted")


def provenance_document(entry: ProvenanceEntry) -> dict[str, Any]:
    """What a commit was made from, or what was made from it: hash, repository, role, message and so on."""
    return _record(entry, *_PROVENANCE)


def _record(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def columns_document(columns: Sequence[Column], key: tuple[str, ...]) -> list[dict[str, Any]]:
    """The columns of a table: name, type, nullable, default, key, comment."""
    first = ("name", "type", "nullable", "default")
    return [{**_record(c, *first), "type": str(c.type), "key": c.name in key, "comment": c.comment} for c in columns]
