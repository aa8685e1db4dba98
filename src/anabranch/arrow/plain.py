"""Make rows from engines and files plain: one Arrow type for each of ours, times in UTC."""

from __future__ import annotations

import pyarrow as pa


def plain(rows: pa.Table) -> pa.Table:
    """Cast every column to its plain, nullable type; the values stay as they are."""
    if not all(field.nullable for field in rows.schema):
        rows = pa.Table.from_arrays(rows.columns, names=rows.column_names)
    for i, field in enumerate(rows.schema):
        wanted = plain_type(field.type)
        if not _same(wanted, field.type):
            rows = rows.set_column(i, field.name, rows.column(i).cast(wanted))
    return rows


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type that objects and users get: no views, no large offsets, nested names as Parquet has them."""
    if pa.types.is_string_view(type_) or pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_binary_view(type_) or pa.types.is_large_binary(type_):
        return pa.binary()
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp("us", "UTC")
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(pa.field("element", plain_type(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(plain_type(type_.key_type), plain_type(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, plain_type(f.type)) for f in type_])
    return type_


def _same(one: pa.DataType, other: pa.DataType) -> bool:
    """Compare nested names and nullability, too: Arrow's own comparison of lists and maps ignores some."""
    return one is other or (not pa.types.is_nested(one) and one == other) or str(one) == str(other)
