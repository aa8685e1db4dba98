"""insert: new rows, whose keys the table does not have yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.frames.input import Input, read_input
from anabranch.model.changes import Counts
from anabranch.model.ids import ObjectId
from anabranch.model.objects import NewObject, around
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.queries.query import Query, Rows, Sources, limited
from anabranch.queries.scan import Keys
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import reading
from anabranch.repo.read.scan import scan
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.defaults import telling_defaults
from anabranch.repo.write.incoming import engine_for, take_in
from anabranch.repo.write.row_objects import (
    NAMED_AT_MOST,
    layout_of,
    refuse_keys,
    refuse_null,
    refuse_repeated,
    refuse_repeated_anywhere,
    source_of,
    store_checked,
)

Pending = Mapping[ObjectId, bytes]


def insert(ctx: Context, state: TableState, rows: Any, pending: Pending) -> Statement:
    """Store new rows, and refuse keys that are null, come twice, or are there already."""
    return insert_input(ctx, state, read_input(rows, state.schema.columns), pending)


def insert_input(ctx: Context, state: TableState, given: Input, pending: Pending) -> Statement:
    """Store the rows of an input that was taken in already: it may be read only once."""
    what = f"insert into {state.name!r}"
    rows = take_in(ctx, state, given, what)
    engine = engine_for(ctx, state, rows, what)
    query = rows.whole(engine, state.schema)
    with telling_defaults(ctx, state.schema, rows.names, what):
        made = insert_rows(ctx, engine, state, query, pending, what)
    return Statement("insert", made, Counts(inserted=sum(o.stored.row_count for o in made)))


def insert_rows(
    ctx: Context, engine: Engine, state: TableState, query: Query | Rows, pending: Pending, what: str
) -> tuple[NewObject, ...]:
    """Store whole rows as objects and check their keys and nulls; nothing is left behind if they are refused."""
    schema = state.schema
    layout = layout_of(state)
    by_key = schema.has_key and layout.cluster == tuple(str(k) for k in schema.key)
    made, repeats = store_checked(ctx, engine, query, "rows", schema, schema.columns, layout, unique=by_key)
    if not made:
        return ()
    try:
        source = source_of(made, ctx, [(str(c.id), c.type) for c in schema.stored])
        refuse_null(engine, source, schema.columns, schema, what)
        if schema.has_key:
            refuse_repeated(repeats, schema, what)
            if not by_key:
                refuse_repeated_anywhere(engine, source, schema, what)
            refuse_taken(ctx, engine, state, made, pending, what)
        refuse_broken_checks(ctx, engine, replace(state, layers=()), made, checks_on(state), pending, what)
    except BaseException:
        ctx.discard(made)
        raise
    return made


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
    existing = scan(ctx, state, key, ctx.access(state.layers, pending), keys=keys, sources=sources)
    with reading(ctx, state):
        found = engine.fetch(limited(existing, NAMED_AT_MOST))
    refuse_keys(found.to_pylist(), state.schema, f"{what}: the table has these keys already")
