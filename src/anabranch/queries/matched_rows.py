"""Match and compare rows by key in memory, as `writes.matched` does on an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.types import arrow_fields
from anabranch.model.schema import Column
from anabranch.queries.overlay_fold import differs_in_memory
from anabranch.queries.query import INSERT, OP, SAME, UPDATE


def can_match(columns: Sequence[Column]) -> bool:
    """Whether Arrow compares values of these columns as engines do."""
    return not any(c.type.is_nested or c.type.only_spark for c in columns)


def matched_rows(rows: pa.Table, existing: pa.Table, key: Sequence[Column], given: Sequence[Column]) -> pa.Table:
    """Rows next to those that a table has at their keys: to insert, to update, or the same."""
    fields, keys = arrow_fields(given), arrow_fields(key)
    rows = rows.select(fields.names).cast(fields)
    places = places_at(rows.select(keys.names), existing.select(keys.names).cast(keys))
    found = pa.array(places, mask=places < 0)
    plain = [c for c in given if str(c.id) not in keys.names]
    before = {c: existing.column(c.id).cast(fields.field(c.id).type).take(found) for c in plain}
    op = np.where(places < 0, INSERT, SAME).astype(object)
    for c, old in before.items():
        op[differs_in_memory(old, rows.column(c.id)).to_numpy() & (places >= 0)] = UPDATE
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    columns |= {c.before: old for c, old in before.items()}
    return pa.table({**columns, OP: pa.array(op, pa.string())})


def places_at(keys: pa.Table, among: pa.Table) -> Any:
    """The place of each key among others, which are unique; -1 for one that is not there."""
    if keys.num_columns == 1:
        return pc.fill_null(pc.index_in(keys.column(0), value_set=among.column(0).combine_chunks()), -1).to_numpy()
    numbers = _numbers(pa.concat_tables([keys, among]))
    sought, there = numbers[: keys.num_rows], numbers[keys.num_rows :]
    places = np.full(len(numbers) + 1, -1)
    places[there] = np.arange(len(there))
    return places[sought]


def _numbers(keys: pa.Table) -> Any:
    """Number keys of several columns; equal keys get equal numbers."""
    numbers = np.zeros(keys.num_rows, dtype=np.int64)
    for column in keys.columns:
        codes = column.combine_chunks().dictionary_encode().indices.to_numpy()
        numbers = np.unique(numbers * keys.num_rows + codes, return_inverse=True)[1]
    return numbers
