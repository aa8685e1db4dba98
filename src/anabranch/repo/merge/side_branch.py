"""Commits made on side branches, so that nobody's branch moves until the work is done: again, or of open work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from anabranch.catalog import branches, history, paths
from anabranch.errors import InvalidRequest
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.model.ids import new_id
from anabranch.repo.commit.commit import finish
from anabranch.repo.commit.open_commit import OpenCommit
from anabranch.repo.commit.start import Start
from anabranch.repo.context.context import Context
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.pick import Picked, read_target, work_out_pick
from anabranch.repo.merge.publish import CommitWords, PublishOptions, publish_content


@contextmanager
def side_branch(ctx: Context, branch: BranchHead, onto: Position) -> Iterator[str]:
    """Make a branch to work on, and remove it at the end."""
    name = f"{branch.name}.{new_id('x')[1:9]}"
    with ctx.writing() as cx:
        ctx.make_branch(cx, name, onto)
    try:
        yield name
    finally:
        with ctx.writing() as cx:
            found = branches.find(cx, ctx.record.id, name)
            if found:
                ctx.move(cx, found, None, "delete")


def remake(ctx: Context, old: Position, tip: Position, branch: BranchHead, says: CommitWords, verb: str) -> Commit:
    """Make a commit with an old one's parents and the state of a tip, which is the old one or a descendant.

    No branch moves; `branch` is the one that will show it.
    """
    with ctx.catalog.read() as cx:
        first = history.parent(cx, old, 1)
        further = [history.known_head(cx, p) for p in history.further_parents(cx, old)]
        referred = paths.referred(cx, old)
    if first is None:
        raise InvalidRequest("the first commit of a repository can't be made again", hint="make a new commit")
    picked = Picked(first, tip, verb, says.message, says.author, verb)

    def attempt(attempts: Attempts) -> Commit:
        with ctx.catalog.read() as cx:
            target = read_target(ctx, cx, name)
        merged = work_out_pick(ctx, target, picked)
        merged.parents = (*merged.parents, *further)
        merged.leave_undescribed(referred)
        options = PublishOptions(allow_empty=True, line_of=branch, starts_line=True)
        made = publish_content(attempts, merged, says, verb, options)
        assert made is not None
        return made

    with side_branch(ctx, branch, first) as name:
        return Attempts(ctx).run(attempt)


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
