"""What users hand in: Spark, pandas, Polars and Arrow frames, lists of dicts; and schemas in several forms."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from anabranch.errors import InvalidRequest
from anabranch.model.schema import Column, Schema, new_column, parse_columns
from anabranch.model.types import DataType, can_store, parse_type
from anabranch.objects.arrow import arrow_type, spark_type
from anabranch.queries.query import Frame, Rows, Source

_PYTHON_DECIMAL = pa.decimal128(38, 18)


@dataclass(frozen=True)
class Input:
    """A frame that came in: its columns with their types, and the rows as a source."""

    types: Mapping[str, DataType | None]
    """By column name; None where every value is null."""
    source: Source
    row_count: int | None
    """None where it is not known without running."""

    @property
    def is_spark(self) -> bool:
        return isinstance(self.source, Frame)


def read_input(value: Any, schema: Schema | None) -> Input:
    """Take in a frame; rows in memory are brought to the schema's types, where there is one."""
    if _is_spark(value):
        from anabranch.engines.spark import frame_types

        return Input({name: parse_type(text) for name, text in frame_types(value).items()}, Frame(value), None)
    rows = _to_arrow(value, schema)
    _refuse_twins(rows.column_names)
    types: dict[str, DataType | None] = {
        f.name: None if pa.types.is_null(f.type) else spark_type(f.type, f"column {f.name!r}") for f in rows.schema
    }
    return Input(types, Rows(rows), rows.num_rows)


def columns_of(given: Input) -> tuple[Column, ...]:
    """The columns of a new table made from data."""
    for name, type_ in given.types.items():
        if type_ is None:
            raise InvalidRequest(f"column {name!r} has no values to tell its type", hint="give schema= with its type")
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
        if type_ is not None and not can_store(type_, column.type):
            message = f"{what}: column {column.name!r} is {column.type}, {type_} was given"
            raise InvalidRequest(message, hint="cast it first", column=column.name)
        found[column.id] = name
    missing = [c.name for c in schema if c.id in schema.key and c.id not in found]
    if missing:
        raise InvalidRequest(f"{what}: the key's column {missing[0]!r} is missing", hint="every row needs its key")
    return found


def fitted(given: Input, schema: Schema, names: Mapping[str, str], what: str) -> Input:
    """Cast rows in memory to the columns' types, strictly: a value that does not fit is refused, naming it."""
    if not isinstance(given.source, Rows):
        return given
    rows = given.source.table
    by_name = {names[c.id]: c for c in schema if c.id in names}
    arrays = [_fit(rows.column(name), by_name[name], what) for name in rows.column_names]
    table = pa.Table.from_arrays(arrays, names=rows.column_names)
    return Input({n: by_name[n].type for n in rows.column_names}, Rows(table), given.row_count)


def read_schema_argument(value: Any) -> tuple[Column, ...]:
    """Read `schema=`: a dict, a DDL string, or an Arrow or Spark schema."""
    if isinstance(value, Schema):
        # The same columns, by their ids: one attribute in several tables.
        return tuple(replace(c, initial_default=None) for c in value)
    if isinstance(value, Mapping):
        return parse_columns(dict(value))
    if isinstance(value, str):
        return parse_columns(_split_ddl(value))
    if isinstance(value, pa.Schema):
        return tuple(new_column(f.name, spark_type(f.type, f"column {f.name!r}"), nullable=f.nullable) for f in value)
    if "pyspark" in sys.modules and hasattr(value, "fields") and hasattr(value, "simpleString"):
        fields = value.fields
        return tuple(new_column(f.name, parse_type(f.dataType.simpleString()), nullable=f.nullable) for f in fields)
    hint = "give a dict such as {'id': 'bigint NOT NULL'}, DDL text, or an Arrow or Spark schema"
    raise InvalidRequest(f"schema= is a {type(value).__name__}", hint=hint)


def key_names(key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read `key=`: one name or several."""
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)


def _is_spark(value: Any) -> bool:
    """Ask PySpark only if somebody loaded it: otherwise nobody can hold one of its frames."""
    if "pyspark" not in sys.modules:
        return False
    from anabranch.engines.spark import is_spark_frame

    return is_spark_frame(value)


def _to_arrow(value: Any, schema: Schema | None) -> pa.Table:
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if isinstance(value, pa.RecordBatchReader):
        return value.read_all()
    module = type(value).__module__.split(".")[0]
    if module == "pandas":
        return pa.Table.from_pandas(value, preserve_index=False).replace_schema_metadata(None)
    if module == "polars":
        frame = value.collect() if hasattr(value, "collect") else value
        return frame.to_arrow()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return _from_dicts(list(value), schema)
    hint = "give a Spark, pandas, Polars or Arrow frame, or a list of dicts"
    raise InvalidRequest(f"rows can't be taken from a {type(value).__name__}", hint=hint)


def _from_dicts(rows: list[Any], schema: Schema | None) -> pa.Table:
    """Build columns from dicts; all of them name the same columns."""
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
        return pa.table({c.name: pa.array([], arrow_type(c.type)) for c in schema or ()})
    return pa.table({str(name): _array([row[name] for row in rows], str(name)) for name in rows[0]})


def _array(values: list[Any], name: str) -> pa.Array:
    """Infer a column as Spark does: whole numbers are bigint, decimals (38,18) where they fit."""
    try:
        if any(isinstance(v, Decimal) for v in values):
            found = pa.array([Decimal(v) if isinstance(v, int) else v for v in values])
            wide = found.type.precision - found.type.scale <= 20 and found.type.scale <= 18
            return found.cast(_PYTHON_DECIMAL) if wide else found
        return pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise InvalidRequest(f"column {name!r} can't be read: {error}", hint="give values of one type") from error


def _fit(values: pa.ChunkedArray, column: Column, what: str) -> pa.ChunkedArray:
    target = arrow_type(column.type)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if values.type == target:
        return values
    if pa.types.is_timestamp(values.type) and column.type.name == "timestamp":
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    if pa.types.is_integer(values.type) and pa.types.is_decimal(target):
        # Arrow asks for room for every number of the source's type; what does not fit is found in the next step.
        values = values.cast(pa.decimal256(20 + target.scale, target.scale))
    try:
        return values.cast(target, safe=not pa.types.is_floating(target))
    except pa.ArrowException as error:
        message = f"{what}: a value of column {column.name!r} does not fit {column.type}: {error}"
        raise InvalidRequest(message, hint="check the values", column=column.name) from error


def _refuse_twins(names: Sequence[str]) -> None:
    if len({n.lower() for n in names}) < len(names):
        raise InvalidRequest(
            "two columns of the rows have the same name", hint="Spark does not tell names apart by case"
        )


def _split_ddl(text: str) -> dict[str, str]:
    """Split `id bigint NOT NULL, price decimal(12,2)` into names and descriptions."""
    parts, depth, start, quoted = [], 0, 0, ""
    for i, ch in enumerate(f"{text},"):
        if quoted:
            quoted = "" if ch == quoted else quoted
        elif ch in "`'":
            quoted = ch
        elif ch in "()":
            depth += 1 if ch == "(" else -1
        elif ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    described: dict[str, str] = {}
    for part in parts:
        if part.startswith("`"):
            name, _, rest = part[1:].partition("`")
        else:
            name, _, rest = part.partition(" ")
        if not name or not rest.strip() or name in described:
            raise InvalidRequest(f"schema= has {part!r}, a name and a type were expected", hint="such as 'id bigint'")
        described[name] = rest.strip()
    return described
