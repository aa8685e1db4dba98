"""export: write rows into a file, batch by batch; the file appears complete or not at all."""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet

from anabranch.errors import AlreadyExists, InvalidRequest, Unavailable
from anabranch.formats.export_text import CsvStyle, csv_header, csv_lines, json_lines
from anabranch.formats.rules.found_files import COMPRESSED, file_format
from anabranch.formats.rules.packed import CODECS, XZ, ZIP
from anabranch.formats.rules.text import TextOptions, check_options


@dataclass(frozen=True)
class ExportRequest:
    """Where rows go, and how they are written."""

    target: str | BinaryIO
    """A path, or a stream open for writing."""
    format: str | None = None
    array: bool = False
    """For JSON: one array instead of one object per line."""
    force: bool = False
    """Whether to replace an existing file."""
    style: CsvStyle = field(default_factory=CsvStyle)


def export(rows: AbstractContextManager[tuple[pa.Schema, Iterable[pa.RecordBatch]]], request: ExportRequest) -> int:
    """Write rows in their order, batch by batch, once the target is open; return their number."""
    format = _format(request)
    write = {"csv": _write_csv, "json": _write_json, "parquet": _write_parquet}[format]
    with _target(request, format) as sink, rows as (schema, batches):
        return write(sink, schema, batches, request)


def _format(request: ExportRequest) -> str:
    """The requested format, or the one the file's name implies; a folder is refused."""
    if not isinstance(request.target, str):
        return request.format or "csv"
    path = Path(request.target)
    if path.is_dir() or request.target.endswith("/"):
        example = os.path.join(request.target, f"rows.{request.format or 'csv'}")
        raise InvalidRequest(f"{request.target!r} is a folder", hint=f"name a file in it, such as {example!r}")
    if path.suffix.lower() == ZIP:
        raise InvalidRequest(f"{path.name!r}: a zip is not written", hint=f"{', '.join(COMPRESSED)} are")
    return request.format or file_format(request.target)


def csv_style(delimiter: str, header: bool, quote: str, null: str, quote_all: bool) -> CsvStyle:
    """Check the options for writing CSV."""
    checked = check_options(TextOptions(delimiter=delimiter, quote=quote))
    if not checked.quote:
        raise InvalidRequest("CSV can't be written without a quote", hint="fields that hold the delimiter need it")
    if any(ch in null for ch in (checked.delimiter, checked.quote, "\r", "\n")):
        hint = "leave the delimiter, quotes and line ends out of it"
        raise InvalidRequest(f"{null!r} can't stand for null", hint=hint)
    return CsvStyle(checked.delimiter, header, checked.quote, null, quote_all)


def _write_csv(sink: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch], request: ExportRequest) -> int:
    if request.style.header:
        sink.write(csv_header(schema.names, request.style))
    count = 0
    for batch in batches:
        sink.write(csv_lines(batch, request.style))
        count += batch.num_rows
    return count


def _write_json(sink: Any, _schema: pa.Schema, batches: Iterable[pa.RecordBatch], request: ExportRequest) -> int:
    count = 0
    for batch in batches:
        for line in json_lines(batch):
            before = ("[\n" if not count else ",\n") if request.array else ""
            sink.write(f"{before}{line}{'' if request.array else chr(10)}".encode("utf-8", "surrogatepass"))
            count += 1
    if request.array:
        sink.write(b"\n]\n" if count else b"[]\n")
    return count


def _write_parquet(sink: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch], _request: ExportRequest) -> int:
    count = 0
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


@contextmanager
def _target(request: ExportRequest, format: str) -> Iterator[Any]:
    """Open the target: a stream as it is; a file under a temporary name, renamed once all is written."""
    if not isinstance(request.target, str):
        yield request.target
        return
    path = Path(request.target)
    _check(path, request)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED and format == "parquet":
        raise InvalidRequest(f"{path.name!r}: Parquet is compressed within", hint=f"leave {suffix} out of the name")
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    with _translated(request.target):
        try:
            with _opened(partial, path.suffix.lower()) as sink:
                yield sink
            partial.replace(path)
        finally:
            with suppress(FileNotFoundError):
                partial.unlink()


def _opened(partial: Path, ending: str) -> Any:
    """Open a new file, compressed according to the ending of its final name."""
    return lzma.open(partial, "wb") if ending == XZ else pa.output_stream(str(partial), compression=CODECS.get(ending))


def _check(path: Path, request: ExportRequest) -> None:
    if path.exists() and not path.is_file():
        raise InvalidRequest(f"{request.target!r} is not a plain file", hint="- is standard output")
    if os.path.lexists(path) and not request.force:
        hint = "--force replaces it; or name another file"
        raise AlreadyExists(f"there is a file {request.target!r} already", hint=hint, file=str(path))


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path!r} can't be written: {error.strerror or error}"
        raise Unavailable(message, hint="check the folder, its permissions and its free space", file=path) from error
