"""Make a commit again: same parents, with another message or more in it. Used to amend and squash."""

from __future__ import annotations

from anabranch.catalog import history, paths
from anabranch.errors import InvalidRequest
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.repo.context.context import Context
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.pick import Picked, read_target, work_out_pick
from anabranch.repo.merge.publish import CommitWords, PublishOptions, publish_content
from anabranch.repo.merge.side_branch import side_branch


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
