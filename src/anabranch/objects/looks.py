"""Describes a Parquet file where it is: its size, hash, rows, and first and last keys.

This module is sent to Spark's executors by value and imports nothing of ours there. A description is small, so a load
of any size is described without its bytes passing through the driver.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, BinaryIO

ROWS_AT_ONCE = 1 << 20
"""Rows of a file that are examined at once."""


@dataclass(frozen=True)
class LookTask:
    """What to find out about each file."""

    key: tuple[str, ...]
    """The columns whose range is wanted."""
    hashes: bool = True
    repeats: int = 0
    """How many repeated adjacent keys to report; 0 reads no keys."""
    never_null: tuple[str, ...] = ()
    """Columns that must not have nulls."""


@dataclass(frozen=True)
class Look:
    """What was found in one file, as Python values."""

    size_bytes: int
    sha256: str
    """Empty if it was not asked for."""
    row_count: int
    null_free: tuple[str, ...]
    """Those of the `never_null` columns that the footer shows to be free of nulls."""
    ranges: tuple[tuple[Any, Any], ...] | None
    """The least and greatest value of each key column; None if the footer doesn't give them exactly."""
    ends: tuple[tuple[Any, ...], ...] = ()
    """The first and the last key, or the only one, if repeats were asked for."""
    repeats: tuple[tuple[Any, ...], ...] = ()
    """Keys that stand next to each other twice or more, each listed once."""
    ascends: bool = False
    """Whether no key is less than the previous one, if repeats were asked for."""


def look_at(file: BinaryIO, task: LookTask) -> Look:
    """Examine a file: all bytes for the hash, the footer, and the keys if repeats are asked for."""
    import pyarrow.parquet as pq

    digest = hashlib.file_digest(file, "sha256").hexdigest() if task.hashes else ""  # type: ignore[arg-type]
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    parquet = pq.ParquetFile(file, page_checksum_verification=True)
    _, ranges = footer_ranges(parquet.metadata, task.key)
    null_free = tuple(name for name in task.never_null if has_no_null(parquet.metadata, name))
    ends, repeats, ascends = _walk(parquet, task) if task.repeats else ((), (), False)
    return Look(size, digest, parquet.metadata.num_rows, null_free, ranges, ends, repeats, ascends)


def repeated_keys(looks: Iterable[Look], limit: int) -> list[tuple[Any, ...]]:
    """Find keys that occur twice, within a file or at the ends of two; each is listed once.

    For sorted files whose ranges share at most their ends, these are all.
    """
    found: dict[tuple[Any, ...], None] = {}
    seen: set[tuple[Any, ...]] = set()
    for look in looks:
        found |= dict.fromkeys((*look.repeats, *(key for key in look.ends if key in seen)))
        seen.update(look.ends)
    return list(found)[:limit]


def lie_apart(looks: Iterable[Look]) -> bool:
    """Tell whether sorted files share at most their ends; False if keys can't be compared here."""
    ends = [(look.ends[0], look.ends[-1]) for look in looks if look.ends]
    try:
        ends.sort()
        return all(one[1] <= other[0] for one, other in pairwise(ends))
    except TypeError:
        return False


def has_no_null(metadata: Any, name: str) -> bool:
    """Tell whether a footer's statistics show that a column has no null."""
    return all(s is not None and s.has_null_count and s.null_count == 0 for s in _statistics(metadata, name) or [None])


def footer_ranges(metadata: Any, key: Sequence[str]) -> tuple[int, tuple[tuple[Any, Any], ...] | None]:
    """The number of nulls in the key and its range, by a footer's statistics."""
    nulls, ranges, sure = 0, [], True
    for name in key:
        statistics = _statistics(metadata, name)
        nulls += sum(s.null_count or 0 for s in statistics if s)
        ends = [_ends(s) for s in statistics]
        known = [e for e in ends if e]
        sure = sure and bool(ends) and len(known) == len(ends)
        ranges.append((min(e[0] for e in known), max(e[1] for e in known)) if known else (None, None))
    return nulls, tuple(ranges) if sure and ranges else None


def _statistics(metadata: Any, name: str) -> list[Any]:
    """The statistics of each row group; empty for a nested column."""
    index = next((i for i in range(metadata.num_columns) if metadata.schema.column(i).path == name), None)
    if index is None:
        return []
    return [metadata.row_group(group).column(index).statistics for group in range(metadata.num_row_groups)]


def _ends(statistics: Any) -> tuple[Any, Any] | None:
    """The least and greatest value of a row group; None if the footer doesn't give them exactly."""
    if statistics is None or not statistics.has_min_max:
        return None
    exact = (getattr(statistics, "is_min_value_exact", None), getattr(statistics, "is_max_value_exact", None))
    return None if False in exact else (statistics.min, statistics.max)


def _walk(parquet: Any, task: LookTask) -> tuple[tuple[tuple[Any, ...], ...], tuple[tuple[Any, ...], ...], bool]:
    """Scan the keys: the first and last, those that equal the previous one, and whether they ascend."""
    found: dict[tuple[Any, ...], None] = {}
    ascends = True
    first: Any = None
    last: Any = None
    for batch in parquet.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(task.key)):
        keys = batch.select(list(task.key))
        rows = keys if last is None else _join(last, keys)
        if len(found) < task.repeats:
            found |= dict.fromkeys(_values(repeats_in(rows).slice(0, task.repeats)))
        ascends = ascends and _ascends(rows)
        first = keys.slice(0, 1) if first is None else first
        last = rows.slice(rows.num_rows - 1)
    if first is None:
        return (), (), True
    return tuple(dict.fromkeys((*_values(first), *_values(last)))), tuple(found)[: task.repeats], ascends


def _ascends(rows: Any) -> bool:
    """Whether no row is less than the previous one, column by column; False if values can't be compared."""
    import pyarrow.compute as pc

    later, earlier = rows.slice(1), rows.slice(0, max(rows.num_rows - 1, 0))
    in_order: Any = None
    for one, other in reversed(list(zip(earlier.columns, later.columns, strict=True))):
        tied = pc.equal(one, other) if in_order is None else pc.and_(pc.equal(one, other), in_order)
        in_order = pc.or_(pc.less(one, other), tied)
    return pc.all(in_order, skip_nulls=False, min_count=0).as_py() is True


def repeats_in(rows: Any) -> Any:
    """The rows of a batch that equal the previous one; the first of each streak."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rows.num_rows < 2:
        return rows.slice(rows.num_rows)
    later, earlier = rows.slice(1), rows.slice(0, rows.num_rows - 1)
    same: Any = None
    for one, other in zip(earlier.columns, later.columns, strict=True):
        equal = pc.equal(one, other)
        same = equal if same is None else pc.and_(same, equal)
    before = pa.concat_arrays([pa.array([False]), same.slice(0, len(same) - 1)])
    return later.filter(pc.and_not(same, before))


def _join(last: Any, batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([last, batch]).combine_chunks().to_batches()[0]


def _values(rows: Any) -> list[tuple[Any, ...]]:
    """Rows as tuples; zoned times in UTC, the one zone that every Python has."""
    columns = [[_plain(v) for v in column.to_pylist()] for column in rows.columns]
    return list(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def sync(file: BinaryIO) -> None:
    """Make a file on disk survive a power cut."""
    try:
        number = file.fileno()
    except OSError:
        return  # in memory, or in a store that syncs by itself
    os.fsync(number)


# On executors


def look_by_path(task: LookTask, paths: Sequence[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Examine files on a disk that all machines see; their positions in `paths` come in. Syncs them, too."""
    for batch in batches:
        for place in batch.column(0).to_pylist():
            with open(paths[place], "rb") as file:
                sync(file)
                yield _answer(place, look_at(file, task))


def look_by_content(task: LookTask, names: Sequence[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Examine files whose paths and bytes come in, read by Spark from wherever they are."""
    places = {name: place for place, name in enumerate(names)}
    for batch in batches:
        for path, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            file = io.BytesIO(content.as_buffer())
            yield _answer(places[path.rpartition("/")[2]], look_at(file, task))


def _answer(place: int, look: Look) -> Any:
    import pyarrow as pa

    seen = (look.size_bytes, look.sha256, look.row_count, look.null_free)
    fields = (*seen, look.ranges, look.ends, look.repeats, look.ascends)
    return pa.RecordBatch.from_pydict({"place": pa.array([place], pa.int64()), "answer": [pickle.dumps(fields)]})


def read_answer(content: bytes) -> Look:
    """Read an executor's answer; it runs as the same user."""
    return Look(*pickle.loads(content))
