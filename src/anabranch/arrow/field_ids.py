"""Field ids on the columns of an Arrow table, as Parquet writes and reads them."""

from __future__ import annotations

import pyarrow as pa

from anabranch.model.field_ids import field_id

_KEY = b"PARQUET:field_id"


def with_field_ids(table: pa.Table) -> pa.Table:
    """The same rows with field ids on all columns and nested fields."""
    fields = [_numbered(field, field.name) for field in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def without_field_ids(table: pa.Table) -> pa.Table:
    """The same rows without the metadata that only files need."""
    return pa.Table.from_arrays(table.columns, schema=pa.schema([f.remove_metadata() for f in table.schema]))


def _numbered(field: pa.Field, path: str) -> pa.Field:
    return pa.field(field.name, _inside(field.type, path), field.nullable, {_KEY: str(field_id(path)).encode()})


def _inside(type_: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([_numbered(field, f"{path}.{field.name}") for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_numbered(type_.key_field, f"{path}.key"), _numbered(type_.item_field, f"{path}.value"))
    if pa.types.is_list(type_):
        return pa.list_(_numbered(type_.value_field, f"{path}.element"))
    return type_
