"""Spark SQL's types in Arrow, and values as Arrow and the catalogue hold them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from anabranch.errors import InvalidRequest
from anabranch.model.objects import KeyValue
from anabranch.model.schema import Column
from anabranch.model.types import VOID, DataType, array_of, map_of, struct_of

_TO_ARROW: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "variant": pa.string(),
}
_DURATION = pa.duration("us")
_UNSIGNED = {pa.uint8(): "smallint", pa.uint16(): "int", pa.uint32(): "bigint"}


def arrow_type(type_: DataType) -> pa.DataType:
    """Return the Arrow type that holds a Spark type; variants are JSON text, years and months whole months."""
    if type_.name == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    if type_.is_interval:
        return pa.int32() if type_.is_months else _DURATION
    if not type_.is_nested:
        return _TO_ARROW[type_.name]
    parts = [arrow_type(part) for part in type_.parts]
    if type_.name == "array":
        return pa.list_(pa.field("element", parts[0]))
    if type_.name == "map":
        return pa.map_(*parts)
    return pa.struct([pa.field(f.name, part) for f, part in zip(type_.fields, parts, strict=True)])


def spark_type(type_: pa.DataType, where: str) -> DataType:
    """Return the Spark type of an Arrow column, or refuse it; parts of nested types may be all null."""
    if isinstance(type_, pa.BaseExtensionType) and type_.extension_name.startswith("pandas."):
        # The storage types of periods and intervals do not say what they mean.
        raise InvalidRequest(f"{where} has type {type_.extension_name}, which can't be versioned", hint="cast it first")
    type_ = bare_type(type_)
    nested = _nested_spark_type(type_, where)
    if nested is not None:
        return nested
    found = next((name for name, arrow in _TO_ARROW.items() if arrow == type_), None) or _UNSIGNED.get(type_)
    if found:
        return DataType(found)
    if pa.types.is_decimal(type_) and type_.precision <= 38 and 0 <= type_.scale <= type_.precision:
        return DataType("decimal", type_.precision, type_.scale)
    if pa.types.is_timestamp(type_):
        return DataType("timestamp" if type_.tz else "timestamp_ntz")
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return DataType("string")
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_) or pa.types.is_fixed_size_binary(type_):
        return DataType("binary")
    if pa.types.is_uint64(type_):
        return DataType("decimal", 20, 0)
    if pa.types.is_float16(type_):
        return DataType("float")
    if pa.types.is_date64(type_):
        return DataType("date")
    if pa.types.is_duration(type_):
        return DataType("interval day to second")
    hint = "give schema= with a type for it" if pa.types.is_null(type_) else "cast it first"
    raise InvalidRequest(f"{where} has type {type_}, which can't be versioned", hint=hint)


def bare_type(type_: pa.DataType) -> pa.DataType:
    """The type of the values under dictionaries, runs and extensions."""
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return bare_type(type_.value_type)
    return bare_type(type_.storage_type) if isinstance(type_, pa.BaseExtensionType) else type_


def is_list(type_: pa.DataType) -> bool:
    """Tell whether this is one of Arrow's five kinds of lists."""
    kinds = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)
    return isinstance(type_, kinds)


def _nested_spark_type(type_: pa.DataType, where: str) -> DataType | None:
    if is_list(type_):
        return array_of(_part(type_.value_type, f"{where}, element"))
    if pa.types.is_map(type_):
        return map_of(_part(type_.key_type, f"{where}, key"), _part(type_.item_type, f"{where}, value"))
    if pa.types.is_struct(type_):
        return struct_of([(f.name, _part(f.type, f"{where}, field {f.name!r}")) for f in type_])
    return None


def _part(type_: pa.DataType, where: str) -> DataType:
    return VOID if pa.types.is_null(type_) else spark_type(type_, where)


def arrow_fields(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of columns under their ids, as objects hold them."""
    return pa.schema([pa.field(c.id, arrow_type(c.type)) for c in columns])


def key_value(value: Any, type_: DataType) -> KeyValue | None:
    """Turn a Python value of a key into its comparable form; None if it has none."""
    if type(value) in (int, str):
        return value  # type: ignore[no-any-return]
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    if isinstance(value, date):
        return value.toordinal() - date(1970, 1, 1).toordinal()
    return value if value is None or isinstance(value, KeyValue) else None
