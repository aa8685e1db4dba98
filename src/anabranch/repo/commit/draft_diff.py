"""What an unfinished commit changes, compared with its parent or with another commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from anabranch.catalog import history
from anabranch.model.clock import Clock
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.tables import ThingKind
from anabranch.plan.commit import Draft
from anabranch.repo.branches.refs import resolve
from anabranch.repo.compare.diff import DiffSides, Staged, common_base, compared
from anabranch.repo.compare.table_diff import Diff
from anabranch.repo.context.context import Context


def draft_diff(
    ctx: Context,
    parent: Clock,
    draft: Draft,
    pending: Mapping[ObjectId, bytes],
    names: Callable[[], Iterable[tuple[str, ThingKind, ThingId]]],
    since: str | None,
) -> Diff:
    """Compare a draft with its parent, or with a ref; things both created and dropped in it are left out."""
    changed = {t.id: t for t in draft.things.values() if t.operations and t.created + t.dropped < 2}
    renames = any(t.kind == "namespace" and t.name != t.base_name for t in changed.values())
    renamed = {thing: name for name, _, thing in names()} if renames else {}
    with ctx.catalog.read() as cx:
        before = parent if since is None else history.clock(cx, resolve(ctx, cx, since))
        sides = DiffSides(before, parent, common_base(cx, before.head, parent.head), Staged(changed, renamed, pending))
        return compared(ctx, cx, sides)
