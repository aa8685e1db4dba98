"""Apply changes to rows that are all in memory, without an engine.

This reads tables that the catalogue holds whole; `looked_up.py` reads rows at some keys this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from anabranch.arrow.types import arrow_fields
from anabranch.model.ids import ObjectId
from anabranch.model.layers import as_layers
from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.read_strategy import SortedLayers, can_fold_in_memory, changed_cells, sort_layers
from anabranch.queries.overlay_fold import folded_in_memory
from anabranch.queries.overlay_places import acting_on, apply_changes, places_name, turns_by_place
from anabranch.repo.context.context import Context

_Find = Callable[[], pa.Table]


def plain_rows(
    ctx: Context, state: TableState, columns: Sequence[Column], pending: Mapping[ObjectId, bytes]
) -> pa.Table | None:
    """Read columns under their ids; None if a layer is a file, or was written under other columns."""
    small = as_layers(state.layers).inline
    if len(small) < len(state.layers):
        return None
    read = RowsInMemory.of(state, columns)
    return read and read.rows(ctx.small_rows(small, pending), lambda find, name: ctx.remembered(find, name))


class RowsInMemory:
    """A read of layers whose rows are all in memory."""

    def __init__(self, state: TableState, columns: Sequence[Column], layers: SortedLayers) -> None:
        self._state, self._columns, self._layers = state, columns, layers
        self._cells = changed_cells(state, columns, layers)

    @classmethod
    def of(cls, state: TableState, columns: Sequence[Column]) -> RowsInMemory | None:
        """Plan the read; None if objects were written under other columns, or have types that Arrow can't compare."""
        layers = sort_layers(state.layers, columns)
        read = cls(state, columns, layers)
        with_key = (*columns, *state.schema.key_columns)
        as_now = all(_hold_as_now(state, rows, c) for rows, c in ((layers.plain, columns), (layers.changed, with_key)))
        can_fold = not layers.changes or can_fold_in_memory(state, layers.changes, read._cells)
        return read if as_now and can_fold and not any(c.type.only_spark for c in columns) else None

    def rows(self, tables: Mapping[ObjectId, pa.Table], remembered: Callable[[_Find, object], pa.Table]) -> pa.Table:
        """The rows with changes applied; the places these act on may be remembered."""
        fields = arrow_fields(self._columns)
        parts = [tables[x.object.id].select(fields.names).cast(fields) for x in self._layers.plain]
        if self._layers.changed:
            parts.append(self._changed(tables, fields, remembered))
        return pa.concat_tables(parts) if parts else fields.empty_table()

    def _changed(
        self, tables: Mapping[ObjectId, pa.Table], fields: pa.Schema, remembered: Callable[[_Find, object], pa.Table]
    ) -> pa.Table:
        layers, cells = self._layers, self._cells
        below = [tables[x.object.id] for x in layers.changed]
        key = arrow_fields(self._state.schema.key_columns)

        def find() -> pa.Table:
            keys = pa.concat_tables([each.select(key.names).cast(key) for each in below])
            folded = folded_in_memory(key.names, cells, [(x, tables[x.object.id]) for x in layers.changes])
            turns = turns_by_place(layers.changed, [each.num_rows for each in below])
            return acting_on(keys, turns, folded, cells)

        acting = remembered(find, places_name(layers.changed, layers.changes, cells))
        return apply_changes(
            pa.concat_tables([each.select(fields.names).cast(fields) for each in below]), acting, cells
        )


def _hold_as_now(state: TableState, layers: Sequence[Layer], columns: Sequence[Column]) -> bool:
    return all(state.holds_as_now(x.object, columns) for x in layers)
