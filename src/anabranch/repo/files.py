"""Files that users bring: CSV, JSON and Parquet, read into Arrow; compressed or not, by the names of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from anabranch.errors import InvalidRequest, NotFound, Unavailable
from anabranch.model.schema import Column
from anabranch.objects.arrow import arrow_type
from anabranch.repo.inputs import json_columns, read_schema_argument

_FORMATS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_COMPRESSED = (".gz", ".bz2", ".zst")
_JSON_BLOCK_BYTES = 16 * 1024 * 1024
_LARGEST_BLOCK_BYTES = 2**31 - 1


def read_files(
    paths: Sequence[str], format: str | None = None, columns: Sequence[Column] = (), nulls: Sequence[str] = ()
) -> pa.Table:
    """Read files as one table; the types of known columns are taken from them, the others are inferred."""
    parts = [_read(path, format or file_format(path), columns, nulls) for path in paths]
    try:
        whole = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        message = f"the files have columns of different types: {_first_line(error)}"
        raise InvalidRequest(message, hint="import them one by one, or give the types") from error
    return _without_null_types(whole).replace_schema_metadata(None)


def declared_columns(schema: str) -> tuple[Column, ...]:
    """The columns that DDL text declares."""
    return read_schema_argument(schema)


def file_format(path: str) -> str:
    """Tell a file's format by its name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    plain = suffixes[:-1] if suffixes and suffixes[-1] in _COMPRESSED else suffixes
    found = _FORMATS.get(plain[-1]) if plain else None
    if found is None:
        raise InvalidRequest(f"the name of {path!r} does not tell its format", hint="say csv, json or parquet")
    return found


def _read(path: str, format: str, columns: Sequence[Column], nulls: Sequence[str]) -> pa.Table:
    with _translated(path, format):
        if format == "csv":
            return _read_csv(path, _types(columns), nulls)
        return _read_json(path, columns) if format == "json" else pyarrow.parquet.read_table(path)


def _types(columns: Sequence[Column]) -> dict[str, pa.DataType]:
    return {column.name: arrow_type(column.type) for column in columns}


def _read_csv(path: str, types: dict[str, pa.DataType], nulls: Sequence[str]) -> pa.Table:
    """Read CSV; types are inferred from the first block, and if a later one does not fit, from all."""
    convert = pyarrow.csv.ConvertOptions(
        column_types=types, null_values=["", *nulls], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    try:
        return pyarrow.csv.read_csv(path, convert_options=convert, parse_options=parse)
    except pa.ArrowInvalid:
        whole = pyarrow.csv.ReadOptions(block_size=_size(path))
        return pyarrow.csv.read_csv(path, read_options=whole, convert_options=convert, parse_options=parse)


def _read_json(path: str, columns: Sequence[Column]) -> pa.Table:
    """Read objects, one after another or in an array. What some rows leave out is null in them."""
    with pa.input_stream(path, compression="detect") as stream:
        content = stream.read()
    free = [c for c in columns if any(t.name in ("map", "variant") for t in c.type.walk())]
    if content.lstrip()[:1] == b"[":
        content = "\n".join(json.dumps(row) for row in json.loads(content)).encode()
    rows = [json.loads(line) for line in content.splitlines() if line.strip()] if free else []
    apart = json_columns(rows, free)
    if apart:
        content = "\n".join(json.dumps({k: v for k, v in row.items() if k not in apart}) for row in rows).encode()
    types = _types([c for c in columns if c not in free])
    read = pyarrow.json.ReadOptions(block_size=max(_JSON_BLOCK_BYTES, min(len(content), _LARGEST_BLOCK_BYTES)))
    parse = pyarrow.json.ParseOptions(explicit_schema=pa.schema(types) if types else None)
    found = pyarrow.json.read_json(pa.BufferReader(content), read_options=read, parse_options=parse)
    empty = [name for name in types if found.column(name).null_count == found.num_rows]
    found = found.drop_columns([name for name in empty if name not in _keys(content)]) if empty else found
    for name, values in apart.items():
        found = found.append_column(name, values)
    return found


def _keys(content: bytes) -> set[str]:
    """The keys that occur: a declared column that no row names was not given, rather than given as null."""
    return {key for line in content.splitlines() if line.strip() for key in json.loads(line)}


def _size(path: str) -> int:
    """A block that holds the whole file."""
    factor = 20 if path.endswith(_COMPRESSED) else 1
    return min(Path(path).stat().st_size * factor + 1, _LARGEST_BLOCK_BYTES)


def _without_null_types(rows: pa.Table) -> pa.Table:
    """A column without a single value is taken for text."""
    fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in rows.schema]
    return rows.cast(pa.schema(fields))


@contextmanager
def _translated(path: str, format: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path!r}", hint="check the path", file=path) from error
    except (pa.ArrowException, ValueError) as error:
        message = f"{path!r} can't be read as {format}: {_first_line(error)}"
        raise InvalidRequest(message, hint="check the file and its format", file=path) from error
    except OSError as error:
        message = f"{path!r} can't be read: {error.strerror or _first_line(error)}"
        raise Unavailable(message, hint="check the file and its permissions", file=path) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
