"""Commit open work where no branch shows it: to amend a commit with it, or to merge it with what came meanwhile."""

from __future__ import annotations

from dataclasses import replace

from anabranch.catalog import branches
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead
from anabranch.repo.commit.commit import finish
from anabranch.repo.commit.open_commit import OpenCommit
from anabranch.repo.commit.transaction import Start
from anabranch.repo.context.context import Context
from anabranch.repo.merge.side_branch import side_branch


def commit_unseen(ctx: Context, work: OpenCommit, start: Start, branch: BranchHead, at: Position) -> Position:
    """Publish open work, unseen, on top of a commit, with the message of `start`. The work is closed after.

    Raises BranchMoved if rows it touched were touched since it began. Callers hold the repository, so it can be undone.
    """
    work.flush()
    with side_branch(ctx, branch, at) as name:
        with ctx.catalog.read() as cx:
            found = branches.find(cx, ctx.record.id, name)
        assert found is not None
        begun = replace(start, branch=replace(found, position=start.branch.position), allow_empty=True)
        finish(ctx, begun, work._draft, "commit", tuple(work._registered), (work.id, work.version))
        with ctx.catalog.read() as cx:
            made = branches.find(cx, ctx.record.id, name)
    assert made is not None
    return made.position
