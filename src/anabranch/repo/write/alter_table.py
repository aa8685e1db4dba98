"""Alter a table's columns and layout: only the schema changes, existing rows are not rewritten but for a new key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.frames.input import key_names
from anabranch.model.ddl import parse_type
from anabranch.model.ids import ObjectId, new_id
from anabranch.model.names import is_clean
from anabranch.model.schema import Column, Schema, new_column
from anabranch.model.tables import ROW_IDS
from anabranch.plan import schema_change
from anabranch.plan.commit import ThingDraft, draft_state, with_attributes, with_schema, with_version
from anabranch.plan.merge.rules import with_rules_moved
from anabranch.plan.schema_change import with_key
from anabranch.queries import writes as changes
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import pick_engine, reading
from anabranch.repo.read.scan import scan
from anabranch.repo.write.checks import refuse_unheld_on, refuse_used
from anabranch.repo.write.defaults import default_text, first_value
from anabranch.repo.write.insert import insert_rows
from anabranch.repo.write.refusals import NAMED_AT_MOST, refuse_nulls_found
from anabranch.repo.write.write import Write


@dataclass(frozen=True)
class NewColumn:
    """A column to add."""

    name: str
    type: str
    default: Any
    """Text is an SQL expression, anything else a value."""
    nullable: bool
    comment: str | None = None


@dataclass(frozen=True)
class ColumnChange:
    """Changes to a column; `...` and None leave things as they are."""

    name: str
    type: str | None
    nullable: bool | None
    default: Any
    comment: Any = ...


def add_column(ctx: Context, table: ThingDraft, asked: NewColumn) -> ThingDraft:
    """Add a column; its default is computed once, for the existing rows."""
    schema = table.table_schema
    type_ = parse_type(asked.type)
    default = default_text(asked.default, asked.name)
    first = None if default is None else first_value(ctx, default, asked.name, type_)
    if not asked.nullable and first is None and table.row_count:
        message = f"column {asked.name!r} may not be null, and the {table.row_count} rows of {table.name!r} lack it"
        raise InvalidRequest(message, hint="give a default, or let it be null")
    made = new_column(asked.name, type_, nullable=asked.nullable, default=default)
    made = replace(made, initial_default=first, comment=_comment(asked.comment, asked.name))
    return with_schema(table, schema_change.with_column(schema, made))


def drop_column(table: ThingDraft, name: str) -> ThingDraft:
    """Drop a column that no check and no clustering uses."""
    schema = table.table_schema
    column = schema.column(name)
    refuse_used(table, column, "dropped")
    if column.id in table.attributes.get("cluster_by", ()):
        hint = "cluster it by something else first"
        raise InvalidRequest(f"table {table.name!r} is clustered by {name!r}", hint=hint)
    return _with_rules_moved(with_schema(table, schema_change.without_column(schema, column)), column.name, None)


def rename_column(table: ThingDraft, old: str, new: str) -> ThingDraft:
    """Rename a column; its id, and so its values, stay."""
    schema = table.table_schema
    column = schema.column(old)
    if new == column.name:
        return table
    refuse_used(table, column, "renamed")
    return _with_rules_moved(with_schema(table, schema_change.with_name(schema, column, new)), column.name, new)


def _with_rules_moved(table: ThingDraft, old: str, new: str | None) -> ThingDraft:
    """Rename or drop the column's merge rule along with the column."""
    known = table.attributes.get("properties", {})
    moved = with_rules_moved(known, old, new)
    return table if moved == known else with_attributes(table, "alter properties", properties=moved)


def alter_column(ctx: Context, table: ThingDraft, asked: ColumnChange, pending: Mapping[ObjectId, bytes]) -> ThingDraft:
    """Change a column's type, nullability, default and comment."""
    schema = table.table_schema
    column = schema.column(asked.name)
    changed = column
    if asked.type is not None:
        changed = schema_change.widened(schema, changed, parse_type(asked.type))
    if asked.nullable is not None:
        changed = replace(changed, nullable=asked.nullable)
        _check_nullable(ctx, table, column, asked.nullable, pending)
    if asked.default is not ...:
        text = default_text(asked.default, asked.name)
        if text is not None:
            first_value(ctx, text, asked.name, changed.type)  # refuse now a default that can't be computed
        changed = replace(changed, default=text)
    if asked.comment is not ...:
        changed = replace(changed, comment=_comment(asked.comment, asked.name))
    if changed == column:
        return table
    altered = with_schema(table, schema_change.with_altered(schema, changed))
    if changed.type != column.type:
        refuse_unheld_on(ctx, altered, changed, pending)
    return altered


def _comment(given: Any, name: str) -> str | None:
    """Check a comment; an empty one counts as none."""
    if given is not None and not (isinstance(given, str) and is_clean(given)):
        raise InvalidRequest(f"the comment of column {name!r} is {given!r}, text was expected", hint="give text")
    return given or None


def cluster_by(table: ThingDraft, columns: str | Sequence[str] | None) -> ThingDraft:
    """Choose the order in which rows are written from now on."""
    return with_attributes(table, "alter partition", cluster_by=cluster_columns(table.table_schema, columns))


def cluster_columns(schema: Schema, columns: str | Sequence[str] | None) -> list[str]:
    """The ids of the columns to cluster by; their values must have an order."""
    chosen = [schema.column(name) for name in key_names(columns)]
    for column in chosen:
        if not column.type.is_ordered:
            hint = "choose numbers, strings, dates or times"
            raise InvalidRequest(f"rows can't be ordered by {column.name!r}, a {column.type}", hint=hint)
    return [str(c.id) for c in dict.fromkeys(chosen)]


def _check_nullable(
    ctx: Context, table: ThingDraft, column: Column, nullable: bool, pending: Mapping[ObjectId, bytes]
) -> None:
    """Refuse nulls in a key, and NOT NULL for a column that has nulls."""
    schema, state = table.table_schema, draft_state(table)
    if nullable and column.id in schema.key:
        raise InvalidRequest(f"column {column.name!r} is part of the key, which is never null", hint="leave it")
    if nullable or not column.nullable or not state.row_count:
        return
    what = f"column {column.name!r} of {table.name!r} can't be made not null"
    engine = pick_engine(ctx, state, what, [column])
    shown = tuple(dict.fromkeys((*schema.key_columns, column)))
    query = scan(ctx, state, shown, ctx.access(state.layers, pending))
    with reading(ctx, state):
        found = engine.fetch(changes.missing_values(query, [column], schema.key_columns, NAMED_AT_MOST))
    refuse_nulls_found(found, schema, what)


def set_key(
    ctx: Context, table: ThingDraft, key: str | Sequence[str] | None, pending: Mapping[ObjectId, bytes]
) -> ThingDraft:
    """Rewrite the whole table under a new key, which must be unique and never null."""
    schema, state = table.table_schema, draft_state(table)
    changed = with_key(schema, key_names(key))
    if changed.key == schema.key:
        return table
    what = f"new key of {table.name!r}"
    engine = pick_engine(ctx, state, what)
    rows = scan(ctx, state, schema.columns, ctx.access(state.layers, pending))
    layout = {k: v for k, v in state.attributes.items() if k != "checks"}  # checks already hold for these rows
    empty = replace(state, schema=changed, layers=(), schemas={changed.id: changed}, attributes=layout)
    with reading(ctx, state):
        made = insert_rows(Write(ctx, engine, empty, pending, what), rows)
    numbered = {} if changed.has_key else {ROW_IDS: new_id("w")}
    attributes = {**{k: v for k, v in table.attributes.items() if k != ROW_IDS}, **numbered}
    return replace(with_version(table, changed, made), attributes=attributes)
