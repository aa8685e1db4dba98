"""Changes by place: find the row that each acts on, and apply them to the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.queries.overlay_columns import GONE, turn_of

PLACE = "_ana_place_among_rows"
_FOUND = "_ana_found"
_SLICES_AT_MOST = 64
_STRETCHES_AT_MOST = 64


Turns = Callable[[Any], Any]
"""The turns of the rows at some places."""


def places_name(rows: Sequence[Layer], changes: Sequence[Layer], cells: Sequence[Column]) -> Hashable:
    """The cache key for the places of these changes among these rows."""
    ids = [tuple((x.turn, x.object.id) for x in layers) for layers in (rows, changes)]
    return (PLACE, *ids, tuple((str(c.id), str(c.type)) for c in cells))


def turns_by_place(layers: Sequence[Layer], counts: Sequence[int] | None = None) -> Turns:
    """The turns of rows that come from layers, one after another: all rows of each, or `counts`."""
    ends = np.cumsum([x.object.row_count for x in layers] if counts is None else counts)
    turns = np.array([x.turn for x in layers], dtype=np.int32)
    return lambda places: turns[np.searchsorted(ends, places, side="right")]


def acting_on(keys: pa.Table, turns: Turns, folded: pa.Table, cells: Sequence[Column]) -> pa.Table:
    """The folded changes by the place of the row that they act on, in order: which rows go, which cells change."""
    places, changes = _places(keys, folded.select(keys.column_names).cast(keys.schema))
    older = pa.array(turns(places))
    found = folded.take(pa.array(changes))
    columns: dict[str, Any] = {PLACE: pa.array(places)}
    for name in [GONE, *map(turn_of, cells)]:
        columns[name] = pc.fill_null(pc.greater(found.column(name), older), False)
    columns |= {str(c.id): found.column(str(c.id)) for c in cells}
    return pa.table(columns)


def _places(keys: pa.Table, changed: pa.Table) -> tuple[Any, Any]:
    """The places of changed keys among the rows, in order, and the number of the change for each."""
    if keys.num_columns > 1:
        return _places_of_many(keys, changed)
    rows, wanted = keys.column(0), changed.column(0).combine_chunks()
    if pa.types.is_integer(rows.type):
        found = _places_in_order(rows, wanted.to_numpy())
        if found is not None:
            return found
    numbers = pc.index_in(rows, value_set=wanted)
    return pc.indices_nonzero(pc.is_valid(numbers)).to_numpy(), pc.drop_null(numbers).to_numpy()


def _places_in_order(rows: pa.ChunkedArray, wanted: Any) -> tuple[Any, Any] | None:
    """The same for numbers in few ascending stretches, as in files; None for others."""
    stretches: list[tuple[int, Any]] = []
    start = 0
    for numbers in (chunk.to_numpy() for chunk in rows.chunks if len(chunk)):
        breaks = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
        if len(breaks) > _STRETCHES_AT_MOST:
            return None
        stretches += [(start + a, numbers[a:b]) for a, b in pairwise((0, *breaks, len(numbers)))]
        start += len(numbers)
    order = np.argsort(wanted)
    met = [_met(first, numbers, wanted[order], order) for first, numbers in stretches]
    empty = np.empty(0, dtype=np.int64)
    return np.concatenate([empty, *(p for p, _ in met)]), np.concatenate([empty, *(c for _, c in met)])


def _met(start: int, numbers: Any, wanted: Any, changes: Any) -> tuple[Any, Any]:
    """The places of wanted numbers, if both are ascending; the first number is at `start`."""
    low, high = np.searchsorted(wanted, numbers[0]), np.searchsorted(wanted, numbers[-1], side="right")
    near = wanted[low:high]
    at = np.searchsorted(numbers, near)
    same = numbers[at] == near
    return start + at[same], changes[low:high][same]


def _places_of_many(keys: pa.Table, changed: pa.Table) -> tuple[Any, Any]:
    """The same for a key of several columns."""
    may_be = np.ones(keys.num_rows, dtype=bool)
    for name in keys.column_names:
        may_be &= pc.is_in(keys.column(name), value_set=changed.column(name).combine_chunks()).to_numpy()
    near = np.flatnonzero(may_be)
    rows = keys.take(pa.array(near)).append_column(PLACE, pa.array(near))
    changes = changed.append_column(_FOUND, pa.array(np.arange(changed.num_rows)))
    met = rows.join(changes, keys.column_names, join_type="inner").sort_by(PLACE)
    return met.column(PLACE).to_numpy(), met.column(_FOUND).to_numpy()


def apply_changes(rows: pa.Table, acting: pa.Table, cells: Sequence[Column]) -> pa.Table:
    """The rows with their new values, without deleted ones."""
    places = acting.column(PLACE)
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    for id_, acts in ((str(c.id), acting.column(turn_of(c))) for c in cells):
        at = places.filter(acts).to_numpy()
        columns[id_] = _replaced(columns[id_], at, acting.column(id_).filter(acts)) if len(at) else columns[id_]
    gone = places.filter(acting.column(GONE)).to_numpy()
    applied = pa.table(columns)
    return _without(applied, gone) if len(gone) else applied


def _replaced(column: pa.ChunkedArray, places: Any, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with new values at some places, given in order; chunks without any stay as they are."""
    new = values.cast(column.type).combine_chunks()
    chunks, start = [], 0
    for chunk in column.chunks:
        low, high = np.searchsorted(places, (start, start + len(chunk)))
        chunks.append(_in_chunk(chunk, places[low:high] - start, new.slice(low, high - low)) if high > low else chunk)
        start += len(chunk)
    return pa.chunked_array(chunks, column.type)


def _in_chunk(chunk: pa.Array, places: Any, values: pa.Array) -> pa.Array:
    if pa.types.is_nested(chunk.type):
        taken = np.arange(len(chunk))
        taken[places] = np.arange(len(places)) + len(chunk)
        return pa.concat_arrays([chunk, values]).take(pa.array(taken))
    mask = np.zeros(len(chunk), dtype=bool)
    mask[places] = True
    return pc.replace_with_mask(chunk, pa.array(mask), values)


def _without(rows: pa.Table, gone: Any) -> pa.Table:
    """The rows without some places, given in order; sliced if few pieces are left between them, else filtered."""
    starts = np.concatenate(([0], gone + 1))
    ends = np.concatenate((gone, [rows.num_rows]))
    pieces = [(int(a), int(b - a)) for a, b in zip(starts, ends, strict=True) if b > a]
    if len(pieces) <= _SLICES_AT_MOST:
        return pa.concat_tables([rows.slice(*piece) for piece in pieces]) if pieces else rows.slice(0, 0)
    kept = np.ones(rows.num_rows, dtype=bool)
    kept[gone] = False
    return rows.filter(pa.array(kept))
