"""What users hand in: Spark, pandas, Polars and Arrow frames, lists of dicts; and schemas in several forms."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.fitting import DoesNotFit, fit_column
from anabranch.arrow.types import arrow_type, spark_type
from anabranch.errors import InvalidRequest
from anabranch.frames.python_values import column_of, has_map, refuse_mixtures
from anabranch.model.ddl import split_columns
from anabranch.model.names import is_unicode
from anabranch.model.schema import Column, Schema, new_column, parse_columns
from anabranch.model.types import VOID, DataType, misfit
from anabranch.queries.query import Frame, Rows, Source

_EXACT_FLOAT = float(2**53)
_NAME = re.compile(r"(?:`((?:[^`]|``)+)`|([^\s`]+?)(?=[\s:]))\s*:?")


@dataclass(frozen=True)
class Input:
    """A user's frame: its columns with their types, and the rows as a source."""

    types: Mapping[str, DataType | None]
    """By column name; None where every value is null."""
    source: Source
    row_count: int | None
    """None if only running a query would tell."""
    index: tuple[str, ...] = ()
    """The names of a pandas index, which is ignored."""

    @property
    def is_spark(self) -> bool:
        return isinstance(self.source, Frame)


def read_input(value: Any, columns: Iterable[Column]) -> Input:
    """Read a frame; `columns` are those of the table, if known, and say which dicts are maps."""
    if _is_spark(value):
        from anabranch.engines.spark import frame_types

        found = frame_types(value)
        _refuse_repeated_names(value.columns)
        return Input({name: None if t == VOID else t for name, t in found.items()}, Frame(value), None)
    rows = _to_arrow(value, tuple(columns))
    _refuse_repeated_names(rows.column_names)
    types: dict[str, DataType | None] = {
        f.name: None if pa.types.is_null(f.type) else spark_type(f.type, f"column {f.name!r}") for f in rows.schema
    }
    return Input(types, Rows(rows), rows.num_rows, _index_of(value))


def refuse_key_in_index(given: Input, key: Sequence[str]) -> None:
    """Refuse a key that is in the index of a pandas frame, which is ignored."""
    there = {name.lower() for name in given.types}
    for name in key:
        if name.lower() not in there and name in given.index:
            message = f"column {name!r} of the key is the index of the frame, which is not taken"
            raise InvalidRequest(message, hint="give df.reset_index()", column=name)


def _index_of(value: Any) -> tuple[str, ...]:
    if type(value).__module__.split(".")[0] != "pandas":
        return ()
    return tuple(str(name) for name in value.index.names if name is not None)


def columns_of(given: Input) -> tuple[Column, ...]:
    """The columns of a new table made from data."""
    for name, type_ in given.types.items():
        if type_ is None or VOID in type_.walk():
            inside = f" ({type_})" if type_ else ""
            message = f"column {name!r}{inside} has no values to tell its type"
            raise InvalidRequest(message, hint="give schema= with its type")
    return tuple(new_column(name, type_) for name, type_ in given.types.items() if type_)


def match_columns(given: Input, schema: Schema, what: str) -> dict[str, str]:
    """Map column ids to the input's names; refuse unknown columns and types that don't fit."""
    found: dict[str, str] = {}
    for name, type_ in given.types.items():
        column = schema.find(name)
        if column is None:
            hint = f"the table has {', '.join(schema.names[:20])}"
            raise InvalidRequest(f"{what}: the table has no column {name!r}", hint=hint, column=name)
        if column.id in found:
            raise InvalidRequest(f"{what}: column {column.name!r} comes twice", hint="leave one out")
        problem = misfit(type_, column.type, from_memory=not given.is_spark) if type_ else None
        if problem:
            message = f"{what}: column {column.name!r} is {problem}"
            raise InvalidRequest(message, hint=_hint(column.type), column=column.name)
        found[column.id] = name
    missing = [c.name for c in schema if c.id in schema.key and c.id not in found]
    refuse_key_in_index(given, missing)
    if missing:
        raise InvalidRequest(f"{what}: the key's column {missing[0]!r} is missing", hint="every row needs its key")
    return found


def fitted(given: Input, schema: Schema, names: Mapping[str, str], what: str) -> Input:
    """Cast rows in memory to the columns' types, strictly: a value that does not fit is refused, naming it."""
    if not isinstance(given.source, Rows):
        return given
    rows = given.source.table
    by_name = {names[c.id]: c for c in schema if c.id in names}
    arrays = [_fit(rows.column(n), by_name[n].name, by_name[n].type, what) for n in rows.column_names]
    table = pa.Table.from_arrays(arrays, names=rows.column_names)
    return Input({n: by_name[n].type for n in rows.column_names}, Rows(table), given.row_count)


def typed(given: Input, what: str) -> Input:
    """Cast rows in memory to the types that a table made from them would have; refuse what does not fit."""
    if not isinstance(given.source, Rows):
        return given
    rows = given.source.table
    for place, (name, type_) in enumerate(given.types.items()):
        if type_ and VOID not in type_.walk():
            rows = rows.set_column(place, name, _fit(rows.column(place), name, type_, what))
    return replace(given, source=Rows(rows))


def one_value(value: Any, column: Column) -> pa.ChunkedArray:
    """Read one value as a column would hold it; raise DoesNotFit if it does not fit."""
    try:
        given = read_input([{column.name: value}], [column])
    except InvalidRequest as error:
        raise DoesNotFit(error.message) from error
    (type_,) = given.types.values()
    problem = misfit(type_, column.type, from_memory=True) if type_ else None
    if problem:
        described = problem if problem.startswith(str(column.type)) else f"{column.type}: {problem}"
        raise DoesNotFit(f"column {column.name!r} is {described}")
    assert isinstance(given.source, Rows)
    try:
        return fit_column(given.source.table.column(0), column.type)
    except DoesNotFit as error:
        raise DoesNotFit(f"column {column.name!r} is {column.type}: {error}") from error


def read_schema_argument(value: Any) -> tuple[Column, ...]:
    """Read `schema=`: a dict, a DDL string, or an Arrow or Spark schema."""
    if isinstance(value, Schema):
        # Keep the ids: the columns are attributes that several tables share.
        return tuple(replace(c, initial_default=None) for c in value)
    if isinstance(value, Mapping):
        return parse_columns(dict(value))
    if isinstance(value, str):
        return parse_columns(_split_ddl(value))
    if isinstance(value, pa.Schema):
        return tuple(new_column(f.name, spark_type(f.type, f"column {f.name!r}"), nullable=f.nullable) for f in value)
    if "pyspark" in sys.modules and hasattr(value, "fields") and hasattr(value, "simpleString"):
        from anabranch.engines.spark import data_type

        return tuple(new_column(f.name, data_type(f.dataType), nullable=f.nullable) for f in value.fields)
    hint = "give a dict such as {'id': 'bigint NOT NULL'}, DDL text, or an Arrow or Spark schema"
    raise InvalidRequest(f"schema= is a {type(value).__name__}", hint=hint)


def key_names(key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read `key=`: one name or several."""
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)


def _is_spark(value: Any) -> bool:
    """Ask PySpark only if it is loaded: otherwise nobody can hold one of its frames."""
    if "pyspark" not in sys.modules:
        return False
    from anabranch.engines.spark import is_spark_frame

    return is_spark_frame(value)


def _hint(type_: DataType) -> str:
    if any(t.name == "variant" for t in type_.walk()):
        return "give JSON text for a variant, or a Spark frame"
    return "cast it first"


def _to_arrow(value: Any, columns: tuple[Column, ...]) -> pa.Table:
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if isinstance(value, pa.RecordBatchReader):
        return value.read_all()
    module = type(value).__module__.split(".")[0]
    if module in ("pandas", "polars") and hasattr(value, "to_frame"):
        raise InvalidRequest(f"rows can't be taken from a {type(value).__name__}", hint="give it as .to_frame()")
    if module == "pandas":
        return _from_pandas(value, columns)
    if module == "polars":
        return _from_polars(value.collect() if hasattr(value, "collect") else value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return _from_dicts(list(value), columns)
    hint = "give a Spark, pandas, Polars or Arrow frame, or a list of dicts"
    if isinstance(value, Mapping) and all(isinstance(described, str) for described in value.values()):
        hint = "names and types of columns go in schema=, such as schema='id bigint, item string'"
    raise InvalidRequest(f"rows can't be taken from a {type(value).__name__}", hint=hint)


def _from_pandas(frame: Any, columns: tuple[Column, ...]) -> pa.Table:
    """Read a pandas frame; NaN is null, as pandas means it, and dicts in a column of maps are maps."""
    _refuse_repeated_names([str(name) for name in frame.columns])
    mapped = {n: t for n, t in _types_of(columns, frame.columns).items() if has_map(t)}
    try:
        rest = frame.drop(columns=list(mapped))
        rows = pa.Table.from_pandas(rest, preserve_index=False).replace_schema_metadata(None)
        for name in (n for n, dtype in rest.dtypes.items() if dtype.name == "object"):
            if not pa.types.is_nested(rows.schema.field(str(name)).type):
                refuse_mixtures(rest[name].dropna().tolist(), rows.schema.field(str(name)).type)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InvalidRequest(f"the frame can't be read: {error}", hint="give values of one type") from error
    rows = _with_whole_floats(rows, columns)
    for name, type_ in mapped.items():
        values = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        rows = rows.append_column(str(name), column_of(values, str(name), type_))
    return rows.select([str(name) for name in frame.columns])


def _with_whole_floats(rows: pa.Table, columns: tuple[Column, ...]) -> pa.Table:
    """Turn floats into integers for integer columns: pandas holds integers with nulls among them as floats."""
    for name, type_ in _types_of(columns, rows.column_names).items():
        column = rows.column(name)
        if type_.is_integer and pa.types.is_floating(column.type) and _are_whole(column):
            rows = rows.set_column(rows.column_names.index(name), name, column.cast(pa.int64()))
    return rows


def _are_whole(column: pa.ChunkedArray) -> bool:
    """Tell whether floats are whole numbers, all small enough to be exact."""
    exact = pc.and_(pc.equal(column, pc.trunc(column)), pc.less_equal(pc.abs(column), _EXACT_FLOAT))
    return pc.all(exact, min_count=0).as_py() is not False


def _from_polars(frame: Any) -> pa.Table:
    """Read a Polars frame; refuse Object columns, of which Arrow would get memory addresses."""
    for name, type_ in frame.schema.items():
        if str(type_) == "Object":
            raise InvalidRequest(f"column {name!r} has type Object, which can't be versioned", hint="cast it first")
    try:
        return frame.to_arrow()
    except pa.ArrowException as error:
        raise InvalidRequest(f"the frame can't be read: {error}", hint="cast its columns first") from error


def _types_of(columns: tuple[Column, ...], names: Iterable[Any]) -> dict[Any, DataType]:
    """The types of the named columns, where they are known."""
    types = {c.name.lower(): c.type for c in columns}
    return {name: types[str(name).lower()] for name in names if str(name).lower() in types}


def _from_dicts(rows: list[Any], columns: tuple[Column, ...]) -> pa.Table:
    """Build columns from dicts, which must all name the same columns."""
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidRequest(
                f"row {number} is a {type(row).__name__}, a dict was expected", hint="give a list of dicts"
            )
        if set(row) != set(rows[0]):
            odd = sorted(map(str, set(row) ^ set(rows[0])))
            hint = "give every row the same columns, None for nothing"
            raise InvalidRequest(f"row {number} and row 0 differ in column {odd[0]!r}", hint=hint)
    if not rows:
        return pa.table({c.name: pa.array([], arrow_type(c.type)) for c in columns})
    for name in rows[0]:
        if not is_unicode(str(name)):
            raise InvalidRequest(f"column {str(name)!r} is not valid Unicode", hint="leave lone surrogates out")
    types = _types_of(columns, rows[0])
    return pa.table({str(name): column_of([row[name] for row in rows], str(name), types.get(name)) for name in rows[0]})


def _fit(values: pa.ChunkedArray, name: str, type_: DataType, what: str) -> pa.ChunkedArray:
    try:
        return fit_column(values, type_)
    except DoesNotFit as error:
        message = f"{what}: a value of column {name!r} does not fit {type_}: {error}"
        raise InvalidRequest(message, hint="check the values", column=name) from error


def _refuse_repeated_names(names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            message = f"columns {seen[name.lower()]!r} and {name!r} of the rows have the same name"
            raise InvalidRequest(message, hint="rename one; Spark does not tell names apart by case")
        seen[name.lower()] = name


def _split_ddl(text: str) -> dict[str, str]:
    """Split `id bigint NOT NULL, price decimal(12,2)` into names and descriptions."""
    described: dict[str, str] = {}
    for part in split_columns(text):
        found = _NAME.match(part)
        name = (found[1] or found[2] or "").replace("``", "`") if found else ""
        rest = part[found.end() :] if found else ""
        if not name or not rest.strip() or name in described:
            raise InvalidRequest(f"schema= has {part!r}, a name and a type were expected", hint="such as 'id bigint'")
        described[name] = rest.strip()
    return described
