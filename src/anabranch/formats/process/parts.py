"""Reads one file in the process: its rows with their types, and the rows that cannot be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.parquet

from anabranch.arrow.types import arrow_type
from anabranch.errors import InvalidRequest
from anabranch.formats.process import csv as csv_files
from anabranch.formats.process import json as json_files
from anabranch.formats.process.csv import Head
from anabranch.formats.process.json import column_kinds, kinds_of
from anabranch.formats.process.values import Misfit, convert, fitted, misfits, variants
from anabranch.formats.rules.bad_rows import BadRow, BadRows
from anabranch.formats.rules.encodings import refuse_utf16, translated
from anabranch.formats.rules.found_files import DataFile
from anabranch.formats.rules.json_shapes import Kinds
from anabranch.formats.rules.packed import open_file
from anabranch.formats.rules.text import TextOptions, inferred
from anabranch.model.names import plain_name
from anabranch.model.schema import Column
from anabranch.model.types import DataType


@dataclass(frozen=True)
class Reading:
    """How to read files: the declared columns, and how text is written."""

    columns: tuple[Column, ...]
    options: TextOptions
    rename: Mapping[str, str] = field(default_factory=dict)
    """New names for columns, by their names in files."""
    block_head: Head | None = None
    """The head of the file, if what is read is a block from its middle."""

    @cached_property
    def _renames(self) -> dict[str, str]:
        return {old.lower(): new for old, new in self.rename.items()}

    def renamed(self, name: str) -> str:
        """The new name of a file's column."""
        return self._renames.get(name.lower()) or plain_name(name)

    def known(self, names: Sequence[str]) -> dict[str, DataType]:
        """The declared types of a file's columns, names in any case."""
        types = self.declared([self.renamed(name) for name in names])
        return {name: types[self.renamed(name)] for name in names if self.renamed(name) in types}

    def declared(self, names: Sequence[str]) -> dict[str, DataType]:
        """The declared types of columns, by their new names."""
        types = {c.name.lower(): c.type for c in self.columns}
        return {name: types[name.lower()] for name in names if name.lower() in types}

    def column(self, name: str) -> Column:
        """A declared column, under the name that a file gives it."""
        wanted = self.renamed(name).lower()
        return replace(next(c for c in self.columns if c.name.lower() == wanted), name=name)

    def new_names(self, path: str, names: Sequence[str]) -> dict[str, str]:
        """The new names of a file's columns; refused if two are the same."""
        new = {name: self.renamed(name) for name in names}
        taken: dict[str, str] = {}
        for name in names:
            other = taken.setdefault(new[name].lower(), name)
            if other != name and (new[name], new[other]) != (name, other):
                message = f"{path!r} has columns {other!r} and {name!r}, and both would be {new[name]!r}"
                raise InvalidRequest(message, hint="rename one of them (--rename OLD=NEW, rename=)", file=path)
        return new

    def head(self, path: str) -> Head:
        """The columns of a CSV file; without a header, the declared ones."""
        if self.block_head:
            return self.block_head
        head = csv_files.read_head(path, self.options)
        if self.options.header or not self.columns:
            return head
        if len(head.names) != len(self.columns):
            message = (
                f"{path!r} has {len(head.names)} fields in its first row, {len(self.columns)} columns are declared"
            )
            raise InvalidRequest(message, hint="without a header every column is needed, in order", file=path)
        return replace(head, names=tuple(c.name for c in self.columns))


@dataclass(frozen=True)
class FilePart:
    """The rows of a file; some columns may still be text without a type."""

    file: DataFile
    rows: pa.Table
    texts: Mapping[str, tuple[DataType, ...]] = field(default_factory=dict)
    """By column, the types that its text is tried as."""
    kinds: Kinds = field(default_factory=set)
    """For JSON: the kinds of values in undeclared columns, which have Arrow's types, or are as written."""


def is_whole(type_: DataType) -> bool:
    """Whether JSON holds values of this type as objects or arrays, rather than text to be converted."""
    return type_.is_nested or type_.name == "variant"


def _is_quoted(type_: DataType) -> bool:
    """Whether JSON's form of a type is not what Arrow reads: maps, variants, and nested types that are text in JSON."""
    inside = [t for part in type_.parts for t in part.walk()]
    return any(t.name in ("map", "variant") for t in type_.walk()) or any(t.name in _WRITTEN for t in inside)


_WRITTEN = ("binary", "date", "timestamp", "timestamp_ntz")
"""Types that are text in JSON."""


def read_part(file: DataFile, reading: Reading, bad: BadRows) -> FilePart:
    """Read a file; rows that cannot be taken go to `bad`."""
    with translated(file.path, file.format):
        if file.format == "parquet":
            part = FilePart(file, _parquet(file))
        else:
            refuse_utf16(file.path, reading.options.encoding)
            part = _csv(file, reading, bad) if file.format == "csv" else _json(file, reading, bad)
            refuse_folder_columns(file, part.rows.column_names)
    return with_folder_values(part, reading)


def as_written(part: FilePart, reading: Reading) -> FilePart:
    """Read a JSON file again, with its undeclared columns as written."""
    with translated(part.file.path, part.file.format):
        return with_folder_values(_json_as_written(part.file, reading, BadRows()), reading)


def refuse_folder_columns(file: DataFile, names: Sequence[str]) -> None:
    """Refuse a column that both a file's text and a folder's name give: they might disagree."""
    own = {name.lower() for name in names}
    for name in file.values:
        if name.lower() in own:
            message = f"{file.path!r} has a column {name!r}, and so has the name of its folder"
            raise InvalidRequest(message, hint="rename one of them, or name the file alone", file=file.path)


def row_texts(file: DataFile, reading: Reading) -> Iterator[tuple[int, str]]:
    """The line and text of each good row of a text file, in order."""
    with translated(file.path, file.format):
        yield from _csv_lines(file.path, reading) if file.format == "csv" else _json_lines(file.path, reading)


def _csv_lines(path: str, reading: Reading) -> Iterator[tuple[int, str]]:
    head = reading.head(path)
    types = reading.known(head.names)
    for chunk in csv_files.read_carefully(path, head.names, head.line_count, reading.options):
        wrong = _misfitting(chunk.columns, types, reading.options)
        pairs = zip(chunk.lines, chunk.texts, strict=True)
        yield from (pair for i, pair in enumerate(pairs) if i not in wrong)


def _json_lines(path: str, reading: Reading) -> Iterator[tuple[int, str]]:
    for rows in json_files.read_carefully(path, reading.options.encoding):
        whole = [row for row in rows if row.values is not None]
        wrong = _json_misfitting(whole, reading)
        yield from ((row.line, row.text) for i, row in enumerate(whole) if i not in wrong)


def _csv(file: DataFile, reading: Reading, bad: BadRows) -> FilePart:
    head = reading.head(file.path)
    types = reading.known(head.names)
    candidates = inferred(reading.options)
    texts = {name: candidates for name in head.names if name not in types}
    quick = csv_files.read_quickly(file.path, head.names, head.line_count, reading.options)
    if quick is not None:
        try:
            return FilePart(file, _converted(quick, types, reading.options), texts)
        except Misfit:
            pass
    parts = []
    for chunk in csv_files.read_carefully(file.path, head.names, head.line_count, reading.options):
        good, faults = _sorted_out(file.path, chunk.columns, chunk.lines, chunk.texts, types, reading.options)
        bad.add(sorted([*chunk.bad, *faults], key=lambda row: row.line))
        parts.append(_converted(good, types, reading.options))
    return FilePart(file, pa.concat_tables(parts) if parts else _empty(head.names, types), texts)


def _json(file: DataFile, reading: Reading, bad: BadRows) -> FilePart:
    declared = reading.known([*(c.name for c in reading.columns), *reading.rename])
    simple = not any(_is_quoted(type_) for type_ in declared.values())
    quick = json_files.read_quickly(file.path, declared, reading.options.encoding) if simple else None
    if quick is not None and quick.num_columns:
        still = {f.name: declared[f.name] for f in quick.schema if f.name in declared and pa.types.is_string(f.type)}
        try:
            rows = _converted(quick, still, reading.options)
            names = [name for name in quick.column_names if name not in declared]
            kinds = {pair for name in names for pair in column_kinds(quick.column(name), (name,))}
            return FilePart(file, rows, kinds=kinds)
        except Misfit:
            pass
    return _json_as_written(file, reading, bad)


def _json_as_written(file: DataFile, reading: Reading, bad: BadRows) -> FilePart:
    """Read row by row; undeclared columns are text, with the kinds of what is in them."""
    taken: list[json_files.JsonRow] = []
    for rows in json_files.read_carefully(file.path, reading.options.encoding):
        good, faults = _json_sorted_out(file.path, rows, reading)
        bad.add(faults)
        taken += good
    names = list(dict.fromkeys(name for row in taken for name in row.values or {}))
    if taken and not names:
        message = f"{file.path!r}: its rows are objects without keys"
        raise InvalidRequest(message, hint="check the file", file=file.path)
    types = reading.known(names)
    columns = {name: _json_column(taken, name, types.get(name), reading.options) for name in names}
    others = set(names) - set(types)
    found = [{name: value for name, value in (row.values or {}).items() if name in others} for row in taken]
    kinds = {pair for values in found for name in values for pair in kinds_of(values[name], (name,))}
    return FilePart(file, pa.table(columns), kinds=kinds)


def _json_column(
    rows: Sequence[json_files.JsonRow], name: str, type_: DataType | None, options: TextOptions
) -> pa.ChunkedArray:
    """A column of its declared type, or as written."""
    if type_ is None or not is_whole(type_):
        texts = _text_column([row.text_of(name) for row in rows])
        return texts if type_ is None else convert(texts, type_, options)
    if type_.name == "variant":
        return variants(_text_column([row.written.get(name) for row in rows]))
    return fitted([(row.values or {}).get(name) for row in rows], type_)


def _json_sorted_out(
    path: str, rows: Sequence[json_files.JsonRow], reading: Reading
) -> tuple[list[json_files.JsonRow], list[BadRow]]:
    """Separate good objects from bad ones."""
    whole = [row for row in rows if row.values is not None]
    wrong = _json_misfitting(whole, reading)
    faults = [BadRow(path, whole[i].line, str(error), whole[i].text, error.value) for i, error in wrong.items()]
    good = [row for i, row in enumerate(whole) if i not in wrong]
    faults += [BadRow(path, row.line, row.error, row.text) for row in rows if row.values is None]
    return good, sorted(faults, key=lambda row: row.line)


def _json_misfitting(whole: Sequence[json_files.JsonRow], reading: Reading) -> dict[int, _Misfitting]:
    values = [row.values or {} for row in whole]
    known = reading.known(list(dict.fromkeys(name for v in values for name in v)))
    types = {name: type_ for name, type_ in known.items() if not is_whole(type_)}
    columns = {name: _text_column([row.text_of(name) for row in whole]) for name in types}
    wrong = _misfitting(pa.table(columns), types, reading.options)
    for name in [name for name, type_ in known.items() if is_whole(type_)]:
        fits = partial(_json_column, name=name, type_=known[name], options=reading.options)
        places = _misfits_of(whole, fits)
        wrong = {i: _Misfitting(name, whole[i].written[name], known[name]) for i in places} | wrong
    return wrong


def _sorted_out(
    path: str,
    rows: pa.Table,
    lines: Sequence[int],
    texts: Sequence[str],
    types: Mapping[str, DataType],
    options: TextOptions,
) -> tuple[pa.Table, list[BadRow]]:
    """Separate rows whose text fits the declared types from those whose text does not."""
    wrong = _misfitting(rows, types, options)
    faults = [BadRow(path, lines[i], str(error), texts[i], error.value) for i, error in wrong.items()]
    return csv_files.without(rows, wrong), faults


def _misfitting(rows: pa.Table, types: Mapping[str, DataType], options: TextOptions) -> dict[int, _Misfitting]:
    wrong: dict[int, _Misfitting] = {}
    for name, type_ in types.items():
        column = rows.column(name)
        for i in misfits(column, partial(convert, type_=type_, options=options)):
            wrong.setdefault(i, _Misfitting(name, column[i].as_py(), type_))
    return wrong


def _misfits_of(
    rows: Sequence[json_files.JsonRow], fits: Callable[[Sequence[json_files.JsonRow]], object]
) -> list[int]:
    """The places of rows that do not fit."""
    places = pa.chunked_array([pa.array(range(len(rows)), pa.int64())])
    return misfits(places, lambda some: fits([rows[i] for i in some.to_pylist()]))


@dataclass(frozen=True)
class _Misfitting:
    """A value that does not fit its column."""

    column: str
    value: str
    type: DataType

    def __str__(self) -> str:
        return f"column {self.column!r}: {_shortened(self.value)} does not fit {self.type}"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _converted(rows: pa.Table, types: Mapping[str, DataType], options: TextOptions) -> pa.Table:
    for name, type_ in types.items():
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, convert(rows.column(place), type_, options))
    return rows


def with_folder_values(part: FilePart, reading: Reading) -> FilePart:
    """Add the columns given by folder names, unless the file itself has them."""
    rows, texts = part.rows, dict(part.texts)
    types = reading.known(list(part.file.values))
    for name, value in part.file.values.items():
        if name in rows.column_names:
            continue
        column = _text_column([value] * rows.num_rows)
        try:
            column = convert(column, types[name], reading.options) if name in types else column
        except Misfit:
            message = f"{part.file.path!r}: {value!r} in the name of its folder does not fit {types[name]}"
            raise InvalidRequest(message, hint=f"column {name!r} comes from there", file=part.file.path) from None
        rows = rows.append_column(name, column)
        if name not in types:
            texts[name] = inferred(reading.options)
    return replace(part, rows=rows, texts=texts)


def _parquet(found: DataFile) -> pa.Table:
    """Read Parquet; times in the old INT96 form of Spark and Impala are instants."""
    file = pyarrow.parquet.ParquetFile(_seekable(found), coerce_int96_timestamp_unit="us")
    rows = file.read()
    for i in range(len(file.schema)):
        column = file.schema.column(i)
        if column.physical_type == "INT96" and column.path in rows.column_names:
            place = rows.column_names.index(column.path)
            rows = rows.set_column(place, column.path, rows.column(place).cast(pa.timestamp("us", "UTC")))
    return rows.replace_schema_metadata(None)


def _seekable(file: DataFile) -> str | pa.BufferReader:
    """A seekable source for Parquet, which is read from its end; a file in a zip is read into memory."""
    if file.unpacked_bytes is None:
        return file.path
    with open_file(file.path) as stream:
        return pa.BufferReader(stream.read())


def empty_rows(columns: Sequence[Column]) -> pa.Table:
    """An empty table of declared columns."""
    return _empty([c.name for c in columns], {c.name: c.type for c in columns})


def _text_column(values: Sequence[str | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.string())])


def _empty(names: Sequence[str], types: Mapping[str, DataType]) -> pa.Table:
    return pa.table({n: pa.array([], arrow_type(types[n]) if n in types else pa.string()) for n in names})
