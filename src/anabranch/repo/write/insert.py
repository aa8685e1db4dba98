"""insert: add rows whose keys the table does not have yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.frames.input import Input, read_input
from anabranch.model.changes import Counts
from anabranch.model.objects import NewObject
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.queries.query import Query, Rows, limited
from anabranch.repo.context.context import Context
from anabranch.repo.write import refusals
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.defaults import naming_defaults
from anabranch.repo.write.incoming import engine_for, take_in
from anabranch.repo.write.row_objects import ObjectForm, layout_of, store_checked
from anabranch.repo.write.write import Pending, Write


def insert(ctx: Context, state: TableState, rows: Any, pending: Pending) -> Statement:
    """Store new rows; refuse keys that are null, repeated or taken."""
    return insert_input(ctx, state, read_input(rows, state.schema.columns), pending)


def insert_input(ctx: Context, state: TableState, given: Input, pending: Pending) -> Statement:
    """Store the rows of an input that was already opened, since it may be read only once."""
    what = f"insert into {state.name!r}"
    rows = take_in(ctx, state, given, what)
    write = Write(ctx, engine_for(ctx, state, rows, what), state, pending, what)
    query = rows.whole(write.engine, state.schema)
    with naming_defaults(ctx, state.schema, rows.names, what):
        made = insert_rows(write, query)
    return Statement("insert", made, Counts(inserted=sum(o.stored.row_count for o in made)))


def insert_rows(write: Write, query: Query | Rows) -> tuple[NewObject, ...]:
    """Store whole rows as objects, checking keys and nulls; if they are refused, nothing is left behind."""
    schema, engine, what = write.schema, write.engine, write.what
    layout = layout_of(write.state)
    by_key = schema.has_key and layout.cluster == tuple(str(k) for k in schema.key)
    form = ObjectForm("rows", schema, schema.columns)
    stored = store_checked(write.ctx, engine, query, form, layout, unique=by_key)
    made = stored.objects
    if not made:
        return ()
    try:
        source = write.source_of(made, schema.stored)
        refusals.refuse_null(engine, source, [c for c in schema if str(c.id) not in stored.null_free], schema, what)
        if schema.has_key:
            refusals.refuse_repeated(stored.repeats or [], schema, what)
            if not by_key or stored.repeats is None:
                refusals.refuse_repeated_anywhere(engine, source, schema, what)
            refuse_taken(write, made)
        refuse_broken_checks(write.on_nothing(), made, checks_on(write.state))
    except BaseException:
        write.ctx.discard(made)
        raise
    return made


def refuse_taken(write: Write, made: Sequence[NewObject]) -> None:
    """Refuse new keys that the table already has, reading key columns only."""
    if not write.state.layers:
        return
    key, keys = write.schema.key_columns, write.keys_of(made)
    with write.reading():
        found = write.rows_at(key, keys)
        if found is None:
            found = write.engine.fetch(limited(write.scan(key, keys), refusals.NAMED_AT_MOST))
    some = found.slice(0, refusals.NAMED_AT_MOST).to_pylist()
    refusals.refuse_keys(some, write.schema, f"{write.what}: the table has these keys already")
