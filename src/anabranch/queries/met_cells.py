"""Cells that both sides of a merge changed, found from the values before and after in their change objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.queries.matched_rows import places_at
from anabranch.queries.overlay_fold import differs_in_memory
from anabranch.queries.three_way import (
    BASE,
    EDITED,
    KIND,
    OURS,
    SIDES,
    STAYS,
    THEIRS,
    changed_of,
    conflict_of,
    there,
    value_of,
)

Said = Sequence[tuple[Layer, pa.Table]]
"""Updates, each with its keys, and its cells of some columns before and after."""


@dataclass(frozen=True)
class Cells:
    """One column at some keys: before a side's first change and after its last; null where it made none."""

    before: pa.ChunkedArray
    after: pa.ChunkedArray
    is_changed: Any

    def at(self, places: Any) -> Cells:
        taken = pa.array(places)
        return Cells(self.before.take(taken), self.after.take(taken), self.is_changed[places])


def conflicts_of(keys: list[str], cells: Sequence[Column], ours: Said, theirs: Said) -> pa.Table | None:
    """The rows in conflict, in the form of decided rows; cells that are not in conflict may lack values.

    None if the two sides disagree about the base.
    """
    (our_keys, mine), (their_keys, yours) = (_folded(keys, cells, side) for side in (ours, theirs))
    places = places_at(our_keys, their_keys)
    both = np.flatnonzero(places >= 0)
    left = {c: mine[c].at(both) for c in cells}
    right = {c: yours[c].at(places[both]) for c in cells}
    met = {c: left[c].is_changed & right[c].is_changed for c in cells}
    if any(np.any(met[c] & _differ(left[c].before, right[c].before)) for c in cells):
        return None
    clash = {c: met[c] & _differ(left[c].after, right[c].after) for c in cells}
    rows = np.flatnonzero(np.logical_or.reduce(list(clash.values())))
    decided = _decided(our_keys.take(pa.array(both)), left, right, clash).take(pa.array(rows))
    return decided.take(pc.sort_indices(decided, sort_keys=[(key, "ascending") for key in keys]))


def _folded(keys: list[str], cells: Sequence[Column], side: Said) -> tuple[pa.Table, dict[Column, Cells]]:
    """The keys that a side touched, once each, and the folded changes of their cells."""
    ordered = sorted(side, key=lambda said: said[0].turn)
    said = pa.concat_tables([rows for _, rows in ordered], promote_options="default")
    said = said.combine_chunks()
    if len(ordered) == 1:  # one change tells a key once
        return said.select(keys), {c: _cells(said.column(c.before), said.column(c.id)) for c in cells}
    numbers = pa.array(np.arange(said.num_rows))
    columns: dict[str, Any] = {k: said.column(k) for k in keys}
    for c in cells:
        is_other = differs_in_memory(said.column(c.before), said.column(c.id))
        columns[str(c.id)] = pc.if_else(is_other, numbers, None)
    ends = [(str(c.id), end) for c in cells for end in ("min", "max")]
    found = pa.table(columns).group_by(keys, use_threads=False).aggregate(ends)
    folded = {}
    for c in cells:
        before = said.column(c.before).take(found.column(f"{c.id}_min"))
        after = said.column(c.id).take(found.column(f"{c.id}_max"))
        folded[c] = _cells(before, after)
    return found.select(keys), folded


def _cells(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Cells:
    return Cells(before, after, _differ(before, after))


def _differ(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Any:
    return differs_in_memory(one, other).to_numpy()


def _decided(
    keys: pa.Table, ours: dict[Column, Cells], theirs: dict[Column, Cells], clash: dict[Column, Any]
) -> pa.Table:
    count = keys.num_rows
    ones = pa.array(np.ones(count, dtype=np.int32))
    columns = dict(zip(keys.column_names, keys.columns, strict=True)) | {there(s): ones for s in SIDES}
    for c, mine in ours.items():
        yours = theirs[c]
        base = pc.if_else(pa.array(mine.is_changed), mine.before, yours.before)
        values = {BASE: base}
        values |= {s: pc.if_else(pa.array(x.is_changed), x.after, base) for s, x in ((OURS, mine), (THEIRS, yours))}
        columns |= {value_of(c, side): values[side] for side in SIDES}
        columns |= {changed_of(c, s): _flags(x.is_changed) for s, x in ((OURS, mine), (THEIRS, yours))}
        columns[str(c.id)] = pc.if_else(pa.array(mine.is_changed), values[OURS], values[THEIRS])
        columns[conflict_of(c)] = _flags(clash[c])
    columns |= {EDITED[s]: ones for s in (OURS, THEIRS)}
    return pa.table({**columns, STAYS: ones, KIND: pa.nulls(count, pa.string())})


def _flags(tests: Any) -> pa.Array:
    return pa.array(tests.astype(np.int32))
