"""Columns and layout of a table: only the schema changes, rows that are there are not written again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.ddl import parse_type
from anabranch.model.ids import ObjectId, SchemaId
from anabranch.model.names import is_clean
from anabranch.model.objects import size_of
from anabranch.model.schema import Column, Schema, new_column
from anabranch.model.types import DataType, can_store
from anabranch.plan import schema_change
from anabranch.plan.commit import ThingDraft, draft_state, with_attributes, with_schema
from anabranch.plan.engine import Work
from anabranch.plan.merge_rows import with_rules_moved
from anabranch.queries import changes
from anabranch.queries.expressions import Expression
from anabranch.queries.query import cast_to
from anabranch.queries.scan import scan
from anabranch.repo.context import Context
from anabranch.repo.inputs import key_names
from anabranch.repo.reading import not_in_duck, reading, rendered, unproven
from anabranch.repo.table_checks import refuse_unheld_on, refuse_used
from anabranch.repo.writing import NAMED_AT_MOST, refuse_nulls_found

_NOTHING = Schema(SchemaId(""), (), ())


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
    """What is to become of a column; `...` and None leave things as they are."""

    name: str
    type: str | None
    nullable: bool | None
    default: Any
    comment: Any = ...


def add_column(ctx: Context, table: ThingDraft, asked: NewColumn) -> ThingDraft:
    """Add a column; its default is computed once, for the rows that are there."""
    schema = schema_of(table)
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
    """Drop a column that no check and no layout speaks of."""
    schema = schema_of(table)
    column = schema.column(name)
    refuse_used(table, column, "dropped")
    if column.id in table.attributes.get("cluster_by", ()):
        raise InvalidRequest(
            f"table {table.name!r} is clustered by {name!r}", hint="cluster it by something else first"
        )
    return _with_rules_moved(with_schema(table, schema_change.without_column(schema, column)), column.name, None)


def rename_column(table: ThingDraft, old: str, new: str) -> ThingDraft:
    """Give a column another name; its id and so its values stay."""
    schema = schema_of(table)
    column = schema.column(old)
    if new == column.name:
        return table
    refuse_used(table, column, "renamed")
    return _with_rules_moved(with_schema(table, schema_change.with_name(schema, column, new)), column.name, new)


def _with_rules_moved(table: ThingDraft, old: str, new: str | None) -> ThingDraft:
    """Let the column's merge rule follow it."""
    known = table.attributes.get("properties", {})
    moved = with_rules_moved(known, old, new)
    return table if moved == known else with_attributes(table, "alter properties", properties=moved)


def alter_column(ctx: Context, table: ThingDraft, asked: ColumnChange, pending: Mapping[ObjectId, bytes]) -> ThingDraft:
    """Change type, nullability, default and comment of a column."""
    schema = schema_of(table)
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
            first_value(ctx, text, asked.name, changed.type)  # a default that can't be computed is refused now
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
    """A comment as it is kept; an empty one is none."""
    if given is not None and not (isinstance(given, str) and is_clean(given)):
        raise InvalidRequest(f"the comment of column {name!r} is {given!r}, text was expected", hint="give text")
    return given or None


def cluster_by(table: ThingDraft, columns: str | Sequence[str] | None) -> ThingDraft:
    """Choose the order of rows that are written from now on."""
    return with_attributes(table, "alter partition", cluster_by=cluster_columns(schema_of(table), columns))


def cluster_columns(schema: Schema, columns: str | Sequence[str] | None) -> list[str]:
    """The ids of the columns to cluster by; their values must have an order."""
    chosen = [schema.column(name) for name in key_names(columns)]
    for column in chosen:
        if not column.type.is_ordered:
            hint = "choose numbers, strings, dates or times"
            raise InvalidRequest(f"rows can't be ordered by {column.name!r}, a {column.type}", hint=hint)
    return [str(c.id) for c in dict.fromkeys(chosen)]


def schema_of(table: ThingDraft) -> Schema:
    """The schema of a table's draft."""
    assert table.schema is not None
    return table.schema


def default_text(value: Any, name: str) -> str | None:
    """A default as SQL text: a string is an expression already, another value becomes a literal."""
    if value is None:
        return None
    if isinstance(value, str):
        return default_expression(value, name).text
    if isinstance(value, bool) or (isinstance(value, (int, float)) and value == value and abs(value) != float("inf")):
        return repr(value).upper() if isinstance(value, bool) else repr(value)
    hint = "give SQL text, such as \"'new'\" or \"date'2026-01-01'\", or a number"
    raise InvalidRequest(f"the default of {name!r} is {value!r}, a {type(value).__name__}", hint=hint)


def default_expression(text: str, name: str) -> Expression:
    """A default as an expression: it is computed apart from rows, so it can't speak of columns."""
    what = f"default of {name!r}"
    found = Expression.of(text, None, what)
    try:
        found.refuse_unknown_names(_NOTHING)
    except NotFound as error:
        raise InvalidRequest(f"{what}: {error.message}", hint="a default can't speak of columns") from error
    return found


def first_value(ctx: Context, default: str, name: str, type_: DataType) -> str | None:
    """Compute a default once, as text: what rows have that are older than the column."""
    what = f"default of {name!r}"
    expression = default_expression(default, name)
    try:
        found = default_value(ctx, expression, name, type_)
    except InvalidRequest as error:
        raise InvalidRequest(f"{what}: {error.message}", hint=error.hint, **error.facts) from error
    if found is not None and not type_.has_text:
        raise InvalidRequest(f"{what}: a column of type {type_} can only start as null", hint="leave the default out")
    return None if found is None else _text_of(found)


def default_value(ctx: Context, default: Expression, name: str, type_: DataType) -> Any:
    """The value of a default, computed as new rows will have it computed."""
    spark_only = f"a column of type {type_}" if type_.only_spark else None
    engine = ctx.engines.pick(
        Work(unproven=unproven([default], _NOTHING), not_in_duck=spark_only), f"default of {name!r}"
    )
    value = rendered(default, engine, _NOTHING)
    given = engine.types(changes.in_a_row(value))[0]
    if given is not None and not can_store(given, type_):
        hint = "cast it in the expression"
        raise InvalidRequest(f"column {name!r} is {type_}, the value is {given}", hint=hint)
    return engine.fetch(changes.in_a_row(cast_to(value, type_))).column(0)[0].as_py()


def _text_of(value: Any) -> str:
    """A value as text that a cast to its type reads back, on both engines."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat(" ")
    return str(value)


def _check_nullable(
    ctx: Context, table: ThingDraft, column: Column, nullable: bool, pending: Mapping[ObjectId, bytes]
) -> None:
    """A key is never null; and a column that has nulls can't refuse them."""
    schema, state = schema_of(table), draft_state(table)
    if nullable and column.id in schema.key:
        raise InvalidRequest(f"column {column.name!r} is part of the key, which is never null", hint="leave it")
    if nullable or not column.nullable or not state.row_count:
        return
    what = f"column {column.name!r} of {table.name!r} can't be made not null"
    work = Work(size_of(state.layers), not_in_duck=not_in_duck([column], table.name))
    engine = ctx.engines.pick(work, what)
    shown = tuple(dict.fromkeys((*schema.key_columns, column)))
    query = scan(state, shown, ctx.access(state.layers, pending))
    with reading(ctx, state):
        found = engine.fetch(changes.missing_values(query, [column], schema.key_columns, NAMED_AT_MOST))
    refuse_nulls_found(found, schema, what)
