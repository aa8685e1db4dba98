"""overwrite: replace a table, or the rows a condition selects, by given rows; only what differs is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.frames.input import read_input
from anabranch.model.ids import ObjectId
from anabranch.model.objects import NewObject
from anabranch.model.schema import column_types
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.commit import Statement
from anabranch.proven.expression import Expression
from anabranch.queries import writes as changes
from anabranch.queries.query import DELETE, INSERT, OP, Query, Sources, reading_from, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import Condition, condition_for, reading, rendered_test, where_of
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.defaults import naming_defaults
from anabranch.repo.write.incoming import engine_for, take_in
from anabranch.repo.write.insert import refuse_taken
from anabranch.repo.write.netting import compared_pairs, counts_of, store_difference
from anabranch.repo.write.refusals import NAMED_AT_MOST, listed, refuse_null, refuse_repeated
from anabranch.repo.write.row_objects import layout_of
from anabranch.repo.write.scratch import Kept, Scratch, scratch
from anabranch.repo.write.write import Write


def overwrite(
    ctx: Context,
    state: TableState,
    rows: Any,
    pending: Mapping[ObjectId, bytes],
    where: str | None = None,
    args: Mapping[str, Any] | None = None,
) -> Statement:
    """Compare given rows with those that `where` selects, by key or else as whole rows, and store what differs."""
    what, schema = f"overwrite of {state.name!r}", state.schema
    condition = where_of(where, args, f"{what}: where=")
    given = take_in(ctx, state, read_input(rows, schema.columns), what)
    engine = engine_for(ctx, state, given, what, condition)
    whole = given.whole(engine, schema)
    write = Write(ctx, engine, state, pending, what)
    with scratch(ctx, engine) as place, reading(ctx, state):
        key = schema.key_columns if schema.has_key else ()
        with naming_defaults(ctx, schema, given.names, what):
            pairs = list(column_types(schema))
            incoming = place.keep(whole, pairs, key, unique=schema.has_key)
        refuse_null(engine, incoming.source, schema.columns, schema, what)
        if schema.has_key:
            refuse_repeated(incoming.repeats, schema, what)
        split = condition_for(condition, state, engine)
        if condition:
            _refuse_outside(write, incoming, condition)
        made = _store(write, place, incoming, split)
    try:
        written = [o for o in made if o.stored.kind != "delete"]
        came = [o for o in made if o.stored.kind == "rows"]
        if condition and schema.has_key and came:
            refuse_taken(replace(write, what=f"{what}, where {condition.text}"), came)
        for kind in ("rows", "update"):
            part = [o for o in written if o.stored.kind == kind]
            refuse_broken_checks(write, part, checks_on(state))
    except BaseException:
        ctx.discard(made)
        raise
    return Statement("overwrite", made, counts_of(made))


def _refuse_outside(write: Write, incoming: Kept, condition: Expression) -> None:
    """Refuse rows that the condition does not select: a repeated load would not replace them."""
    schema = write.schema
    key = schema.key_columns if schema.has_key else ()
    read = tuple(dict.fromkeys((*key, *condition.columns(schema))))
    query = replace(reading_of(incoming.source, [str(c.id) for c in read]), args=dict(condition.args))
    test = rendered_test(condition, write.engine, schema)
    found = write.engine.fetch(changes.other_rows(query, read, test, write.alias, NAMED_AT_MOST)).to_pylist()
    if found:
        selected = f"those that the condition selects ({condition.text})"
        message = f"{write.what}: these rows are not among {selected}: {listed(found)}"
        raise InvalidRequest(message, hint="leave them out, or let the condition select them, too", rows=found)


def _store(write: Write, place: Scratch, incoming: Kept, split: Condition) -> tuple[NewObject, ...]:
    """Store the difference between the given rows and those in the table that the condition selects."""
    schema, sources = write.schema, Sources()
    before = write.scan(schema.stored, split.keys, sources)
    if split.test is not None:
        before = changes.selected_rows(before, schema.stored, schema.stored, write.alias, split.test)
    after = reading_from(incoming.source, [str(c.id) for c in schema], sources)
    if schema.has_key:
        compared = changes.compared(before, after, schema, schema.columns, sources)
        pairs = compared_pairs(schema, schema.columns)
        kept = place.keep(replace(changes.changed_only(compared), args=split.args), pairs, schema.key_columns)
        return store_difference(write.ctx, write.engine, kept, schema, schema.columns)
    compared = changes.compared_rows(before, after, schema, sources)
    return _store_rows(write, place, replace(changes.changed_only(compared), args=split.args))


def _store_rows(write: Write, place: Scratch, compared: Query) -> tuple[NewObject, ...]:
    """Store whole rows that came and went; new ones get new ids."""
    schema = write.schema
    kept = place.keep(compared, [*column_types(schema.stored), (OP, DataType("string"))], schema.key_columns)
    came = kept.of_kind(INSERT, [str(c.id) for c in schema])
    went = kept.of_kind(DELETE, [str(k) for k in schema.key_ids])
    made = write.store(came, "rows", schema.columns, layout_of(write.state))
    return (*made, *write.store(went, "delete", schema.columns))
