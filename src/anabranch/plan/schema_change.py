"""Changes of a schema: how a table's columns and key may change, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.errors import AlreadyExists, InvalidRequest
from anabranch.model.ids import SchemaId, new_id
from anabranch.model.names import check_part
from anabranch.model.schema import Column, Schema, make_schema
from anabranch.model.types import DataType, can_widen


def with_column(schema: Schema, column: Column) -> Schema:
    """The schema with one more column, at the end."""
    _refuse_taken(schema, column.name)
    return _changed(schema, (*schema.columns, column))


def without_column(schema: Schema, column: Column) -> Schema:
    """The schema without a column; a column of the key and the last column are refused."""
    if column.id in schema.key:
        raise InvalidRequest(f"column {column.name!r} is part of the key", hint="choose another key first")
    if len(schema) == 1:
        raise InvalidRequest(f"column {column.name!r} is the last one", hint="drop the table instead")
    return _changed(schema, [c for c in schema if c.id != column.id])


def with_name(schema: Schema, column: Column, name: str) -> Schema:
    """The schema with a column under another name."""
    if name.lower() != column.name.lower():
        _refuse_taken(schema, name)
    return with_altered(schema, replace(column, name=check_part(name, "column")))


def with_altered(schema: Schema, column: Column) -> Schema:
    """The schema with another description of a column."""
    return _changed(schema, [column if c.id == column.id else c for c in schema])


def with_key(schema: Schema, key: Sequence[str]) -> Schema:
    """The schema under another key; columns that leave the key stay not null."""
    return make_schema(schema.columns, key)


def widened(schema: Schema, column: Column, wanted: DataType) -> Column:
    """The column with a type that holds all its values; any other type is refused."""
    if not can_widen(column.type, wanted):
        hint = "a type may only grow; add a new column and fill it with a cast"
        raise InvalidRequest(f"column {column.name!r} is {column.type} and can't become {wanted}", hint=hint)
    kept = wanted.can_be_key and (column.type.name, wanted.name) != ("date", "timestamp_ntz")
    if column.id in schema.key and wanted != column.type and not kept:
        hint = "choose another key first"
        raise InvalidRequest(f"column {column.name!r} is part of the key and can't become {wanted}", hint=hint)
    return replace(column, type=wanted)


def _changed(schema: Schema, columns: Sequence[Column]) -> Schema:
    return Schema(SchemaId(new_id("s")), tuple(columns), schema.key)


def _refuse_taken(schema: Schema, name: str) -> None:
    found = schema.find(check_part(name, "column"))
    if found is not None:
        raise AlreadyExists(f"there is a column {found.name!r}", hint="choose another name", column=found.name)
