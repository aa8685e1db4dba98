"""What differs between two schemas of a table, or between the attributes of its entries; columns are matched by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from anabranch.model.schema import Column, Schema

SchemaChangeKind = Literal[
    "add", "drop", "rename", "type", "nullable", "default", "comment", "order", "key", "check", "property", "cluster"
]


@dataclass(frozen=True)
class SchemaChange:
    """One change of a table's description."""

    change: SchemaChangeKind
    name: str | None
    """The later name of the column, check or property; None for the order of columns, the key, the clustering."""
    before: Any
    after: Any


def schema_changes(before: Schema, after: Schema) -> tuple[SchemaChange, ...]:
    """List what changed from one schema to the other."""
    found: list[SchemaChange] = []
    for column in before:
        if after.written_as(column) is None:
            found.append(SchemaChange("drop", column.name, _column_text(column), None))
    for column in after:
        was = before.written_as(column)
        found += (
            [SchemaChange("add", column.name, None, _column_text(column))] if was is None else _altered(was, column)
        )
    if [c.id for c in after] != [c.id for c in _appended(before, after)]:
        found.append(SchemaChange("order", None, list(before.names), list(after.names)))
    old, new = list(before.key_names), list(after.key_names)
    kept = [before.written_as(c) for c in after.key_columns] if after.has_key else []
    if [c.id if c else None for c in kept] != list(before.key):
        found.append(SchemaChange("key", None, old, new))
    return tuple(found)


def _appended(before: Schema, after: Schema) -> list[Column]:
    """The later columns in the order they would have if none was moved: as they were, then those that were added."""
    kept = [c for c in (after.written_as(was) for was in before) if c]
    return [*kept, *(c for c in after if before.written_as(c) is None)]


def _altered(was: Column, now: Column) -> list[SchemaChange]:
    sides: tuple[tuple[SchemaChangeKind, Any, Any], ...] = (
        ("rename", was.name, now.name),
        ("type", str(was.type), str(now.type)),
        ("nullable", was.nullable, now.nullable),
        ("default", was.default, now.default),
        ("comment", was.comment, now.comment),
    )
    return [SchemaChange(kind, now.name, one, other) for kind, one, other in sides if one != other]


def _column_text(column: Column) -> str:
    """A column's type and clauses, as in a schema's text."""
    not_null = "" if column.nullable else " NOT NULL"
    return f"{column.type}{not_null}" + (f" DEFAULT {column.default}" if column.default is not None else "")


def attribute_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[SchemaChange, ...]:
    """List what changed in properties, checks and clustering."""
    kinds: tuple[tuple[str, SchemaChangeKind], ...] = (("properties", "property"), ("checks", "check"))
    found: list[SchemaChange] = []
    for key, kind in kinds:
        old, new = before.get(key, {}), after.get(key, {})
        found += [
            SchemaChange(kind, name, old.get(name), new.get(name))
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
    if before.get("cluster_by") != after.get("cluster_by"):
        found.append(SchemaChange("cluster", None, before.get("cluster_by"), after.get("cluster_by")))
    return tuple(found)
