"""The working set of a branch: where statements are staged until a commit publishes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.repo.commit.open_commit import OpenCommit, start, working_set
from anabranch.repo.commit.start import CommitRequest
from anabranch.repo.context.context import Context

_MESSAGE = "working set"


def start_working_set(ctx: Context, branch: str) -> OpenCommit:
    """Open a working set on the branch's head, replacing an empty one, which may start from an older commit."""
    empty = working_set(ctx, branch)
    if empty is not None:
        empty.abort()
    return start(ctx, CommitRequest(branch, _MESSAGE), working=True)


@contextmanager
def staged_writes(ctx: Context, branch: str) -> Iterator[OpenCommit]:
    """Open the working set to write to; if it was created for this and ends up empty, remove it."""
    found = working_set(ctx, branch)
    staged = found if found is not None and found.status() else None
    opened = staged or start_working_set(ctx, branch)
    try:
        yield opened
    except BaseException:
        # A statement that failed halfway may have staged something, such as a namespace.
        if staged is None:
            opened.abort()
        raise
    if not opened.status():
        opened.abort()
