"""Parquet: bytes to Arrow and back, and what footers and sorted keys tell without reading rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anabranch.arrow.types import key_value
from anabranch.errors import Corrupt, InvalidRequest, Unavailable
from anabranch.model.objects import KeyRange, KeyValue
from anabranch.model.schema import Column, field_id
from anabranch.objects.looks import Look, LookTask, footer_ranges, look_at, repeats_in, sync
from anabranch.settings import ENCODING_SAMPLE_ROWS, INLINE_MEMORY_LIMIT_BYTES, PLAIN_WRITE_LIMIT_BYTES

_UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
_FORMAT: dict[str, Any] = {
    "compression": "zstd",
    "store_schema": False,
    "write_page_checksum": True,
    "store_decimal_as_integer": True,
}
_SMALL: dict[str, Any] = {"compression": "snappy", "use_dictionary": False}
"""Options for few rows, where zstd and dictionaries cost more than they save, in time and in bytes."""
_WHOLE_NUMBERS = (pa.int32(), pa.int64())
_IN_LISTS = {"list": "list.", "map": "key_value.", "struct": ""}


@dataclass(frozen=True)
class Footer:
    """What a file's footer says."""

    row_count: int
    key_range: KeyRange | None
    null_keys: int


def encode(table: pa.Table, row_group_rows: int, *, quick: bool = False) -> bytes:
    """Write a table as one Parquet file in memory, laid out for quick searching and reading.

    `quick` is for a short-lived file.
    """
    return bytes(encoded(table, row_group_rows, quick=quick))


def encoded(table: pa.Table, row_group_rows: int, *, quick: bool = False) -> memoryview:
    """The same in Arrow's memory, which is used again: a copy in Python's is fresh pages from the system each time."""
    sink = pa.BufferOutputStream()
    exact = [path for field in table.schema for path in _exact_leaves(field, "")]
    options = {**_FORMAT, "write_statistics": exact}
    if table.nbytes <= PLAIN_WRITE_LIMIT_BYTES:
        options |= _SMALL
    elif quick:
        options |= {"compression": "none", "use_dictionary": _repeating(table, exact), "write_statistics": False}
    else:
        options |= _encodings(table, exact)
    pq.write_table(table if quick else with_field_ids(table), sink, row_group_size=row_group_rows, **options)
    return memoryview(sink.getvalue())


def _encodings(table: pa.Table, exact: Sequence[str]) -> dict[str, Any]:
    """Options that skip useless dictionaries: integers that hardly repeat are stored as differences."""
    repeating = _repeating(table, exact)
    varied = [f for f in table.schema if f.type in _WHOLE_NUMBERS and f.name not in repeating]
    return {"use_dictionary": repeating, "column_encoding": {f.name: "DELTA_BINARY_PACKED" for f in varied} or None}


def _repeating(table: pa.Table, exact: Sequence[str]) -> list[str]:
    """The columns for which a dictionary pays."""
    varied = {f.name for f in table.schema if not pa.types.is_nested(f.type) and _is_varied(table.column(f.name))}
    return [path for path in exact if path not in varied]


def _is_varied(column: pa.ChunkedArray) -> bool:
    """Tell from a sample whether most values are distinct: a dictionary would make files larger and slower to read."""
    if len(column) < ENCODING_SAMPLE_ROWS:
        return False
    sample = column.take(pa.array(range(0, len(column), len(column) // ENCODING_SAMPLE_ROWS)))
    return bool(pc.count_distinct(sample).as_py() > len(sample) / 2)


def _exact_leaves(field: pa.Field, above: str) -> list[str]:
    """The leaves of a column that are not floats.

    Statistics of floats omit NaN, and statistics and dictionaries tell -0.0 from 0.0: filters would lose rows.
    """
    path, kind = f"{above}{field.name}", field.type
    if not pa.types.is_nested(kind):
        return [] if pa.types.is_floating(kind) else [path]
    name = "map" if pa.types.is_map(kind) else "struct" if pa.types.is_struct(kind) else "list"
    parts = [kind.key_field, kind.item_field] if name == "map" else [kind.field(i) for i in range(kind.num_fields)]
    return [leaf for part in parts for leaf in _exact_leaves(part, f"{path}.{_IN_LISTS[name]}")]


@contextmanager
def _readable(what: str, hint: str) -> Iterator[None]:
    """Report unreadable Parquet as damage, but not a lack of memory, which Arrow reports as an error, too."""
    try:
        yield
    except MemoryError as error:
        raise Unavailable(f"out of memory while {what} was read", hint="free some memory, or read less") from error
    except _UNREADABLE as error:
        raise Corrupt(f"{what} is not readable Parquet: {error}", hint=hint) from error


def decode(content: bytes) -> pa.Table:
    """Read a small Parquet file from memory, where threads and reading ahead would only cost."""
    with _readable("an object", "restore the catalogue from a backup"):
        return without_field_ids(read_within_limit(pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)))


def read_columns(file: BinaryIO, names: Sequence[str]) -> pa.Table:
    """Read some columns of a file."""
    options: dict[str, Any] = {"coerce_int96_timestamp_unit": "us", "page_checksum_verification": True}
    with _readable("a file", "write it again"):
        return without_field_ids(pq.ParquetFile(file, **options).read(columns=list(names)))


def read_footer(file: BinaryIO, key: Sequence[Column]) -> Footer:
    """Read row count, key range and null keys from a footer."""
    with _readable("a file", "write it again"):
        metadata = pq.ParquetFile(file).metadata
    nulls, ranges = footer_ranges(metadata, [str(c.id) for c in key])
    return Footer(metadata.num_rows, key_range(ranges, key), nulls)


def key_range(ranges: Sequence[tuple[Any, Any]] | None, key: Sequence[Column]) -> KeyRange | None:
    """The least and greatest value of each key column, in comparable form; None if one has none."""
    if not ranges:
        return None
    sides = [(key_value(low, c.type), key_value(high, c.type)) for (low, high), c in zip(ranges, key, strict=True)]
    if any(end is None for side in sides for end in side):
        return None
    return KeyRange(*zip(*sides, strict=True))


def look(file: BinaryIO, task: LookTask) -> Look:
    """Examine a file of the object root, and sync it."""
    with _readable("a file", "write it again"):
        sync(file)
        return look_at(file, task)


def column_names(file: BinaryIO) -> set[str]:
    """Read the names of the columns from a footer."""
    with _readable("a file", "write it again"):
        return set(pq.read_schema(file).names)


def table_range(table: pa.Table, key: Sequence[Column]) -> KeyRange | None:
    """The key range of rows in memory."""
    if table.num_rows == 0 or not key:
        return None
    lows: list[KeyValue] = []
    highs: list[KeyValue] = []
    for column in key:
        values = table.column(column.id)
        ends = pc.min_max(values)
        try:
            low, high = key_value(ends["min"].as_py(), column.type), key_value(ends["max"].as_py(), column.type)
        except OverflowError as error:
            message = f"a key in column {column.name!r} is not in the years 1 to 9999"
            raise InvalidRequest(message, hint="keys are dates and times that Python has, too") from error
        if low is None or high is None:
            return None
        lows.append(low)
        highs.append(high)
    return KeyRange(tuple(lows), tuple(highs))


def equal_rows(rows: pa.Table, key: Sequence[Column], limit: int) -> list[dict[str, Any]]:
    """Find keys that stand next to each other twice or more in sorted rows; each is listed once."""
    if rows.num_rows < 2:
        return []
    keys = rows.select([c.id for c in key]).combine_chunks().to_batches()
    return [row for batch in keys for row in repeats_in(batch).slice(0, limit).to_pylist()][:limit]


_KEY = b"PARQUET:field_id"


def with_field_ids(table: pa.Table) -> pa.Table:
    """The same rows with field ids on all columns and nested fields."""
    fields = [_numbered(field, field.name) for field in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def without_field_ids(table: pa.Table) -> pa.Table:
    """The same rows without the metadata that only files need."""
    return pa.Table.from_arrays(table.columns, schema=pa.schema([f.remove_metadata() for f in table.schema]))


def _numbered(field: pa.Field, path: str) -> pa.Field:
    return pa.field(field.name, _inside(field.type, path), field.nullable, {_KEY: str(field_id(path)).encode()})


def _inside(type_: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([_numbered(field, f"{path}.{field.name}") for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_numbered(type_.key_field, f"{path}.key"), _numbered(type_.item_field, f"{path}.value"))
    if pa.types.is_list(type_):
        return pa.list_(_numbered(type_.value_field, f"{path}.element"))
    return type_


_FIXED_BYTES = 16
_ANY_WIDTH = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_PIECES = 16


def read_within_limit(file: pq.ParquetFile, limit_bytes: int = INLINE_MEMORY_LIMIT_BYTES) -> pa.Table:
    """Read all rows; refuse those that would take more memory than the limit, before they do."""
    metadata = file.metadata
    least, most = _least_and_most(metadata)
    if least > limit_bytes:
        raise _swollen(limit_bytes)
    if most <= limit_bytes:
        return file.read(use_threads=False)
    widest = max(1, most // max(1, metadata.num_rows))
    return _read_in_pieces(file, max(1, limit_bytes // _PIECES // widest), limit_bytes)


def _least_and_most(metadata: pq.FileMetaData) -> tuple[int, int]:
    """The size of the values if each is small, and if each is as large as all that its column chunk holds."""
    least = most = 0
    for n in range(metadata.num_row_groups):
        group = metadata.row_group(n)
        for i in range(metadata.num_columns):
            chunk = group.column(i)
            count = chunk.num_values
            wide = chunk.total_uncompressed_size if chunk.physical_type in _ANY_WIDTH else 0
            least += count * _FIXED_BYTES // 2
            most += count * max(wide, _FIXED_BYTES)
    return least, most


def _read_in_pieces(file: pq.ParquetFile, rows: int, limit_bytes: int) -> pa.Table:
    taken, pieces = 0, []
    for batch in file.iter_batches(batch_size=rows, use_threads=False):
        taken += batch.nbytes
        if taken > limit_bytes:
            raise _swollen(limit_bytes)
        pieces.append(batch)
    return pa.Table.from_batches(pieces, file.schema_arrow).combine_chunks()


def _swollen(limit_bytes: int) -> Corrupt:
    message = f"an object would take more than {limit_bytes / 1e9:,.1f} GB of memory, which none that is written does"
    return Corrupt(message, hint="it is damaged or was made to harm; restore the catalogue from a backup")
