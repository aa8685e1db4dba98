"""upsert: rows by key, new ones inserted, others updated where they differ; partial rows keep what they don't say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.frames.input import read_input
from anabranch.model.changes import Counts
from anabranch.model.objects import NewObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.commit import Statement
from anabranch.queries import writes as changes
from anabranch.queries.query import INSERT, OP, UPDATE, Query, Rows, Sources, limited, reading_of
from anabranch.queries.scan import Keys, near_layers
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import reading
from anabranch.repo.read.scan import scan
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.defaults import default_expressions, default_values, telling_defaults
from anabranch.repo.write.incoming import engine_for, take_in
from anabranch.repo.write.insert import Pending, insert_rows
from anabranch.repo.write.netting import touched_columns
from anabranch.repo.write.row_objects import (
    Kept,
    Layout,
    Scratch,
    one_file,
    refuse_null,
    refuse_repeated,
    scratch,
    store,
)


def upsert(ctx: Context, state: TableState, rows: Any, pending: Pending) -> Statement:
    """Match rows with the table by key, reading only the given columns, and store what differs."""
    what, schema = f"upsert into {state.name!r}", state.schema
    if not schema.has_key:
        hint = "insert rows, or give the table a key: set_key"
        raise InvalidRequest(f"{what}: the table has no key to match rows by", hint=hint)
    given = take_in(ctx, state, read_input(rows, schema.columns), what, partial=True)
    columns = given.columns(schema)
    engine = engine_for(ctx, state, given, what)
    with scratch(ctx, engine) as place:
        most = given.given.row_count
        incoming = place.keep(given.narrow(columns), _pairs(columns), schema.key_columns, most, unique=True)
        if not incoming.row_count:
            return Statement("update", (), Counts())
        refuse_null(engine, incoming.source, columns, schema, what)
        refuse_repeated(incoming.repeats, schema, what)
        matched = _match(ctx, place, state, incoming, columns, pending)
        updates = _store_updates(ctx, engine, matched, schema, columns)
        try:
            checks = checks_on(state, columns)
            refuse_broken_checks(ctx, engine, state, updates, checks, pending, what)
            inserts = _store_inserts(ctx, engine, matched, state, columns, pending, what)
        except BaseException:
            ctx.discard(updates)
            raise
    counts = Counts(sum(o.stored.row_count for o in inserts), sum(o.stored.row_count for o in updates))
    return Statement("insert" if inserts and not updates else "update", (*updates, *inserts), counts)


def _match(
    ctx: Context, place: Scratch, state: TableState, incoming: Kept, columns: list[Column], pending: Pending
) -> Kept:
    """Join the rows with what the table has at their keys."""
    sources = Sources()
    keys = Keys(incoming.source, incoming.key_range)
    layers = near_layers(state, keys)
    existing = scan(
        ctx, replace(state, layers=layers), columns, ctx.access(layers, pending), keys=keys, sources=sources
    )
    query = changes.matched(incoming.source, existing, state.schema, columns, sources)
    with reading(ctx, state):
        pairs = _matched_pairs(state.schema, columns)
        return place.keep(query, pairs, state.schema.key_columns, incoming.row_count)


def _store_updates(
    ctx: Context, engine: Engine, matched: Kept, schema: Schema, columns: list[Column]
) -> tuple[NewObject, ...]:
    """Store the rows that differ, with only the columns in which some row does."""
    touched = touched_columns(engine, matched, [c for c in columns if c.id not in schema.key])
    if not touched:
        return ()
    names = [*(str(k) for k in schema.key), *(n for c in touched for n in (str(c.id), c.before))]
    layout = Layout(tuple(str(k) for k in schema.key_ids), files=one_file(ctx, matched.row_count))
    return store(ctx, engine, matched.of_kind(UPDATE, names), "update", schema, touched, layout)


def _store_inserts(
    ctx: Context,
    engine: Engine,
    matched: Kept,
    state: TableState,
    columns: list[Column],
    pending: Pending,
    what: str,
) -> tuple[NewObject, ...]:
    """Complete the rows whose keys are new with defaults and store them."""
    schema = state.schema
    new = matched.of_kind(INSERT, [str(c.id) for c in columns])
    if not _any(engine, new):
        return ()
    names = {str(c.id): str(c.id) for c in columns}
    values = default_values(engine, schema, default_expressions(schema, names, what))
    whole = new
    if len(columns) < len(schema):
        query = reading_of(new, list(names)) if isinstance(new, Rows) else new
        whole = changes.completed_from(query, names, schema, values)
    elif isinstance(new, Rows):
        whole = Rows(new.table.select([str(c.id) for c in schema]))
    # Matching has shown that the table lacks these keys.
    with telling_defaults(ctx, schema, names, what):
        return insert_rows(ctx, engine, replace(state, layers=()), whole, pending, what)


def _any(engine: Engine, rows: Query | Rows) -> bool:
    if isinstance(rows, Rows):
        return bool(rows.table.num_rows)
    return bool(engine.fetch(limited(rows, 1)).num_rows)


def _pairs(columns: list[Column]) -> list[tuple[str, DataType]]:
    return [(str(c.id), c.type) for c in columns]


def _matched_pairs(schema: Schema, columns: list[Column]) -> list[tuple[str, DataType]]:
    before = [(c.before, c.type) for c in columns if c.id not in schema.key]
    return [*_pairs(columns), *before, (OP, DataType("string"))]
