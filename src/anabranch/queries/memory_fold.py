"""Changes folded in memory: one row for each key, as a scan's query for it would give, without an engine's planning.

Left to the engine: changes that were written under another schema, and types that Arrow can't compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.queries.groups import GONE, turn_of
from anabranch.queries.scan import Scan

Held = Sequence[tuple[Layer, pa.Table]]


def folded_in_memory(
    plan: Scan, deltas: Sequence[Layer], cells: Sequence[Column], read: Callable[[Layer], pa.Table]
) -> pa.Table | None:
    """Fold changes, which `read` brings into memory, to one row per key; None if it takes an engine."""
    ordered = sorted(deltas, key=lambda x: x.turn)
    is_strange = any(c.type.is_nested for c in cells)
    if is_strange or not all(plan.written_alike(x.object, (*plan.key, *cells)) for x in ordered):
        return None
    held = [(x, read(x)) for x in ordered]
    turns = pa.concat_arrays([_repeated(x.turn, rows) for x, rows in held])
    numbers = pa.array(np.arange(len(turns)))
    gone = pa.concat_arrays([_repeated(x.turn if x.object.kind == "delete" else None, rows) for x, rows in held])
    keys = pa.concat_tables([rows.select(plan.key_ids) for _, rows in held])
    told = dict(zip(plan.key_ids, keys.columns, strict=True)) | {GONE: gone}
    for c in cells:
        acts = pa.concat_arrays([_changes(c, x, rows) for x, rows in held])
        told[turn_of(c)] = pc.if_else(acts, numbers, None)
    grouped = pa.table(told)
    last = grouped.group_by(plan.key_ids, use_threads=False).aggregate(
        [(name, "max") for name in (GONE, *map(turn_of, cells))]
    )
    found = {k: last.column(k) for k in plan.key_ids} | {GONE: last.column(f"{GONE}_max")}
    for c in cells:
        number = last.column(f"{turn_of(c)}_max")
        found[str(c.id)] = _values(c, held).take(number)
        found[turn_of(c)] = turns.take(number)
    return pa.table(found)


def _changes(column: Column, layer: Layer, rows: pa.Table) -> pa.Array:
    """Which rows of a change give the column another value: nulls and NaN equal themselves, 0.0 equals -0.0."""
    if not _touches(layer, column):
        return pa.repeat(False, rows.num_rows)
    before, after = rows.column(column.before).combine_chunks(), rows.column(str(column.id)).combine_chunks()
    same = pc.or_(pc.fill_null(pc.equal(before, after), False), pc.and_(pc.is_null(before), pc.is_null(after)))
    if pa.types.is_floating(before.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(before), pc.is_nan(after)), False))
    return pc.invert(same)


def _values(column: Column, held: Held) -> pa.ChunkedArray:
    """What all changes say of a column, row by row; null where they don't touch it."""
    type_ = next(rows.schema.field(column.id).type for x, rows in held if _touches(x, column))
    parts = [rows.column(column.id) if _touches(x, column) else pa.nulls(rows.num_rows, type_) for x, rows in held]
    return pa.chunked_array([chunk for part in parts for chunk in getattr(part, "chunks", [part])], type_)


def _touches(layer: Layer, column: Column) -> bool:
    return layer.object.kind == "update" and not column.ids.isdisjoint(layer.object.touched)


def _repeated(turn: int | None, rows: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(turn, pa.int32()), rows.num_rows)
