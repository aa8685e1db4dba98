"""preview: the state that a merge would make, as a ref to read, diff and check; no branch moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from anabranch.catalog import commits
from anabranch.plan.merge.rules import check_strictness
from anabranch.repo.compare.diff import diff
from anabranch.repo.compare.table_diff import Diff
from anabranch.repo.context.context import Context
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.merge import may_forward, publish_merge, work_out
from anabranch.repo.merge.pick import read_target
from anabranch.repo.merge.request import MergeRequest, default_message, read_ends
from anabranch.repo.merge.side_branch import side_branch
from anabranch.repo.read.table import Table, make_selection, open_table


@dataclass(frozen=True)
class Preview:
    """A merge made on no branch. Where there are conflicts, it shows ours."""

    ref: str
    """The hash of a commit that no branch shows; works as any `at=`."""
    conflicts: Conflicts
    _ctx: Context
    _into: str

    def __repr__(self) -> str:
        return f"Preview({self.ref[:12]}, {self.conflicts.headline() if self.conflicts else 'no conflicts'})"

    def table(self, name: str, **chosen: Any) -> Table:
        """Open a table of the merged state."""
        wanted = {"columns": None, "where": None, "args": None, "limit": None, **chosen}
        return open_table(self._ctx, name, self.ref, make_selection(**wanted))

    def diff(self) -> Diff:
        """What the merge would change on the branch."""
        return diff(self._ctx, self._into, self.ref)


def preview(ctx: Context, asked: MergeRequest, how: How | None = None) -> Preview:
    """Make a merge as a commit that only its hash leads to; `how` knows what was already resolved."""
    with ctx.catalog.read() as cx:
        target, sources = read_ends(ctx, cx, asked)
        into = target.parent.hash
        if not sources:
            return Preview(into, Conflicts(), ctx, into)
        shown = commits.describe(cx, sources[:1])[0].hash
    if may_forward(ctx, asked, target, sources):
        return Preview(shown, Conflicts(), ctx, into)
    with side_branch(ctx, target.branch, target.clock.head) as name:
        with ctx.catalog.read() as cx:
            elsewhere = read_target(ctx, cx, name)
        how = replace(how or How(check_strictness(asked.strictness), asked.rules), go_on=True)
        merged = work_out(ctx, elsewhere, sources, how, stop_at_conflicts=False)
        made = publish_merge(Attempts(ctx), merged, replace(asked, message=default_message(asked, target)))
    return Preview(made.hash, merged.conflicts, ctx, into)
