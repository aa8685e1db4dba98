"""What an unfinished commit changes, compared with the commit that it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer
from anabranch.model.tables import TableState
from anabranch.plan.commit import Draft, ThingDraft, draft_state
from anabranch.plan.schema_diff import attribute_changes
from anabranch.repo.context import Context
from anabranch.repo.diff import Diff, NamespaceDiff, TableDiff, Word, diff
from anabranch.repo.ends import ends_of
from anabranch.repo.state import table_state
from anabranch.repo.transaction import Start


def draft_diff(ctx: Context, draft: Draft, pending: Mapping[ObjectId, bytes], start: Start) -> Diff:
    """Compare a draft with its parent; a thing that was made and dropped again is nothing."""
    parent = start.parent.hash
    told = [t for t in draft.things.values() if t.operations and t.created + t.dropped < 2]
    tables = [_table(ctx, start, t, pending) for t in told if t.kind == "table"]
    spaces = [_namespace(t) for t in told if t.kind == "namespace"]
    return Diff(
        tuple(sorted(tables, key=lambda t: t.name)),
        tuple(sorted(spaces, key=lambda n: n.name)),
        lambda name: diff(ctx, parent, parent, name),
    )


def _table(ctx: Context, start: Start, thing: ThingDraft, pending: Mapping[ObjectId, bytes]) -> TableDiff:
    old = None if thing.created else _base(ctx, start, thing)
    new = None if thing.dropped else draft_state(thing)
    if old and new:
        old = replace(old, schemas=new.schemas)
    ends = ends_of(old, new, old.schema if old else None, (), _layers(thing, new) if old and new else None)
    return TableDiff(ctx, thing.name, old, new, replace(ends, pending=pending))


def _base(ctx: Context, start: Start, thing: ThingDraft) -> TableState:
    """The table at the parent; one that went with its namespace was not read before."""
    name = thing.base_name or thing.name
    if thing.base:
        return replace(thing.base, name=name)
    with ctx.catalog.read() as cx:
        return table_state(ctx, cx, start.clock, thing.id, name)


def _layers(thing: ThingDraft, state: TableState | None) -> tuple[Layer, ...] | None:
    """The statements' changes; None where they don't tell each key once, or the cells that there are."""
    assert state is not None
    if thing.replaced or thing.has_lost_cells or not all(s.exact for s in thing.statements):
        return None
    below = len(thing.base.layers) if thing.base else 0
    return state.layers[below:]


def _namespace(thing: ThingDraft) -> NamespaceDiff:
    word: Word = "added" if thing.created else "dropped" if thing.dropped else "changed"
    renamed = thing.base_name if word == "changed" and thing.base_name != thing.name else None
    return NamespaceDiff(thing.name, word, renamed, attribute_changes(thing.base_attributes, thing.attributes))
