"""optimize: fold the changes on a table's snapshot, and rewrite the files that are worth it, whatever their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.catalog import history
from anabranch.errors import Corrupt
from anabranch.model.changes import Optimized
from anabranch.model.objects import Layer, ViewKind, size_of
from anabranch.plan import folding
from anabranch.plan.folding import Limits
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table
from anabranch.repo.read.conditions import pick_engine
from anabranch.repo.upkeep.fold import Refit, TableAtCommit, automatic, find_place


def optimize(ctx: Context, name: str, on: str | None) -> Optimized:
    """Write a view of the table at a ref that reads as fast as possible; history is unchanged."""
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, resolve(ctx, cx, on))
        place = find_place(ctx, cx, clock, *find_table(ctx, cx, clock, name))
    if place is None:
        raise Corrupt(f"table {name!r} has no snapshot", hint="run `ana verify`")
    before, share = place.state.layers, ctx.settings.folding.optimize_share
    limits = replace(automatic(ctx), fold_rows=None, rewrite_rows=None, share=share)  # No bound on rows.
    with Refit(ctx, pick_engine(ctx, place.state, f"optimizing {name!r}"), place) as work:
        layers = _folded(work, before, limits)
        chosen = _chosen(layers, limits)
        after = work.rewrite(layers, chosen) if chosen else layers
        kind: ViewKind | None = "snapshot" if chosen else "fold" if layers is not before else None
        if kind and not work.publish(after, kind):
            kind = None
        return _described(place, layers, chosen, after if kind else before, kind)


def _folded(work: Refit, layers: Sequence[Layer], limits: Limits) -> Sequence[Layer]:
    """Fold, unless rewriting leaves nothing to fold."""
    left = folding.kept_layers(layers, _chosen(layers, limits))
    groups = folding.groups(folding.runs(layers), limits)
    several = len(folding.runs(left)) > 1 and any(len(group) > 1 for group in groups)
    return work.fold(groups) if several else layers


def _chosen(layers: Sequence[Layer], limits: Limits) -> tuple[Layer, ...]:
    thick = folding.thick(layers, limits)
    return (*thick, *folding.joining(layers, thick, folding.small(layers, limits)))


def _described(
    place: TableAtCommit, layers: Sequence[Layer], chosen: Sequence[Layer], after: Sequence[Layer], kind: str | None
) -> Optimized:
    before = place.state.layers
    chosen = chosen if kind else ()
    files = sum(x.object.kind == "rows" for x in layers)
    top = max((x.turn for x in after), default=0)
    new = [x for x in after if x.object.kind == "rows" and x.turn == top] if chosen else []
    return Optimized(
        place.state.name,
        kind,
        kept=files - len(chosen),
        rewritten=len(chosen),
        written=len(new),
        rows=sum(x.object.row_count for x in new),
        objects_before=len(before),
        objects_after=len(after),
        size_bytes_before=size_of(before),
        size_bytes_after=size_of(after),
    )
