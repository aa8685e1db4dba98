"""Anabranch: version control for data on Spark. Branch, commit and read tables of any size at any commit."""

from __future__ import annotations

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
    Unavailable,
)
from anabranch.model.changes import Counts, Optimized
from anabranch.model.commits import Branch, BranchMove, Commit, Tag
from anabranch.settings import Settings

if TYPE_CHECKING:
    from anabranch.repo.repository import Repository

__version__ = "0.1.0"

__all__ = [
    "AlreadyExists",
    "AnabranchError",
    "Branch",
    "BranchMove",
    "BranchMoved",
    "Commit",
    "Corrupt",
    "Counts",
    "InvalidRequest",
    "MergeConflict",
    "NotFound",
    "Optimized",
    "OutcomeUnknown",
    "Repository",
    "Settings",
    "Tag",
    "Unavailable",
    "drop_repository",
    "init",
    "open",
    "repositories",
]


def __getattr__(name: str) -> Any:
    """Load the façade, and the catalogue behind it, only when it is asked for: help and completion need neither."""
    if name == "Repository":
        from anabranch.repo.repository import Repository

        return Repository
    raise AttributeError(name)


def init(
    store: str | PathLike[str],
    *,
    repository: str | None = None,
    objects: str | None = None,
    branch: str = "main",
    **options: Any,
) -> Repository:
    """Make a repository, with an empty first commit; the store is made if it is not there.

    `store` is a folder, or `postgresql://…` together with `objects=`. Options as for `open`.
    """
    from anabranch.repo import store as stores
    from anabranch.repo.repository import Repository

    return Repository(stores.make(fspath(store), repository, objects, branch, stores.Options(**options)))


def open(store: str | PathLike[str], *, repository: str | None = None, **options: Any) -> Repository:
    """Open a repository. Options: `spark=` a session, `engine=` auto, spark or duck, `author=`, `settings=`."""
    from anabranch.repo import store as stores
    from anabranch.repo.repository import Repository

    return Repository(stores.open_(fspath(store), repository, stores.Options(**options)))


def repositories(store: str | PathLike[str]) -> list[str]:
    """List the repositories of a store."""
    from anabranch.repo.store import names

    return names(fspath(store))


def drop_repository(store: str | PathLike[str], repository: str) -> None:
    """Remove a repository from a store, with all its history."""
    from anabranch.repo.store import drop

    drop(fspath(store), repository)
