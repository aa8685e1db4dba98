"""What rows older than a column show: the value as the catalogue stores it, and the expression that reads it back.

A column that was dropped and is shown again holds old values: such rows are found, and the values cleared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlglot import exp

from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, array_of, struct_of
from anabranch.queries.nested import differs, from_memory, struct_built
from anabranch.queries.query import Query, aliased, any_of, cast_to, col, null_of, select, subquery, text

_SECONDS = DataType("decimal", 19, 6)


def initial_text(value: Any, type_: DataType) -> str:
    """A value as text that both engines can read back; a nested one as JSON whose leaves are such texts."""
    if not type_.is_nested:
        return _leaf_text(value)
    return json.dumps(_document(value, type_), ensure_ascii=False, separators=(",", ":"))


def initial_value(column: Column) -> exp.Expr:
    """The value of a column in rows that are older than it."""
    described, type_ = column.initial_default, column.type
    if described is None:
        return null_of(type_)
    return cast_to(_built(json.loads(described), type_), type_) if type_.is_nested else _leaf(described, type_)


def written_out(value: Any, type_: DataType) -> exp.Expr:
    """A value of a type as an expression of literals."""
    return cast_to(_built(_document(value, type_), type_), type_)


def _document(value: Any, type_: DataType) -> Any:
    """A nested value as JSON; maps are lists of pairs, so that keys can have any type."""
    if value is None:
        return None
    if type_.name == "array":
        return [_document(element, type_.parts[0]) for element in value]
    if type_.name == "map":
        return [[_document(part, t) for part, t in zip(pair, type_.parts, strict=True)] for pair in value]
    if type_.name == "struct":
        return {f.name: _document(value[f.name], f.type) for f in type_.fields}
    return _leaf_text(value)


def _leaf_text(value: Any) -> str:
    """A plain value as text that a cast to its type reads; intervals as whole microseconds or months."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat(" ")
    return str(value // timedelta(microseconds=1)) if isinstance(value, timedelta) else str(value)


def _built(described: Any, type_: DataType) -> exp.Expr:
    if described is None:
        return null_of(type_)
    if type_.name == "array":
        return _array([_built(element, type_.parts[0]) for element in described], type_)
    if type_.name == "map":
        entry = struct_of([(f.name, f.type) for f in type_.fields])
        entries = [_struct({"key": key, "value": value}, entry) for key, value in described]
        return exp.Anonymous(this="map_from_entries", expressions=[_array(entries, array_of(entry))])
    return _struct(described, type_) if type_.name == "struct" else _leaf(described, type_)


def _array(elements: list[exp.Expr], type_: DataType) -> exp.Expr:
    return cast_to(exp.Array(expressions=elements), type_)


def _struct(described: Mapping[str, Any], type_: DataType) -> exp.Expr:
    return struct_built({f.name: _built(described[f.name], f.type) for f in type_.fields})


def _leaf(described: str, type_: DataType) -> exp.Expr:
    if type_.name == "binary":
        return exp.Unhex(this=text(described))
    if type_.is_months:
        return from_memory(cast_to(text(described), DataType("int")), type_)
    if type_.is_interval:
        return cast_to(cast_to(cast_to(text(_seconds(int(described))), _SECONDS), DataType("interval second")), type_)
    return from_memory(text(described), type_) if type_.name == "variant" else cast_to(text(described), type_)


def _seconds(microseconds: int) -> str:
    whole, part = divmod(abs(microseconds), 1_000_000)
    return f"{'-' if microseconds < 0 else ''}{whole}.{part:06}"


def keys_of_values(query: Query, schema: Schema, columns: Sequence[Column]) -> Query:
    """The keys of rows that have a value other than the initial default in one of some columns."""
    return query.over(_of_values(query, [col(k) for k in schema.key_ids], columns))


def cleared(query: Query, schema: Schema, columns: Sequence[Column]) -> Query:
    """The update that resets these columns to their initial defaults."""
    picked: list[exp.Expr] = [col(k) for k in schema.key_ids]
    for c in columns:
        picked += [aliased(initial_value(c), c.id), aliased(col(c.id), c.before)]
    return query.over(_of_values(query, picked, columns))


def _of_values(query: Query, picked: Sequence[exp.Expr], columns: Sequence[Column]) -> exp.Select:
    tests = [differs(c.type, col(c.id), initial_value(c)) for c in columns]
    return select(picked, subquery(query.expression, "v"), where=any_of(tests))
