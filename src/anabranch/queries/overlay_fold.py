"""Fold changes in memory: one row for each key, as a scan's query would return, without an engine's planning.

Changes written under another schema and types that Arrow can't compare are left to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.queries.overlay_columns import GONE, turn_of


def folded_in_memory(keys: list[str], cells: Sequence[Column], changes: Sequence[tuple[Layer, pa.Table]]) -> pa.Table:
    """Fold changes, each with its rows, to one row per key; `can_fold_in_memory` tells whether they can be."""
    held = sorted(changes, key=lambda change: change[0].turn)
    said = pa.concat_tables([_said(keys, cells, x, rows) for x, rows in held], promote_options="default")
    said = said.combine_chunks()
    turns = np.repeat(np.array([x.turn for x, _ in held], dtype=np.int32), [rows.num_rows for _, rows in held])
    deletes = np.repeat([x.object.kind == "delete" for x, _ in held], [rows.num_rows for _, rows in held])
    described = {k: said.column(k) for k in keys} | {GONE: pa.array(turns, mask=~deletes)}
    numbers = pa.array(np.arange(len(turns)))
    for c in cells:
        described[turn_of(c)] = pc.if_else(
            differs_in_memory(said.column(c.before), said.column(str(c.id))), numbers, None
        )
    last = pa.table(described).group_by(keys, use_threads=False)
    last = last.aggregate([(name, "max") for name in (GONE, *map(turn_of, cells))])
    found = {k: last.column(k) for k in keys} | {GONE: last.column(f"{GONE}_max")}
    for c in cells:
        number = last.column(f"{turn_of(c)}_max")
        found[str(c.id)] = said.column(str(c.id)).take(number)
        found[turn_of(c)] = pa.array(turns).take(number)
    return pa.table(found)


def _said(keys: list[str], cells: Sequence[Column], layer: Layer, rows: pa.Table) -> pa.Table:
    """The content of a change: the keys, and the cells that it touches, before and after."""
    return rows.select([*keys, *(n for c in cells if _touches(layer, c) for n in (str(c.id), c.before))])


def differs_in_memory(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which cells have another value: nulls and NaN equal themselves, 0.0 equals -0.0."""
    if not (before.null_count or after.null_count or pa.types.is_floating(before.type)):
        return pc.not_equal(before, after)
    same = pc.or_(pc.fill_null(pc.equal(before, after), False), pc.and_(pc.is_null(before), pc.is_null(after)))
    if pa.types.is_floating(before.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(before), pc.is_nan(after)), False))
    return pc.invert(same)


def _touches(layer: Layer, column: Column) -> bool:
    return layer.object.kind == "update" and not column.ids.isdisjoint(layer.object.touched)
