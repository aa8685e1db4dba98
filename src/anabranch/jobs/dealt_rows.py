"""Deals the rows of a table to shards, as files for executors: in this process, or by Spark if there are many."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import InvalidRequest
from anabranch.jobs.inputs import Pin, open_pinned
from anabranch.jobs.request import JobRequest
from anabranch.plan.shards import range_bounds

if TYPE_CHECKING:
    from anabranch.objects.workplaces import Workplace
    from anabranch.repo.read.table import Table
    from anabranch.repo.repository import Repository

ROWS_HERE = 200_000
"""Up to this many rows are dealt in this process."""
_DONE = "_SUCCESS"
"""Written last, by Spark and by us."""


@dataclass(frozen=True)
class DealtTo:
    """Where the rows of an input go: a folder of the job's workplace, with a part for each shard."""

    place: Workplace
    folder: str
    shards: int
    by_range: bool = False


def write_input_rows(
    repo: Repository, pinned: Pin, rows: Any, place: Workplace, folder: str, asked: JobRequest
) -> None:
    """Write the rows of a table into a folder of the job, a part for each shard, unless an earlier run did.

    `rows` are the rows wanted; None for all.
    """
    if _DONE in place.names(folder):
        return
    table = open_pinned(repo, pinned)
    chosen = _columns(table, asked)
    to = DealtTo(place, folder, asked.shards, _is_by_range(table, asked))
    _write(table, rows, chosen, to, asked)


def write_whole_input(repo: Repository, pinned: Pin, place: Workplace, folder: str, asked: JobRequest) -> None:
    """Write all rows of a table as one part, which each shard reads, unless an earlier run did."""
    if _DONE not in place.names(folder):
        table = open_pinned(repo, pinned)
        _write(table, None, [c.name for c in table.schema], DealtTo(place, folder, 1), asked)


def deal_gone(repo: Repository, pinned: Pin, came: pa.Table, went: pa.Table, asked: JobRequest) -> list[list[Any]]:
    """Deal rows that are gone, each to the shard that a new row of the same values would go to."""
    table = open_pinned(repo, pinned)
    dealt: list[list[Any]] = [[] for _ in range(asked.shards)]
    columns = _columns(table, asked)
    by_range = _is_by_range(table, asked)
    numbers = _ranged(went, columns[0], asked.shards, came) if by_range else _hashed(went, columns, asked.shards)
    for number, row in zip(numbers, went.to_pylist(), strict=True):
        dealt[number].append(row)
    return dealt


def _columns(table: Table, asked: JobRequest) -> list[str]:
    """The columns that rows are dealt by: the one asked for, the first of the key, or all."""
    names = [c.name for c in table.schema]
    column = asked.shard_by.column or (table.key[0] if table.key else None)
    if column is not None and column not in names:
        message = f"shard_by= names column {column!r}, which input {table.name!r} has not"
        raise InvalidRequest(message, hint=f"it has {', '.join(names)}; an input that is not to be dealt: whole(…)")
    return [column] if column else names


def _is_by_range(table: Table, asked: JobRequest) -> bool:
    return asked.shard_by.rows == "range" and bool(asked.shard_by.column or table.key)


def _write(table: Table, rows: Any, chosen: Sequence[str], to: DealtTo, asked: JobRequest) -> None:
    if rows is not None or asked.local or table.count() <= ROWS_HERE:
        deal_here(table.arrow() if rows is None else rows, chosen, to)
    else:
        _deal_on_spark(table.spark(), chosen, to)


def deal_here(rows: pa.Table, columns: Sequence[str], to: DealtTo) -> None:
    """Write one file with a batch for each shard that has rows."""
    numbers = _ranged(rows, columns[0], to.shards) if to.by_range else _hashed(rows, columns, to.shards)
    order = pc.sort_indices(pa.array(numbers, pa.int32()))
    counts = pc.value_counts(pa.array(numbers, pa.int32())).to_pylist()
    ordered, start, places = rows.take(order), 0, {}
    with to.place.sink(f"{to.folder}/rows.arrow") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        for place, found in enumerate(sorted(counts, key=lambda c: c["values"])):
            part = ordered.slice(start, found["counts"]).combine_chunks()
            writer.write_table(part)
            places[found["values"]] = place
            start += found["counts"]
    to.place.write(f"{to.folder}/places.json", json.dumps(places).encode())
    to.place.write(f"{to.folder}/{_DONE}", b"")


def _hashed(rows: pa.Table, columns: Sequence[str], shards: int) -> list[int]:
    """A row's shard, by a checksum of its values' text: the same for equal values."""
    values = zip(*(rows.column(c).to_pylist() for c in columns), strict=True)
    return [crc32("\x1f".join("\x1e" if v is None else str(v) for v in row).encode()) % shards for row in values]


def _ranged(rows: pa.Table, column: str, shards: int, of: pa.Table | None = None) -> list[int]:
    """A row's shard, by the range that its value is in: neighbours stay together. The ranges are those `of` rows."""
    values = rows.column(column).to_pylist()
    known = values if of is None else of.column(column).to_pylist()
    bounds = range_bounds([v for v in known if v is not None], shards)
    return [0 if v is None else bisect_right(bounds, v) for v in values]


def _deal_on_spark(frame: Any, columns: Sequence[str], to: DealtTo) -> None:
    from anabranch.engines.spark_shards import hashed_shard, ranged_shard

    number = ranged_shard(frame, columns[0], to.shards) if to.by_range else hashed_shard(frame, columns, to.shards)
    path = f"{to.place.path}/{to.folder}"
    there = path if "://" in path else f"file://{path}"
    dealt = frame.withColumn("shard", number).write.partitionBy("shard").options(**to.place.spark_options)
    dealt.mode("overwrite").parquet(there)
