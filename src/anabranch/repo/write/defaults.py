"""Defaults of columns: their text, the values new rows get, and what rows older than the column show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.ids import SchemaId
from anabranch.model.schema import Column, Schema, new_column
from anabranch.model.types import DataType, can_store
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression, type_of_value
from anabranch.proven.table.types import assignable
from anabranch.queries import writes as changes
from anabranch.queries.initial_values import initial_text, initial_value
from anabranch.queries.nested import comparable
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import kept, to_keep
from anabranch.repo.read.conditions import rendered, unproven
from anabranch.repo.write.assigned_values import cast_for

_NOTHING = Schema(SchemaId(""), (), ())


def default_text(value: Any, name: str) -> str | None:
    """A default as SQL text: a string is already an expression, other values become literals."""
    if value is None:
        return None
    if isinstance(value, str):
        return default_expression(value, name).text
    if isinstance(value, bool) or (isinstance(value, (int, float)) and value == value and abs(value) != float("inf")):
        type_of_value(value, f"the default of {name!r}")
        return repr(value).upper() if isinstance(value, bool) else repr(value)
    hint = "give SQL text, such as \"'new'\" or \"date'2026-01-01'\", or a number"
    raise InvalidRequest(f"the default of {name!r} is {value!r}, a {type(value).__name__}", hint=hint)


def default_expression(text: str, name: str) -> Expression:
    """Parse a default. It is computed apart from rows, so it can't name columns."""
    what = f"default of {name!r}"
    found = to_keep(text, what)
    try:
        found.refuse_unknown_names(_NOTHING)
    except NotFound as error:
        raise InvalidRequest(f"{what}: {error.message}", hint="a default can't speak of columns") from error
    return found


def default_expressions(schema: Schema, given: Mapping[str, str], what: str) -> dict[str, Expression]:
    """The defaults of columns that the rows lack; refuse a missing column that has neither default nor nulls."""
    absent = [c for c in schema if c.id not in given]
    for column in absent:
        if column.default is None and not column.nullable:
            message = f"{what}: column {column.name!r} may not be null and has no default"
            raise InvalidRequest(message, hint="give it in the rows", column=column.name)
    return {c.id: kept(c.default, f"default of {c.name!r}") for c in absent if c.default is not None}


def unproven_defaults(schema: Schema, defaults: Mapping[str, Expression]) -> str | None:
    """Name the first part of these defaults, by column id, that only Spark can compute."""
    found = (_unproven_default(defaults[c.id], c) for c in schema if c.id in defaults)
    return next((problem for problem in found if problem), None)


def _unproven_default(default: Expression, column: Column) -> str | None:
    problem = unproven([default], _NOTHING)
    if problem is None and column.type.is_nested:
        source = default.for_duck(_NOTHING)[1]
        alike = source is None or not can_store(source, column.type) or assignable(source, column.type)
        return None if alike else f"a cast from {source} to {column.type}"
    return problem


def default_values(engine: Engine, schema: Schema, defaults: Mapping[str, Expression]) -> dict[str, Any]:
    """Defaults by column id, in the engine's form; struct fields are in order, since rows are cast by position."""
    return {c.id: _value(engine, defaults[c.id], c) for c in schema if c.id in defaults}


def _value(engine: Engine, default: Expression, column: Column) -> Any:
    # Ask Spark for types only where they matter: each question is a round trip.
    plain = not engine.in_process and not column.type.is_nested
    return rendered(default, engine, _NOTHING) if plain else _fitted(engine, default, column)


def default_value(ctx: Context, default: Expression, column: Column) -> Any:
    """Compute a default as new rows will get it."""
    engine = _engine(ctx, default, column)
    value = _fitted(engine, default, column)
    return engine.fetch(changes.in_a_row(value)).column(0)[0].as_py()


def first_value(ctx: Context, default: str, name: str, type_: DataType) -> str | None:
    """Compute a default once, as the catalogue keeps it, for rows older than the column."""
    what, column = f"default of {name!r}", new_column(name, type_)
    expression = default_expression(default, name)
    try:
        if any(t.name == "variant" for t in type_.walk()):
            return _first_with_variants(ctx, expression, column)
        found = default_value(ctx, expression, column)
    except InvalidRequest as error:
        raise InvalidRequest(f"{what}: {error.message}", hint=error.hint, **error.facts) from error
    return None if found is None else initial_text(found, type_)


def _first_with_variants(ctx: Context, default: Expression, column: Column) -> str | None:
    """Keep a variant as JSON; refuse one with values that JSON can't express, such as dates."""
    engine = _engine(ctx, default, column)
    type_, value = column.type, _fitted(engine, default, column)
    found, described = (x[0].as_py() for x in engine.fetch(changes.with_its_form(value, type_)).columns)
    if found is None:
        return None
    text = initial_text(found, type_)
    kept = comparable(type_, initial_value(replace(column, initial_default=text)))
    if engine.fetch(changes.in_a_row(kept)).column(0)[0].as_py() != described:
        message = "it has a variant with values that JSON does not tell, such as dates or doubles"
        raise InvalidRequest(message, hint="make the variant with parse_json('…'), or leave the default out")
    return text


def _engine(ctx: Context, default: Expression, column: Column) -> Engine:
    spark_only = f"a column of type {column.type}" if column.type.only_spark else None
    work = Work(unproven=_unproven_default(default, column), not_in_duck=spark_only)
    return ctx.engines.pick(work, f"default of {column.name!r}")


def _fitted(engine: Engine, default: Expression, column: Column) -> Any:
    value = rendered(default, engine, _NOTHING)
    given = default.for_duck(_NOTHING)[1] if engine.in_process else engine.types(changes.in_a_row(value))[0]
    if given is not None and not can_store(given, column.type):
        message = f"column {column.name!r} is {column.type}, the value is {given}"
        raise InvalidRequest(message, hint="cast it in the expression")
    return cast_for(value, given, column, engine)


@contextmanager
def naming_defaults(ctx: Context, schema: Schema, given: Mapping[str, str], what: str) -> Iterator[None]:
    """If rows are refused over a default that can't be computed, name it; an engine reports only its value."""
    try:
        yield
    except InvalidRequest:
        defaults = default_expressions(schema, given, what)
        for column, default in ((c, defaults[c.id]) for c in schema if c.id in defaults):
            try:
                default_value(ctx, default, column)
            except InvalidRequest as error:
                message = f"{what}: the default of column {column.name!r} is {default.text}: {error.message}"
                hint = "set another default, or give the column in the rows"
                raise InvalidRequest(message, hint=hint, column=column.name) from error
        raise
