"""Which columns a side really updated: asked where the other side dropped one, because the catalogue only knows
that a cell may have been touched, not what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.model.ids import ColumnId
from anabranch.model.objects import Layer, size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.engine import Work
from anabranch.plan.merge_sides import ThingSide
from anabranch.queries import changes
from anabranch.queries.path_fold import Path, touched_keys
from anabranch.queries.query import Sources
from anabranch.queries.scan import Keys, scan_as
from anabranch.repo.context import Context
from anabranch.repo.merge_reading import Gathered, SideReader
from anabranch.repo.net import compared_pairs, touched_columns
from anabranch.repo.reading import not_in_duck, reading
from anabranch.repo.state import schema_of
from anabranch.repo.writing import scratch

Sides = tuple[list[ThingSide], list[ThingSide], list[ThingSide]]


def with_real_updates(ctx: Context, gathered: Gathered, sides: Sides) -> Sides:
    """Sides that know which columns they updated, wherever another side lacks one of them."""
    base, ours, theirs = sides
    return (
        base,
        [_refined(ctx, gathered, s, gathered.ours, base, theirs) for s in ours],
        [_refined(ctx, gathered, s, gathered.theirs, base, ours) for s in theirs],
    )


def _refined(
    ctx: Context,
    gathered: Gathered,
    side: ThingSide,
    reader: SideReader,
    base: Sequence[ThingSide],
    others: Sequence[ThingSide],
) -> ThingSide:
    old, other = (next((t for t in there if t.ids & side.ids), None) for there in (base, others))
    if old is None or other is None or not (old.schema and other.schema and side.schema):
        return side
    lost = [c for c in old.schema if not any(c.ids & x.ids for x in other.schema)]
    columns = [c for c in side.schema if any(c.ids & x.ids for x in lost) and c.id not in side.schema.key]
    if not columns or old.id not in gathered.base.states(old.ids):
        return side
    layers = reader.layers({*side.ids, *old.ids})
    asked = [c for c in columns if _may_be_updated(c, layers)]
    real = _updated(ctx, gathered, old, side, reader, layers, asked) if asked else []
    known = side.touched - {i for c in columns for i in c.ids}
    return replace(side, touched=known | {ColumnId(i) for c in real for i in c.ids})


def _may_be_updated(column: Column, layers: Sequence[Layer] | None) -> bool:
    """Whether some cell of a column may have another value, by what the catalogue knows."""
    if layers is None:
        return True
    if any(column.ids & set(x.object.touched) for x in layers if x.object.kind in ("update", "exceptions")):
        return True
    gone = [x.turn for x in layers if x.object.kind == "delete"]
    return any(x.turn > min(gone) for x in layers if x.object.kind == "rows") if gone else False


def _updated(
    ctx: Context,
    gathered: Gathered,
    old: ThingSide,
    side: ThingSide,
    reader: SideReader,
    layers: tuple[Layer, ...] | None,
    columns: Sequence[Column],
) -> list[Column]:
    """Compare the rows that base and side both have: at the keys that were touched, or all."""
    before, after = _states(ctx, gathered, old, side, reader, layers)
    schema, read = after.schema, (*after.schema.key_columns, *columns)
    everything = (*before.layers, *after.layers, *(layers or ()))
    without = [Layer(0, o) for x in layers or () for o in x.without]
    access = ctx.access((*everything, *without), reader.pending())
    size = size_of(layers) if layers is not None else size_of(everything)
    engine = ctx.engines.pick(
        Work(size, not_in_duck=not_in_duck(schema, side.path)), f"columns of {side.path!r} that were updated"
    )
    with scratch(ctx, engine) as place, reading(ctx, replace(after, layers=everything)):
        keys = None
        if layers is not None:
            pairs = [(str(c.id), c.type) for c in schema.key_columns]
            touched = touched_keys(Path(layers, None, after), access, Sources())
            kept = place.keep(touched, pairs, schema.key_columns)
            keys = Keys(kept.source, kept.key_range)
        sources = Sources()
        rows = [scan_as(s, schema, read, access, sources, keys) for s in (before, after)]
        compared = place.keep(
            changes.compared(rows[0], rows[1], schema, read, sources), compared_pairs(schema, read), schema.key_columns
        )
        return touched_columns(engine, compared, columns)


def _states(
    ctx: Context,
    gathered: Gathered,
    old: ThingSide,
    side: ThingSide,
    reader: SideReader,
    layers: Sequence[Layer] | None,
) -> tuple[TableState, TableState]:
    """The table at the base and at the side, each knowing the schemas of all objects."""
    before, after = gathered.base.table(old), reader.table(side)
    objects = [o for x in layers or () for o in (x.object, *x.without)]
    more = schema_of(ctx, gathered.base.cx, {o.schema_id for o in objects} - {*before.schemas, *after.schemas})
    shared = {**more, **before.schemas, **after.schemas}
    return replace(before, schemas=shared), replace(after, schemas=shared)
