"""upsert: insert rows with new keys, update others where they differ; partial rows keep the columns they leave out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.frames.input import read_input
from anabranch.model.changes import Counts
from anabranch.model.objects import NewObject
from anabranch.model.schema import Column, column_types
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.commit import Statement
from anabranch.queries import writes as changes
from anabranch.queries.matched_rows import can_match, matched_rows
from anabranch.queries.query import INSERT, OP, UPDATE, Query, Rows, Sources, limited, reading_of
from anabranch.queries.scan import Keys
from anabranch.repo.context.context import Context
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.defaults import default_expressions, default_values, naming_defaults
from anabranch.repo.write.incoming import engine_for, take_in
from anabranch.repo.write.insert import insert_rows
from anabranch.repo.write.netting import touched_columns
from anabranch.repo.write.refusals import refuse_null, refuse_repeated
from anabranch.repo.write.row_objects import Layout
from anabranch.repo.write.scratch import Kept, Scratch, one_file, scratch
from anabranch.repo.write.write import Pending, Write


def upsert(ctx: Context, state: TableState, rows: Any, pending: Pending) -> Statement:
    """Match rows with the table by key, reading only the given columns, and store what differs."""
    what, schema = f"upsert into {state.name!r}", state.schema
    if not schema.has_key:
        hint = "insert rows, or give the table a key: set_key"
        raise InvalidRequest(f"{what}: the table has no key to match rows by", hint=hint)
    given = take_in(ctx, state, read_input(rows, schema.columns), what, partial=True)
    columns = given.columns(schema)
    engine = engine_for(ctx, state, given, what)
    write = Write(ctx, engine, state, pending, what)
    with scratch(ctx, engine) as place:
        most = given.given.row_count
        incoming = place.keep(given.narrow(columns), column_types(columns), schema.key_columns, most, unique=True)
        if not incoming.row_count:
            return Statement("update", (), Counts())
        refuse_null(engine, incoming.source, columns, schema, what)
        refuse_repeated(incoming.repeats, schema, what)
        matched = _match(write, place, incoming, columns)
        updates = _store_updates(write, matched, columns)
        try:
            refuse_broken_checks(write, updates, checks_on(state, columns))
            inserts = _store_inserts(write, matched, columns)
        except BaseException:
            ctx.discard(updates)
            raise
    counts = Counts(sum(o.stored.row_count for o in inserts), sum(o.stored.row_count for o in updates))
    return Statement("insert" if inserts and not updates else "update", (*updates, *inserts), counts)


def _match(write: Write, place: Scratch, incoming: Kept, columns: list[Column]) -> Kept:
    """Join the rows with those the table has at their keys."""
    schema, keys = write.schema, Keys(incoming.source, incoming.key_range)
    with write.reading():
        found = write.rows_at(columns, keys) if can_match(columns) else None
        if found is not None and isinstance(incoming.source, Rows):
            both = matched_rows(incoming.source.table, found, schema.key_columns, columns)
            return replace(incoming, source=Rows(both))
        sources = Sources()
        existing = write.scan(columns, keys, sources)
        query = changes.matched(incoming.source, existing, schema, columns, sources)
        before = [(c.before, c.type) for c in columns if c.id not in schema.key]
        pairs = [*column_types(columns), *before, (OP, DataType("string"))]
        return place.keep(query, pairs, schema.key_columns, incoming.row_count)


def _store_updates(write: Write, matched: Kept, columns: list[Column]) -> tuple[NewObject, ...]:
    """Store the rows that differ, with only the columns in which any does."""
    schema = write.schema
    touched = touched_columns(write.engine, matched, [c for c in columns if c.id not in schema.key])
    if not touched:
        return ()
    names = [*(str(k) for k in schema.key), *(n for c in touched for n in (str(c.id), c.before))]
    layout = Layout(tuple(str(k) for k in schema.key_ids), files=one_file(write.ctx, matched.row_count))
    return write.store(matched.of_kind(UPDATE, names), "update", touched, layout)


def _store_inserts(write: Write, matched: Kept, columns: list[Column]) -> tuple[NewObject, ...]:
    """Complete rows with new keys by defaults, and store them."""
    schema = write.schema
    new = matched.of_kind(INSERT, [str(c.id) for c in columns])
    if not _any(write.engine, new):
        return ()
    names = {str(c.id): str(c.id) for c in columns}
    values = default_values(write.engine, schema, default_expressions(schema, names, write.what))
    whole = new
    if len(columns) < len(schema):
        query = reading_of(new, list(names)) if isinstance(new, Rows) else new
        whole = changes.completed_from(query, names, schema, values)
    elif isinstance(new, Rows):
        whole = Rows(new.table.select([str(c.id) for c in schema]))
    # Matching has shown that the table lacks these keys.
    with naming_defaults(write.ctx, schema, names, write.what):
        return insert_rows(write.on_nothing(), whole)


def _any(engine: Engine, rows: Query | Rows) -> bool:
    if isinstance(rows, Rows):
        return bool(rows.table.num_rows)
    return bool(engine.fetch(limited(rows, 1)).num_rows)
