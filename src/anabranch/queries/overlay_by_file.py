"""Decide by turn and key range which folded changes act on which files, so that scans need not compare turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.objects import KeyRange, Layer


def acting(folded: pa.Table, files: Sequence[Layer], key: Sequence[str], turns: Sequence[str]) -> pa.Table | None:
    """The folded changes without those older than the file that may hold the key; null in `turns` means no change.

    None if files of several turns may hold the same key: then the rows themselves must be compared.
    """
    if len({x.turn for x in files}) == 1:
        return _newer(folded, files[0].turn, turns)
    apart = _apart_by(files, len(key))
    if apart is None:
        return None
    parts = [_newer(_within(folded, key[apart], apart, x.object.key_range), x.turn, turns) for x in files]
    return pa.concat_tables(parts)


def can_assign_changes(files: Sequence[Layer], key_columns: int) -> bool:
    """Whether turns and key ranges tell which changes act on which files."""
    return len({x.turn for x in files}) == 1 or _apart_by(files, key_columns) is not None


def _apart_by(files: Sequence[Layer], key_columns: int) -> int | None:
    """The number of a key column in which no two files share a value."""
    ranges = [x.object.key_range for x in files]
    known = [r for r in ranges if r is not None]
    return next((n for n in range(key_columns) if len(known) == len(ranges) and _are_apart(known, n)), None)


def _are_apart(ranges: Sequence[KeyRange], column: int) -> bool:
    """Whether no two ranges share a value of one key column."""
    ordered = sorted(((r.low[column], r.high[column]) for r in ranges), key=lambda ends: ends[0])
    return all(one[1] < other[0] for one, other in pairwise(ordered))  # type: ignore[operator]


def _within(folded: pa.Table, name: str, column: int, key_range: KeyRange | None) -> pa.Table:
    assert key_range is not None
    values = folded.column(name)
    low, high = (pa.scalar(end[column], values.type) for end in (key_range.low, key_range.high))
    return folded.filter(pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high)))


def _newer(folded: pa.Table, turn: int, turns: Sequence[str]) -> pa.Table:
    """The changes after a turn."""
    acts = pa.repeat(False, folded.num_rows)
    for name in turns:
        values = folded.column(name)
        newer = pc.fill_null(pc.greater(values, turn), False)
        acts = pc.or_(acts, newer)
        kept = pc.if_else(newer, values, pa.scalar(None, values.type))
        folded = folded.set_column(folded.schema.get_field_index(name), name, kept)
    return folded.filter(acts)
