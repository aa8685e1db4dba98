"""The JSON shapes that several commands share; they only ever grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch import Branch, BranchMove, Commit, Counts, Tag
    from anabranch.model.schema import Column
    from anabranch.repo.branches.log import TableChange


def commit_document(commit: Commit) -> dict[str, Any]:
    """A commit: hash, id, author, message, started_at, finished_at, parents, tables, provenance, facts."""
    return {
        "hash": commit.hash,
        "id": commit.id,
        "author": commit.author,
        "message": commit.message,
        "started_at": commit.started_at,
        "finished_at": commit.finished_at,
        "parents": commit.parents,
        "tables": commit.tables,
        "provenance": commit.provenance,
        "facts": dict(commit.facts),
    }


def branch_document(branch: Branch, current: str) -> dict[str, Any]:
    """A branch: name, commit, created_at, current."""
    return {
        "name": branch.name,
        "commit": branch.commit,
        "created_at": branch.created_at,
        "current": branch.name == current,
    }


def tag_document(tag: Tag) -> dict[str, Any]:
    """A tag: name, commit, created_at, author."""
    return {"name": tag.name, "commit": tag.commit, "created_at": tag.created_at, "author": tag.author}


def move_document(move: BranchMove) -> dict[str, Any]:
    """A move of a branch: before, after, moved_at, author, verb."""
    return {
        "before": move.before,
        "after": move.after,
        "moved_at": move.moved_at,
        "author": move.author,
        "verb": move.verb,
    }


def counts_document(counts: Counts | TableChange) -> dict[str, int]:
    """Touched rows: inserted, updated, deleted."""
    return {"inserted": counts.inserted, "updated": counts.updated, "deleted": counts.deleted}


def columns_document(columns: Sequence[Column], key: tuple[str, ...]) -> list[dict[str, Any]]:
    """The columns of a table: name, type, nullable, default, key, comment."""
    return [
        {
            "name": column.name,
            "type": str(column.type),
            "nullable": column.nullable,
            "default": column.default,
            "key": column.name in key,
            "comment": column.comment,
        }
        for column in columns
    ]
