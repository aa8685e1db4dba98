"""Find values in a column: search it if it is sorted, else compare one by one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.schema import Column

Places = np.ndarray[Any, np.dtype[np.intp]]
_SORTED = b"ana.sorted"
_NUMBERS = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
_AS_NUMBERS = {**_NUMBERS, "date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}
"""Types that are searched as the integers that they are stored as."""
SEARCHED = (*_AS_NUMBERS, "string")
"""Types that can be searched."""


def marked(rows: pa.Table, is_key: bool) -> pa.Table:
    """Mark a column that is sorted, so that it can be searched."""
    column = rows.column(0)
    if not is_key or column.null_count or not column.num_chunks:
        return rows
    is_sorted = len(column) < 2 or pc.all(pc.less_equal(column[:-1], column[1:])).as_py()
    return rows.replace_schema_metadata({_SORTED: b"1"}) if is_sorted else rows


def places_of(rows: pa.Table, wanted: pa.Array, column: Column) -> Places:
    """The places where a column has one of these values."""
    values = rows.column(0)
    if _SORTED not in (rows.schema.metadata or {}):
        return np.flatnonzero(pc.is_in(values, wanted.cast(values.type)).to_numpy())
    first, last = _ranges(values, wanted, column)
    if np.all(last - first <= 1):
        return first[last > first]
    return np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])


def _ranges(values: pa.ChunkedArray, wanted: pa.Array, column: Column) -> tuple[Places, Places]:
    """The start and end of each of these values in a sorted column."""
    if column.type.name == "string":
        sought = wanted.to_pylist()
        held = _Texts(values)
        return np.array([bisect_left(held, v) for v in sought]), np.array([bisect_right(held, v) for v in sought])
    number = _AS_NUMBERS[column.type.name]
    inside = values.chunk(0).view(number).to_numpy()
    searched = wanted.cast(values.type).view(number).to_numpy()
    return np.searchsorted(inside, searched, "left"), np.searchsorted(inside, searched, "right")


@dataclass(frozen=True)
class _Texts(Sequence[str]):
    """A sorted column of texts for bisection; Python and Parquet sort them alike."""

    values: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        found: str = self.values[place].as_py()
        return found
