"""What users get: rows as dicts and as pandas and Polars frames, with every value as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import InvalidRequest, Unavailable, install_hint

if TYPE_CHECKING:
    import pandas
    import polars


def to_dicts(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as dicts; a map is a dict, too, or a list of pairs if its keys can't be dict keys."""
    names, columns = rows.column_names, [objects_of(column) for column in rows.columns]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def to_pandas(rows: pa.Table) -> pandas.DataFrame:
    """Rows as a pandas frame: whole numbers stay whole where there are nulls, nested values are as in dicts."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise Unavailable("pandas is not installed", hint=install_hint("pandas")) from error
    nullable = {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
    }
    with_nulls = {f.type for i, f in enumerate(rows.schema) if rows.column(i).null_count}
    chosen = {type_: dtype for type_, dtype in nullable.items() if type_ in with_nulls}
    nested = [i for i, f in enumerate(rows.schema) if pa.types.is_nested(f.type)]
    plain = rows.drop_columns([rows.column_names[i] for i in nested])
    try:
        frame: pandas.DataFrame = plain.to_pandas(types_mapper=chosen.get)
    except ValueError as error:
        raise _beyond_python() from error
    for i in nested:
        frame.insert(i, rows.column_names[i], pandas.Series(objects_of(rows.column(i)), frame.index, dtype=object))
    return frame


def to_polars(rows: pa.Table) -> polars.DataFrame:
    """Rows as a Polars frame."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise Unavailable("Polars is not installed", hint=install_hint("polars")) from error
    found = polars.from_arrow(rows)
    assert isinstance(found, polars.DataFrame)
    return found


def objects_of(column: pa.ChunkedArray) -> list[Any]:
    """Values as Python objects; refuse dates that Python can't hold."""
    return _listed(column, maps_as_dicts=not _has_nested_keys(column.type))


def json_objects_of(values: pa.Array) -> list[Any]:
    """Values as JSON can hold them: maps with text for keys are objects, other maps lists of pairs."""
    return _listed(values, maps_as_dicts=_has_text_keys(values.type))


def _listed(values: pa.Array | pa.ChunkedArray, maps_as_dicts: bool) -> list[Any]:
    try:
        found: list[Any] = values.to_pylist(maps_as_pydicts="strict" if maps_as_dicts else None)
    except OverflowError as error:
        raise _beyond_python() from error
    return found


def _beyond_python() -> InvalidRequest:
    message = "a date or time is not in the years 1 to 9999, and Python has no others"
    return InvalidRequest(message, hint="read it with .arrow(), .polars() or .spark(), or as text")


def _has_text_keys(type_: pa.DataType) -> bool:
    """Tell whether every map inside has text for keys."""
    if pa.types.is_map(type_):
        return pa.types.is_string(type_.key_type) and _has_text_keys(type_.item_type)
    parts = range(type_.num_fields) if pa.types.is_nested(type_) else ()
    return all(_has_text_keys(type_.field(i).type) for i in parts)


def _has_nested_keys(type_: pa.DataType) -> bool:
    """Tell whether some map inside has keys that can't be dict keys."""
    if pa.types.is_map(type_):
        return pa.types.is_nested(type_.key_type) or _has_nested_keys(type_.item_type)
    parts = range(type_.num_fields) if pa.types.is_nested(type_) else ()
    return any(_has_nested_keys(type_.field(i).type) for i in parts)
