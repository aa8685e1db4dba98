"""Make a commit again: same parents, with another message or more in it. Used to amend and squash."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.catalog import history, paths
from anabranch.errors import InvalidRequest
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit, CommitHead
from anabranch.model.content import ChangeReference
from anabranch.model.ids import ThingId
from anabranch.model.tables import holds_rows
from anabranch.repo.context.context import Context
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.pick import Picked, read_target, work_out_pick
from anabranch.repo.merge.publish import CommitWords, Merged, PublishOptions, publish_content
from anabranch.repo.merge.side_branch import side_branch


def remake(ctx: Context, old: Position, tip: Position, branch: BranchHead, says: CommitWords, verb: str) -> Commit:
    """Make a commit with an old one's parents and the state of a tip, which is the old one or a descendant.

    No branch moves; `branch` is the one that will show it.
    """
    with ctx.catalog.read() as cx:
        first = history.parent(cx, old, 1)
        further = [history.head(cx, p) for p in history.further_parents(cx, old)]
        merge = _FurtherParents(tuple(p for p in further if p), tuple(paths.referred(cx, old)))
    if first is None:
        raise InvalidRequest("the first commit of a repository can't be made again", hint="make a new commit")
    picked = Picked(first, tip, verb, says.message, says.author, verb)
    with side_branch(ctx, branch, first) as name:
        return Attempts(ctx).run(lambda attempts: _attempt(attempts, name, picked, merge, says, branch))


@dataclass(frozen=True)
class _FurtherParents:
    """What a merge commit has that others lack."""

    further: tuple[CommitHead, ...]
    referred: tuple[ThingId, ...]

    def references(self, merged: Merged) -> list[ChangeReference]:
        """Leave the difference to the further parents undescribed: states are compared where it matters."""
        drafted = [t.id for t in merged.target.draft.things.values() if holds_rows(t.kind)]
        tables = dict.fromkeys((*drafted, *self.referred))
        return [ChangeReference(t, n, None, None) for t in tables for n in range(1, len(self.further) + 1)]


def _attempt(
    attempts: Attempts, name: str, picked: Picked, merge: _FurtherParents, says: CommitWords, branch: BranchHead
) -> Commit:
    ctx = attempts.ctx
    with ctx.catalog.read() as cx:
        target = read_target(ctx, cx, name)
    merged = work_out_pick(ctx, target, picked)
    merged.parents = (*merged.parents, *merge.further)
    merged.references = merge.references(merged)
    options = PublishOptions(allow_empty=True, line_of=branch, starts_line=True)
    made = publish_content(attempts, merged, says, picked.verb, options)
    assert made is not None
    return made
