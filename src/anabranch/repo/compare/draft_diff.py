"""What an unfinished commit changes, compared with the commit that it starts from or with another."""

from __future__ import annotations

from anabranch.catalog import history
from anabranch.model.ids import ThingId
from anabranch.plan.commit import ThingDraft
from anabranch.repo.branches.refs import resolve
from anabranch.repo.commit.draft_listing import names_of
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.compare.diff import Sides, Staged, common_base, compared
from anabranch.repo.compare.table_diff import Diff


def draft_diff(tx: Transaction, since: str | None) -> Diff:
    """Compare a draft with its parent, or with a ref; a thing that was made and dropped again is nothing."""
    ctx = tx._ctx
    told = {t.id: t for t in tx._draft.things.values() if t.operations and t.created + t.dropped < 2}
    staged = Staged(told, _names(tx, told), tx.pending())
    with ctx.catalog.read() as cx:
        after = tx._start.clock
        before = after if since is None else history.clock(cx, resolve(ctx, cx, since))
        sides = Sides(before, after, common_base(cx, before.head, after.head), staged)
        return compared(ctx, cx, sides)


def _names(tx: Transaction, told: dict[ThingId, ThingDraft]) -> dict[ThingId, str]:
    if not any(t.kind == "namespace" and t.name != t.base_name for t in told.values()):
        return {}
    return {thing: name for name, _, thing in names_of(tx)}
