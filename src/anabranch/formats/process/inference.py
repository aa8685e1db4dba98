"""Types for the columns of files that declare none: one for all files, so that they fit together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pyarrow as pa

from anabranch.arrow.fitting import fit_column
from anabranch.formats.process.parts import FilePart, Reading, as_written
from anabranch.formats.process.values import convert, infer
from anabranch.formats.rules.json_shapes import JsonShape, shapes_of
from anabranch.formats.rules.text import TextOptions, inferred
from anabranch.model.types import DataType


def renamed(part: FilePart, reading: Reading) -> FilePart:
    """A part whose columns have the names that they are to have."""
    names = reading.new_names(part.file.path, part.rows.column_names)
    texts = {names[name]: tried for name, tried in part.texts.items()}
    kinds = {((names[str(place[0])], *place[1:]), kind) for place, kind in part.kinds}
    return replace(part, rows=part.rows.rename_columns(list(names.values())), texts=texts, kinds=kinds)


def with_types(parts: Sequence[FilePart], reading: Reading) -> list[pa.Table]:
    """Give a type to what is not declared."""
    times = inferred(reading.options, times_only=True)
    again = cache(lambda path: renamed(as_written(next(p for p in parts if p.file.path == path), reading), reading))
    for name, shape in shapes_of({pair for part in parts for pair in part.kinds}).items():
        tried = shape.tried(times)
        if tried and not _have_one_type(parts, name, shape):
            parts = [_written(part, name, again) for part in parts]
        parts = [_of_shape(part, name, shape, tried, reading.options) for part in parts]
    return _inferred(parts, reading.options)


def _tells(part: FilePart, name: str) -> bool:
    """Whether a part has a column of JSON that is not declared."""
    return any(place == (name,) for place, _ in part.kinds)


def _have_one_type(parts: Sequence[FilePart], name: str, shape: JsonShape) -> bool:
    """Whether all numbers are of one type already; what has no type but text always is."""
    types = {part.rows.schema.field(name).type for part in parts if _tells(part, name)} - {pa.null()}
    return len(types) == 1 and (shape.is_number or types == {pa.string()})


def _written(part: FilePart, name: str, again: Callable[[str], FilePart]) -> FilePart:
    """A part with a column as it is written, if it is of JSON."""
    if not _tells(part, name) or pa.types.is_string(part.rows.schema.field(name).type):
        return part
    column = again(part.file.path).rows.column(name)
    return replace(part, rows=part.rows.set_column(part.rows.column_names.index(name), name, column))


def _of_shape(
    part: FilePart, name: str, shape: JsonShape, tried: tuple[DataType, ...], options: TextOptions
) -> FilePart:
    """A part whose column has the type that the shape of all values tells, or is text to be tried."""
    if not _tells(part, name):
        return part
    column, type_ = part.rows.column(name), shape.column_type
    is_text = pa.types.is_string(column.type)
    if not shape.something:
        column = pa.chunked_array([pa.nulls(len(column))])
    elif type_:
        column = convert(column, type_, options) if is_text else fit_column(column, type_)
    rows = part.rows.set_column(part.rows.column_names.index(name), name, column)
    return replace(part, rows=rows, texts={**part.texts, name: tried} if tried and is_text else part.texts)


def _inferred(parts: Sequence[FilePart], options: TextOptions) -> list[pa.Table]:
    """Give a type to what is still text."""
    tables = [part.rows for part in parts]
    for name in dict.fromkeys(name for part in parts for name in part.texts):
        places = [i for i, part in enumerate(parts) if name in part.texts]
        candidates = min((parts[i].texts[name] for i in places), key=len)
        _, columns = infer([tables[i].column(name) for i in places], candidates, options)
        for i, column in zip(places, columns, strict=True):
            tables[i] = tables[i].set_column(tables[i].column_names.index(name), name, column)
    return tables
