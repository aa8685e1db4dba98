"""Chooses types for undeclared columns: the same for all files, so that they fit together.

Works on parts without rows, too, if facts about their text were collected where they were read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import is_decimal

from anabranch.arrow.fitting import fit_column
from anabranch.errors import InvalidRequest
from anabranch.formats.process.parts import FilePart, Reading, as_written
from anabranch.formats.process.text_facts import ColumnFacts, TextFacts, UnknownFacts, choose_type
from anabranch.formats.process.values import convert
from anabranch.formats.rules.encodings import first_line
from anabranch.formats.rules.json_shapes import JsonShape, shapes_of
from anabranch.formats.rules.text import LONG_DIGITS, LONG_FROM, TextOptions, inferred
from anabranch.model.types import DataType

_APART = "import them one by one, or give the types"


@dataclass(frozen=True)
class Shapes:
    """What all parts of JSON together contain in undeclared columns."""

    by_name: Mapping[str, JsonShape]
    written: frozenset[str]
    """Columns to be taken as written, because Arrow read different types in different parts."""


@dataclass(frozen=True)
class Types:
    """The types that text columns get, and the final schema of all columns."""

    texts: Mapping[str, DataType]
    columns: pa.Schema


def renamed(part: FilePart, reading: Reading) -> FilePart:
    """A part under the new names of its columns."""
    names = reading.new_names(part.file.path, part.rows.column_names)
    texts = {names[name]: tried for name, tried in part.texts.items()}
    kinds = {((names[str(place[0])], *place[1:]), kind) for place, kind in part.kinds}
    return replace(part, rows=part.rows.rename_columns(list(names.values())), texts=texts, kinds=kinds)


def with_types(parts: Sequence[FilePart], reading: Reading) -> pa.Table:
    """Combine parts in memory, and choose types for undeclared columns."""
    shapes = find_shapes(parts, reading.options)
    shaped = [shape(part, shapes, reading, again_of(part, reading)) for part in parts]
    facts = [{n: TextFacts(part.rows.column(n), reading.options) for n in part.texts} for part in shaped]
    types = find_types(shaped, facts, _long_decimals(parts))
    tables = [_with_values(part, types, known) for part, known in zip(shaped, facts, strict=True)]
    return pa.concat_tables([fit_part(table, types) for table in tables])


def find_shapes(parts: Sequence[FilePart], options: TextOptions) -> Shapes:
    """Combine what the parts of JSON contain."""
    times = inferred(options, times_only=True)
    found = shapes_of({pair for part in parts for pair in part.kinds})
    tried = [name for name, shape_ in found.items() if shape_.tried(times)]
    return Shapes(found, frozenset(n for n in tried if not _have_one_type(parts, n, found[n])))


def again_of(part: FilePart, reading: Reading) -> Callable[[], FilePart]:
    """How to read a part again with undeclared columns as written; done at most once."""
    return cache(lambda: renamed(as_written(part, reading), reading))


def shape(part: FilePart, shapes: Shapes, reading: Reading, again: Callable[[], FilePart]) -> FilePart:
    """Give the JSON columns of a part the types that the shape of all values implies, or leave text to be tried."""
    times = inferred(reading.options, times_only=True)
    described = {str(place[0]) for place, _ in part.kinds if len(place) == 1}
    for name in [name for name in shapes.by_name if name in described]:
        if name in shapes.written and not pa.types.is_string(part.rows.schema.field(name).type):
            part = _with_column(part, name, again().rows.column(name))
        found = shapes.by_name[name]
        part = _of_shape(part, name, found, found.tried(times), reading.options)
    return part


def _have_one_type(parts: Sequence[FilePart], name: str, shape_: JsonShape) -> bool:
    """Whether all parts already read one type: for numbers any, otherwise text."""
    with_kinds = [part for part in parts if any(place == (name,) for place, _ in part.kinds)]
    types = {part.rows.schema.field(name).type for part in with_kinds} - {pa.null()}
    return len(types) == 1 and (shape_.is_number or types == {pa.string()})


def _of_shape(
    part: FilePart, name: str, shape_: JsonShape, tried: tuple[DataType, ...], options: TextOptions
) -> FilePart:
    column, type_ = part.rows.column(name), shape_.column_type
    is_text = pa.types.is_string(column.type)
    if not shape_.something:
        column = pa.chunked_array([pa.nulls(len(column))])
    elif type_:
        column = convert(column, type_, options) if is_text else fit_column(column, type_)
    texts = {**part.texts, name: tried} if tried and is_text else part.texts
    return replace(_with_column(part, name, column), texts=texts)


def _with_column(part: FilePart, name: str, column: pa.ChunkedArray) -> FilePart:
    return replace(part, rows=part.rows.set_column(part.rows.column_names.index(name), name, column))


def _long_decimals(parts: Sequence[FilePart]) -> set[str]:
    """Columns of decimals with more digits than a double keeps."""
    found = [(f.name, part.rows.column(f.name)) for part in parts for f in part.rows.schema if is_decimal(f.type)]
    return {name for name, column in found if (pc.max(pc.abs(column)).as_py() or 0) >= LONG_FROM}


def find_types(
    parts: Sequence[FilePart], facts: Sequence[Mapping[str, ColumnFacts]], long_decimals: Collection[str] = ()
) -> Types:
    """Choose a type for every column that is still text, by the facts of each part; then unite the parts' schemas."""
    texts: dict[str, DataType] = {}
    unknown: dict[str, tuple[DataType, ...]] = {}
    long = set(long_decimals)
    for name in dict.fromkeys(name for part in parts for name in part.texts):
        places = [i for i, part in enumerate(parts) if name in part.texts]
        candidates = min((parts[i].texts[name] for i in places), key=len)
        try:
            found = [_known(facts[i], name) for i in places]
            texts[name] = choose_type(found, candidates)
        except UnknownFacts:
            unknown[name] = candidates
            continue
        if texts[name].name == "decimal" and any(part.digits[0] >= LONG_DIGITS for part in found):
            long.add(name)
    if unknown:
        raise UnknownFacts(unknown)
    empty = [replace(part, rows=part.rows.slice(0, 0)) for part in parts]
    return Types(texts, _united([typed(part, texts, TextOptions()).schema for part in empty], long))


def _known(facts: Mapping[str, ColumnFacts], name: str) -> ColumnFacts:
    if name not in facts:
        raise UnknownFacts({})
    return facts[name]


def typed(part: FilePart, texts: Mapping[str, DataType], options: TextOptions) -> pa.Table:
    """The rows of a part, with its text converted."""
    for name in part.texts:
        part = _with_column(part, name, convert(part.rows.column(name), texts[name], options))
    return part.rows


def _with_values(part: FilePart, types: Types, facts: Mapping[str, TextFacts]) -> pa.Table:
    """The rows of a part, with its text converted; reuses conversions made while looking at it."""
    for name, known in facts.items():
        part = _with_column(part, name, known.values(types.texts[name]))
    return part.rows


def fit_part(rows: pa.Table, types: Types) -> pa.Table:
    """Give a part the columns of all parts, in order, with nulls where it has none."""
    whole = pa.concat_tables([types.columns.empty_table(), rows], promote_options="permissive")
    return whole.cast(types.columns).replace_schema_metadata(None)


def _united(schemas: Iterable[pa.Schema], long: Collection[str]) -> pa.Schema:
    """Unite schemas; `long` are decimals with more digits than a double keeps."""
    every = list(schemas)
    doubles = {f.name for schema in every for f in schema if pa.types.is_floating(f.type)}
    for name in doubles.intersection(long):
        message = f"the files have columns of different types: {name!r} is decimal and double"
        raise InvalidRequest(message, hint=_APART)
    try:
        whole = pa.unify_schemas(every, promote_options="permissive") if every else pa.schema([])
    except pa.ArrowException as error:
        message = f"the files have columns of different types: {first_line(error)}"
        raise InvalidRequest(message, hint=_APART) from error
    not_null = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in whole]
    return pa.schema(not_null)
