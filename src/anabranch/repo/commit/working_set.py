"""The working set of a branch: where statements are staged that no commit has published yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.repo.commit.open_commit import OpenCommit
    from anabranch.repo.repository import Repository

_MESSAGE = "working set"


def start_working_set(repo: Repository, branch: str) -> OpenCommit:
    """Open a working set on the branch as it is now; an empty one that was left behind starts from an older commit."""
    empty = repo.working_set(branch)
    if empty is not None:
        empty.abort()
    return repo.start(branch, message=_MESSAGE, working=True)


@contextmanager
def staged_writes(repo: Repository, branch: str) -> Iterator[OpenCommit]:
    """Give the working set to write to; one that was made for this and holds nothing is gone afterwards."""
    found = repo.working_set(branch)
    staged = found if found is not None and found.status() else None
    opened = staged or start_working_set(repo, branch)
    try:
        yield opened
    except BaseException:
        # A statement that failed halfway may have staged something, such as a namespace.
        if staged is None:
            opened.abort()
        raise
    if not opened.status():
        opened.abort()
