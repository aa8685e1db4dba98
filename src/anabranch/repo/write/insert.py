"""insert: new rows, whose keys the table does not have yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.frames.input import Input, fitted, match_columns, read_input
from anabranch.model.changes import Counts
from anabranch.model.ids import ObjectId
from anabranch.model.objects import NewObject, around, size_of
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression
from anabranch.queries import writes as changes
from anabranch.queries.nested import needs_spark_to_take
from anabranch.queries.query import Query, Rows, Source, Sources, limited
from anabranch.queries.scan import Keys, scan
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import not_in_duck, reading, unproven
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.defaults import default_expressions, default_values, telling_defaults, unproven_defaults
from anabranch.repo.write.row_objects import (
    NAMED_AT_MOST,
    Layout,
    layout_of,
    refuse_keys,
    refuse_null,
    refuse_repeated,
    refuse_repeated_anywhere,
    source_of,
    store,
)

Pending = Mapping[ObjectId, bytes]


def insert(ctx: Context, state: TableState, rows: Any, pending: Pending) -> Statement:
    """Store new rows, and refuse keys that are null, come twice, or are there already."""
    return insert_input(ctx, state, read_input(rows, state.schema.columns), pending)


def insert_input(ctx: Context, state: TableState, given: Input, pending: Pending) -> Statement:
    """Store the rows of an input that was taken in already: it may be read only once."""
    what = f"insert into {state.name!r}"
    names = match_columns(given, state.schema, what)
    defaults = default_expressions(state.schema, names, what)
    given = fitted(given, state.schema, names, what)
    engine = ctx.engines.pick(_work(given, state, defaults), what)
    values = default_values(engine, state.schema, defaults)
    query = at_hand(given, names, state.schema) or changes.completed(
        given.source, given.types, names, state.schema, values
    )
    with telling_defaults(ctx, state.schema, names, what):
        made = insert_rows(ctx, engine, state, query, pending, what)
    return Statement("insert", made, Counts(inserted=sum(o.stored.row_count for o in made)))


def insert_rows(
    ctx: Context, engine: Engine, state: TableState, query: Query | Rows, pending: Pending, what: str
) -> tuple[NewObject, ...]:
    """Store whole rows as objects and check their keys and nulls; nothing is left behind if they are refused."""
    schema = state.schema
    layout = layout_of(state)
    made = store(ctx, engine, query, "rows", schema, schema.columns, layout)
    if not made:
        return ()
    try:
        source = source_of(made, ctx, [(str(c.id), c.type) for c in schema.stored])
        refuse_null(engine, source, schema.columns, schema, what)
        if schema.has_key:
            _refuse_repeated(ctx, engine, layout, source, schema, what)
            refuse_taken(ctx, engine, state, made, pending, what)
        refuse_broken_checks(ctx, engine, replace(state, layers=()), made, checks_on(state), pending, what)
    except BaseException:
        ctx.discard(made)
        raise
    return made


def _refuse_repeated(ctx: Context, engine: Engine, layout: Layout, source: Source, schema: Schema, what: str) -> None:
    if layout.cluster == tuple(str(k) for k in schema.key):
        refuse_repeated(ctx, source, schema, what)
    else:
        refuse_repeated_anywhere(engine, source, schema, what)


def at_hand(given: Input, names: Mapping[str, str], schema: Schema) -> Rows | None:
    """Whole rows in memory under the columns' ids; None if an engine has to make them."""
    if not isinstance(given.source, Rows) or len(names) < len(schema):
        return None
    if any(needs_spark_to_take(c.type) for c in schema):
        return None
    rows = given.source.table.select([names[c.id] for c in schema])
    return Rows(rows.rename_columns([str(c.id) for c in schema]))


def _work(given: Input, state: TableState, defaults: Mapping[str, Expression]) -> Work:
    strange = unproven_defaults(state.schema, defaults)
    strange = strange or unproven(list(checks_on(state).values()), state.schema)
    return Work(size_of(state.layers), given.is_spark, strange, not_in_duck(state.schema, state.name))


def refuse_taken(
    ctx: Context,
    engine: Engine,
    state: TableState,
    made: Sequence[NewObject],
    pending: Pending,
    what: str,
) -> None:
    """Look the new keys up in the table, reading key columns only."""
    if not state.layers:
        return
    key = state.schema.key_columns
    sources = Sources()
    source = source_of(made, ctx, [(str(c.id), c.type) for c in key])
    keys = Keys(source, around(o.stored.key_range for o in made))
    existing = scan(state, key, ctx.access(state.layers, pending), keys=keys, sources=sources)
    with reading(ctx, state):
        found = engine.fetch(limited(existing, NAMED_AT_MOST))
    refuse_keys(found.to_pylist(), state.schema, f"{what}: the table has these keys already")
