"""Refuse rows with nulls or repeated keys, naming some of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.ids import ColumnId
from anabranch.model.schema import Column, Schema
from anabranch.queries import writes as changes
from anabranch.queries.query import Rows, Source, reading_of

NAMED_AT_MOST = 5
"""How many offending rows an error names."""
KeyRows = list[dict[str, Any]]
"""Some keys, each by the ids of its columns."""


def refuse_null(engine: Engine, source: Source, columns: Sequence[Column], schema: Schema, what: str) -> None:
    """Refuse nulls in NOT NULL columns, naming some rows."""
    not_null = [c for c in columns if not c.nullable]
    if isinstance(source, Rows):
        not_null = [c for c in not_null if source.table.column(c.id).null_count]
    if not not_null:
        return
    key = schema.key_columns if schema.has_key else ()  # incoming rows have no row id yet
    query = reading_of(source, [c.id for c in dict.fromkeys((*key, *not_null))])
    found = engine.fetch(changes.missing_values(query, not_null, key, NAMED_AT_MOST))
    refuse_nulls_found(found, schema, what)


def refuse_nulls_found(found: pa.Table, schema: Schema, what: str) -> None:
    """Refuse the rows with nulls, naming them."""
    if found.num_rows:
        names = {c.id: c.name for c in schema}
        rows = [{names[ColumnId(k)]: v for k, v in row.items() if k in names} for row in found.to_pylist()]
        nulls = sorted({name for row in rows for name, value in row.items() if value is None})
        described = {*nulls, *(c.name for c in schema.key_columns)}
        shown = [{name: value for name, value in row.items() if name in described} for row in rows]
        message = f"{what}: null in column {', '.join(map(repr, nulls))}, which may not be null: {listed(shown)}"
        raise InvalidRequest(message, hint="give a value, or leave these rows out", rows=shown, nulls=nulls)


def refuse_repeated_anywhere(engine: Engine, source: Source, schema: Schema, what: str) -> None:
    """Refuse repeated keys in rows that need not be sorted by key."""
    query = changes.repeated_keys(reading_of(source, [str(k) for k in schema.key_ids]), schema, NAMED_AT_MOST)
    refuse_repeated(engine.fetch(query).to_pylist(), schema, what)


def refuse_repeated(found: KeyRows, schema: Schema, what: str) -> None:
    """Refuse rows in which repeated keys were found."""
    if found:
        keys = _named_keys(found, schema)
        message = f"{what}: the rows have a key more than once: {listed(keys)}"
        hint = "keep one row of each, or let another column be part of the key"
        raise InvalidRequest(message, hint=hint, keys=keys, repeated=True)


def refuse_keys(found: Sequence[dict[str, Any]], schema: Schema, problem: str) -> None:
    """Refuse offending keys, naming some."""
    if found:
        keys = _named_keys(found, schema)
        hint = "keys are unique; see upsert to replace rows"
        raise InvalidRequest(f"{problem}: {listed(keys)}", hint=hint, keys=keys)


def _named_keys(found: Sequence[dict[str, Any]], schema: Schema) -> list[dict[str, Any]]:
    names = {c.id: c.name for c in schema.key_columns}
    return [{names[ColumnId(k)]: v for k, v in row.items()} for row in found[:NAMED_AT_MOST]]


def listed(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as error messages show them."""
    return "; ".join(", ".join(f"{k}={_sql_text(v)}" for k, v in row.items()) for row in rows)


def _sql_text(value: Any) -> str:
    """A value as SQL shows it."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (Decimal, date)) else repr(value)
