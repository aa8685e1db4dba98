"""Anabranch: version control for data on Spark. Branch, commit and read tables of any size at any commit."""

from __future__ import annotations

from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    BranchMoved,
    Corrupt,
    InvalidRequest,
    MergeConflict,
    NotFound,
    OutcomeUnknown,
    RunFailed,
    Unavailable,
)
from anabranch.repo.verbs.above import bring
from anabranch.settings import (
    DamageSettings,
    FileSettings,
    FoldingSettings,
    LimitSettings,
    MemorySettings,
    ObjectSettings,
    SafeSettings,
    ServerSettings,
    Settings,
    SparkSettings,
)

if TYPE_CHECKING:
    from anabranch.frames.relation import Relation
    from anabranch.model.changes import Counts, Optimized
    from anabranch.model.commits import Branch, BranchMove, Commit, Tag
    from anabranch.model.garbage import Collected, Garbage
    from anabranch.model.verification import Affected, Damage, Verification
    from anabranch.repo.backups import StoreCopy
    from anabranch.repo.commit.open_commit import OpenCommit
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.compare.blame import Blame
    from anabranch.repo.compare.changes import Changes
    from anabranch.repo.compare.table_diff import Diff, TableDiff
    from anabranch.repo.merge.conflicts import Conflicts
    from anabranch.repo.merge.open_merge import OpenMerge
    from anabranch.repo.merge.open_sequence import OpenSequence
    from anabranch.repo.merge.request import MergeResult
    from anabranch.repo.read.sql_result import SqlResult
    from anabranch.repo.read.table import Table
    from anabranch.repo.repository import Repository

__version__ = "0.1.0"

__all__ = [
    "Affected",
    "AlreadyExists",
    "AnabranchError",
    "Blame",
    "Branch",
    "BranchMove",
    "BranchMoved",
    "Changes",
    "Collected",
    "Commit",
    "Conflicts",
    "Corrupt",
    "Counts",
    "Damage",
    "DamageSettings",
    "Diff",
    "FileSettings",
    "FoldingSettings",
    "Garbage",
    "InvalidRequest",
    "LimitSettings",
    "MemorySettings",
    "MergeConflict",
    "MergeResult",
    "NotFound",
    "ObjectSettings",
    "OpenCommit",
    "OpenMerge",
    "OpenSequence",
    "Optimized",
    "OutcomeUnknown",
    "Relation",
    "Repository",
    "RunFailed",
    "SafeSettings",
    "ServerSettings",
    "Settings",
    "SparkSettings",
    "SqlResult",
    "StoreCopy",
    "Table",
    "TableDiff",
    "Tag",
    "Transaction",
    "Unavailable",
    "Verification",
    "backup",
    "drop_repository",
    "external",
    "init",
    "open",
    "repositories",
    "restore_store",
]


bring(make_job="anabranch.jobs.job", resume_job="anabranch.jobs.resume")

_LOADED_LATER = {
    "frames.relation": "Relation",
    "model.changes": "Counts Optimized",
    "model.commits": "Branch BranchMove Commit Tag",
    "model.garbage": "Collected Garbage",
    "model.verification": "Affected Damage Verification",
    "repo.backups": "StoreCopy",
    "repo.commit.open_commit": "OpenCommit",
    "repo.commit.transaction": "Transaction",
    "repo.compare.blame": "Blame",
    "repo.compare.changes": "Changes",
    "repo.compare.table_diff": "Diff TableDiff",
    "repo.merge.conflicts": "Conflicts",
    "repo.merge.merge": "MergeResult",
    "repo.merge.open_merge": "OpenMerge",
    "repo.merge.open_sequence": "OpenSequence",
    "repo.read.sql_result": "SqlResult",
    "repo.read.table": "Table",
    "repo.repository": "Repository",
}
"""The façade and what users hold, by module; not needed for help and completion."""


def __getattr__(name: str) -> Any:
    """Load a class, and all that it needs, on first use."""
    for module, names in _LOADED_LATER.items():
        if name in names.split():
            return getattr(import_module(f"anabranch.{module}"), name)
    raise AttributeError(name)


def init(
    store: str | PathLike[str],
    *,
    repository: str | None = None,
    objects: str | None = None,
    branch: str = "main",
    **options: Any,
) -> Repository:
    """Make a repository with an empty first commit; makes the store if there is none.

    `store` is a folder, or `postgresql://…` together with `objects=`: a folder, `s3://…` or `hdfs://…`. Options as for
    `open`.
    """
    from anabranch.repo import stores
    from anabranch.repo.repository import Repository

    return Repository(stores.make(fspath(store), repository, objects, branch, stores.Options(**options)))


def open(store: str | PathLike[str], *, repository: str | None = None, **options: Any) -> Repository:
    """Open a repository. Options: `spark=` a session, `engine=` auto, spark or duck, `author=`, `settings=`."""
    from anabranch.repo import stores
    from anabranch.repo.repository import Repository

    return Repository(stores.open_(fspath(store), repository, stores.Options(**options)))


def external(address: str) -> Any:
    """Name a source outside the store for `provenance=`, such as `s3://bucket/key@etag`."""
    from anabranch.repo.branches.provenance import ExternalSource

    return ExternalSource(address)


def repositories(store: str | PathLike[str]) -> list[str]:
    """List the repositories of a store."""
    from anabranch.repo.stores import names

    return names(fspath(store))


def drop_repository(store: str | PathLike[str], repository: str) -> None:
    """Remove a repository from a store, with all its history."""
    from anabranch.repo.stores import drop

    drop(fspath(store), repository)


def backup(store: str | PathLike[str], folder: str | PathLike[str]) -> StoreCopy:
    """Copy a store into a folder, `s3://…` or `hdfs://…`: one state while others write; later, only what is new."""
    from anabranch.repo import backups

    return backups.backup(fspath(store), fspath(folder))


def restore_store(folder: str | PathLike[str], store: str | PathLike[str], *, objects: str | None = None) -> StoreCopy:
    """Make a new store from a backup: a folder, or `postgresql://…` together with `objects=`."""
    from anabranch.repo import backups

    return backups.restore_store(fspath(folder), fspath(store), objects)
