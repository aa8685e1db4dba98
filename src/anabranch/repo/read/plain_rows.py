"""Tables that the catalogue holds whole: their rows are read without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from anabranch.arrow.types import arrow_fields
from anabranch.model.ids import ObjectId
from anabranch.model.layers import as_layers
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.read_strategy import SortedLayers, can_fold_in_memory, changed_cells, sort_layers
from anabranch.queries.overlay_fold import folded_in_memory
from anabranch.queries.overlay_places import acting_on, apply_changes, places_name, turns_by_place
from anabranch.repo.context.context import Context


def plain_rows(
    ctx: Context, state: TableState, columns: Sequence[Column], pending: Mapping[ObjectId, bytes]
) -> pa.Table | None:
    """Read columns under their ids; None where a layer is a file, or was written under other columns."""
    small = as_layers(state.layers).inline
    if len(small) < len(state.layers) or any(c.type.only_spark for c in columns):
        return None
    layers = sort_layers(state.layers, columns)
    with_key = (*columns, *state.schema.key_columns)
    if not all(state.holds_as_now(x.object, columns) for x in layers.plain):
        return None
    if not all(state.holds_as_now(x.object, with_key) for x in layers.changed):
        return None
    cells = changed_cells(state, columns, layers)
    if layers.changes and not can_fold_in_memory(state, layers.changes, cells):
        return None
    rows = ctx.small_rows(small, pending)
    fields = arrow_fields(columns)
    parts = [rows[x.object.id].select(fields.names).cast(fields) for x in layers.plain]
    if layers.changed:
        parts.append(_with_changes(ctx, state, layers, cells, rows, fields))
    return pa.concat_tables(parts) if parts else fields.empty_table()


def _with_changes(
    ctx: Context,
    state: TableState,
    layers: SortedLayers,
    cells: Sequence[Column],
    rows: Mapping[ObjectId, pa.Table],
    fields: pa.Schema,
) -> pa.Table:
    """The rows that changes act on, as they leave them; where they do is found once for a state."""
    key = arrow_fields(state.schema.key_columns)
    below = [rows[x.object.id] for x in layers.changed]

    def find() -> pa.Table:
        keys = pa.concat_tables([each.select(key.names).cast(key) for each in below])
        folded = folded_in_memory(key.names, cells, [(x, rows[x.object.id]) for x in layers.changes])
        return acting_on(keys, turns_by_place(layers.changed), folded, cells)

    acting = ctx.remembered(find, places_name(layers.changed, layers.changes, cells))
    return apply_changes(pa.concat_tables([each.select(fields.names).cast(fields) for each in below]), acting, cells)
