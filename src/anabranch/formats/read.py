"""Reads the files that users bring, in the process or on Spark, with the same readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow.parquet

from anabranch.engines.choice import Engines
from anabranch.errors import InvalidRequest
from anabranch.formats.process.inference import renamed, with_types
from anabranch.formats.process.notes import notes
from anabranch.formats.process.parts import Reading, empty_rows, read_part
from anabranch.formats.process.row_places import RowPlaces, rows_with_bad_keys
from anabranch.formats.rules.bad_rows import BadRows, bad_rows
from anabranch.formats.rules.encodings import translated
from anabranch.formats.rules.found_files import DataFile, find_files, is_tabbed
from anabranch.formats.rules.packed import is_in_zip
from anabranch.formats.rules.request import FilesRequest, check_columns, check_renames
from anabranch.formats.rules.text import TextOptions, check_options
from anabranch.plan.engine import Work

Progress = Callable[[str], None]
"""Is told what comes next, in one line."""


@dataclass(frozen=True)
class FileRows:
    """What was read: an Arrow table or a Spark DataFrame, and how many rows were set aside."""

    rows: Any
    columns: tuple[str, ...]
    row_count: int
    bad_count: int
    notes: tuple[str, ...] = ()
    """What may surprise: columns that are text because of a few values, or that were renamed."""
    places: RowPlaces | None = field(default=None, repr=False)
    """Where each row comes from; None if read on Spark."""

    def naming_places(self) -> AbstractContextManager[None]:
        """Make errors in writing these rows name their files and lines, as far as known."""
        return self.places.naming_places() if self.places else nullcontext()


def read_files(engines: Engines, request: FilesRequest, progress: Progress = lambda _: None) -> FileRows:
    """Read files as one table: in the process, or on Spark if there is much to read."""
    files = find_files(request.paths, request.format)
    reading = Reading(request.columns, _options_for(files, request), request.rename)
    with bad_rows(request.bad_rows) as bad:
        if _needs_spark(engines, files):
            from anabranch.formats.spark.read import read_on_spark

            read = read_on_spark(engines.spark().session, files, reading, request, bad, progress)
            return FileRows(read.frame, tuple(read.frame.columns), read.row_count, bad.count)
        places, described = read_in_process(files, reading, request, bad, progress)
        found = places.rows
        return FileRows(found, tuple(found.column_names), found.num_rows, bad.count, described, places)


def _options_for(files: Sequence[DataFile], request: FilesRequest) -> TextOptions:
    """The options for the text of these files; the delimiter is a tab if their names say so."""
    of_text = [f.path for f in files if f.format == "csv"]
    tabs = [path for path in of_text if is_tabbed(path)]
    if request.has_delimiter or not tabs:
        return request.options
    others = [path for path in of_text if not is_tabbed(path)]
    if others:
        message = f"by their names, fields of {tabs[0]!r} have tabs between them, and those of {others[0]!r} commas"
        raise InvalidRequest(message, hint="import them one by one, or say what all have (--delimiter, delimiter=)")
    return check_options(replace(request.options, delimiter="\t"))


def read_in_process(
    files: Sequence[DataFile],
    reading: Reading,
    request: FilesRequest,
    bad: BadRows,
    progress: Progress = lambda _: None,
) -> tuple[RowPlaces, tuple[str, ...]]:
    """Read files into one Arrow table with the places of its rows, and note what may surprise."""
    parts = []
    for number, file in enumerate(files, 1):
        progress(f"reading file {number:,} of {len(files):,}")
        parts.append(read_part(file, reading, bad))
    bad.refuse()
    check_renames({p.file.path: p.rows.column_names for p in parts}, request)
    names = list(dict.fromkeys(name for part in parts for name in part.rows.column_names))
    parts = [renamed(part, reading) for part in parts]
    check_columns({p.file.path: p.rows.column_names for p in parts}, request)
    rows = with_types(parts, reading)
    if not rows.num_columns:
        rows = empty_rows(reading.columns)  # An empty array names no columns.
    places = RowPlaces(rows, tuple((part.file, part.rows.num_rows) for part in parts), reading)
    described = tuple(notes(places, names, parts))
    wrong = rows_with_bad_keys(places, request.key) if bad.are_set_aside else {}
    return places.without(wrong, bad) if wrong else places, described


def _needs_spark(engines: Engines, files: Sequence[DataFile]) -> bool:
    """Pick the engine; some Parquet can only be read in the process."""
    size = 0
    for file in files:
        with translated(file.path, file.format):
            size += file.size_bytes
    beyond = _beyond_spark([file for file in files if file.format == "parquet"])
    if beyond and engines.setting == "spark":
        raise InvalidRequest(beyond, hint="change the files, or read in the process (engine duck)")
    if beyond:
        return False
    return not engines.pick(Work(size), f"reading {len(files)} files").in_process


def _beyond_spark(files: Sequence[DataFile]) -> str | None:
    """What Spark, which reads Parquet itself, cannot do with these files; None if nothing."""
    packed = [f.path for f in files if is_in_zip(f.path)]
    if packed:
        return f"Spark can't unpack {packed[0]!r}"
    return next((f"Spark can't read {what} in {path!r}" for path, what in _foreign_types(files)), None)


def _foreign_types(files: Sequence[DataFile]) -> Iterator[tuple[str, str]]:
    """Parquet types that the process can read and Spark cannot."""
    for file in files:
        with translated(file.path, file.format):
            schema = pyarrow.parquet.ParquetFile(file.path).schema
        for type_ in (schema.column(i).logical_type.to_json() for i in range(len(schema))):
            found = next((name for mark, name in _FOREIGN.items() if mark in type_), None)
            if found:
                yield file.path, found


_FOREIGN = {'"nanoseconds"': "times in nanoseconds", '"Float16"': "float16"}
"""What marks a type's description, and what the type is called."""
