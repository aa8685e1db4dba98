"""Tables and namespaces on a side of a merge, made and changed as statements would."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from anabranch.model.ddl import parse_type
from anabranch.model.ids import ROOT_NAMESPACE, ColumnId, SchemaId, ThingId, new_id
from anabranch.model.schema import Column, Schema, make_schema, new_column, parse_columns
from anabranch.model.tables import Operation
from anabranch.plan.merge.things import ThingSide

Edit = Callable[[ThingSide], ThingSide]
"""A statement on one side."""


def table(
    name: str = "orders",
    columns: dict[str, str] | None = None,
    key: Iterable[str] = ("id",),
    parent: ThingSide | None = None,
    **attributes: Any,
) -> ThingSide:
    """A table at the base."""
    schema = make_schema(parse_columns(columns or {"id": "bigint", "a": "int", "b": "int"}), list(key))
    above, path = (parent.id, f"{parent.path}.{name}") if parent else (ROOT_NAMESPACE, name)
    return ThingSide(ThingId(new_id("t")), "table", above, name, path, attributes, schema)


def namespace(name: str = "sales", parent: ThingSide | None = None, **attributes: Any) -> ThingSide:
    """A namespace at the base."""
    above, path = (parent.id, f"{parent.path}.{name}") if parent else (ROOT_NAMESPACE, name)
    return ThingSide(ThingId(new_id("n")), "namespace", above, name, path, attributes)


def created(thing: ThingSide, *, rows: bool = True) -> ThingSide:
    """A thing that a side made since the base."""
    has_rows = rows and thing.kind == "table"
    return replace(thing, operations=("create",), rows_changed=has_rows, rows_inserted=has_rows)


def after(thing: ThingSide, *edits: Edit) -> ThingSide:
    """The thing after statements."""
    for edit in edits:
        thing = edit(thing)
    return thing


def did(thing: ThingSide, operation: Operation, **changed: Any) -> ThingSide:
    return replace(thing, operations=(*thing.operations, operation), **changed)


def schema_of(thing: ThingSide | None) -> Schema:
    assert thing is not None
    assert thing.schema is not None
    return thing.schema


def with_columns(thing: ThingSide, columns: Iterable[Column]) -> ThingSide:
    schema = Schema(SchemaId(new_id("s")), tuple(columns), schema_of(thing).key)
    return did(thing, "alter column", schema=schema)


def add(
    name: str, type_: str = "int", *, first: str | None = None, default: str | None = None, nullable: bool = True
) -> Edit:
    """Add a column, with an id of its own each time."""

    def edit(thing: ThingSide) -> ThingSide:
        made = new_column(name, parse_type(type_), nullable=nullable, default=default)
        return with_columns(thing, (*schema_of(thing).columns, replace(made, initial_default=first)))

    return edit


def drop(name: str) -> Edit:
    return lambda t: with_columns(t, [c for c in schema_of(t) if c.name != name])


def alter(column: str, **changed: Any) -> Edit:
    """Give a column another name, type, nullability or default."""
    if isinstance(changed.get("type"), str):
        changed["type"] = parse_type(changed["type"])
    return lambda t: with_columns(t, [replace(c, **changed) if c.name == column else c for c in schema_of(t)])


def rename(old: str, new: str) -> Edit:
    return alter(old, name=new)


def order(*names: str) -> Edit:
    return lambda t: with_columns(t, [schema_of(t).column(n) for n in names])


def rekey(*names: str) -> Edit:
    return lambda t: did(t, "alter column", schema=make_schema(schema_of(t).columns, names))


def check(name: str, text: str | None, *columns: str) -> Edit:
    """Add, change or drop a check that speaks of columns."""

    def edit(thing: ThingSide) -> ThingSide:
        known = {n: t for n, t in thing.texts("checks").items() if n != name} | ({name: text} if text else {})
        spoken = {n: ids for n, ids in thing.check_columns.items() if n != name}
        if text:
            spoken[name] = frozenset(schema_of(thing).column(c).id for c in columns)
        return did(thing, "alter column", attributes={**thing.attributes, "checks": known}, check_columns=spoken)

    return edit


def cluster(*names: str) -> Edit:
    return lambda t: did(
        t,
        "alter partition",
        attributes={**t.attributes, "cluster_by": [str(schema_of(t).column(n).id) for n in names]},
    )


def put(**properties: str | None) -> Edit:
    """Set properties, or unset them with None."""

    def edit(thing: ThingSide) -> ThingSide:
        known = {k: v for k, v in {**thing.texts("properties"), **properties}.items() if v is not None}
        rest = {k: v for k, v in thing.attributes.items() if k != "properties"}
        return did(thing, "alter properties", attributes={**rest, **({"properties": known} if known else {})})

    return edit


def move(name: str, parent: ThingSide | None = None) -> Edit:
    """Give a thing another name or place."""
    above, path = (parent.id, f"{parent.path}.{name}") if parent else (ROOT_NAMESPACE, name)
    return lambda t: did(t, "alter name", name=name, path=path, parent_id=above)


def insert(thing: ThingSide) -> ThingSide:
    """Insert rows that have values in all columns."""
    filled = thing.filled | {c.id for c in schema_of(thing)}
    return did(thing, "insert", rows_changed=True, rows_inserted=True, filled=filled)


def delete(thing: ThingSide) -> ThingSide:
    return did(thing, "delete", rows_changed=True)


def overwrite(thing: ThingSide) -> ThingSide:
    return did(thing, "overwrite", rows_changed=True)


def update(*names: str) -> Edit:
    """Update cells of columns."""

    def edit(thing: ThingSide) -> ThingSide:
        ids: frozenset[ColumnId] = frozenset(schema_of(thing).column(n).id for n in names)
        return did(thing, "update", rows_changed=True, touched=thing.touched | ids)

    return edit


def gone(thing: ThingSide) -> ThingSide:
    return did(thing, "drop", dropped=True)


def described(thing: ThingSide | None) -> str:
    """The columns and key of a table as one line: `!` is not null, `=` a default, `#` a comment."""
    schema = schema_of(thing)
    firm = {c.id: "" if c.nullable or c.id in schema.key else "!" for c in schema}
    said = {
        c.id: "".join(f"{sign}{text}" for sign, text in (("=", c.default), ("#", c.comment)) if text) for c in schema
    }
    columns = [f"{c.name} {c.type}{firm[c.id]}{said[c.id]}" for c in schema]
    return f"{', '.join(columns)} by {'+'.join(schema.key_names) or 'nothing'}"
