"""Apply row actions to a table: rows that say what becomes of its rows, checked and stored where they differ."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.changes import Counts
from anabranch.model.objects import NewObject
from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.tables import Operation
from anabranch.model.types import DataType
from anabranch.plan.commit import Statement
from anabranch.queries import row_actions as actions
from anabranch.queries.query import OP, Query, reading_of
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.insert import insert_rows
from anabranch.repo.write.netting import compared_pairs, store_difference
from anabranch.repo.write.refusals import NAMED_AT_MOST, listed, refuse_null
from anabranch.repo.write.scratch import scratch
from anabranch.repo.write.write import Write


def apply_actions(write: Write, query: Query, moves: bool) -> Statement:
    """Make one statement of actions: `query` has OP, each column after (by its id) and before (`_b`), and the row id.

    With `moves`, an update may change a row's key, which is a delete and an insert.
    """
    schema, ctx, engine = write.schema, write.ctx, write.engine
    pairs = _pairs(schema)
    with scratch(ctx, engine) as place:
        kept = place.keep(query, pairs, ())
        if not kept.row_count:
            return Statement("update", (), Counts())
        rows = reading_of(kept.source, [name for name, _ in pairs])
        _refuse_ambiguous(engine, rows, schema, write.what)
        compared = place.keep(
            actions.changed(rows, schema, moves), compared_pairs(schema, _columns(schema)), schema.key_columns
        )
        made = list(store_difference(ctx, engine, compared, schema, _columns(schema)))
        try:
            _check_updates(write, made)
            gone = [o for o in made if o.stored.kind == "delete"]  # their keys are free again
            made += insert_rows(write.after(gone), actions.added(rows, schema, moves))
        except BaseException:
            ctx.discard(made)
            raise
    counts = Counts(
        *(sum(o.stored.row_count for o in made if o.stored.kind == k) for k in ("rows", "update", "delete"))
    )
    both = counts.inserted > 0 and counts.deleted > 0
    return Statement(_operation(counts), tuple(made), counts, exact=not both)


def _operation(counts: Counts) -> Operation:
    if counts.updated or (counts.inserted and counts.deleted):
        return "update"
    return "delete" if counts.deleted else "insert"


def _check_updates(write: Write, made: Sequence[NewObject]) -> None:
    updates = [o for o in made if o.stored.kind == "update"]
    if not updates:
        return
    touched = {i for o in updates for i in o.stored.touched}
    changed = [c for c in write.schema if c.id in touched]
    if any(not c.nullable for c in changed):
        source = write.source_of(updates, (*write.schema.key_columns, *changed))
        refuse_null(write.engine, source, changed, write.schema, write.what)
    refuse_broken_checks(write, updates, checks_on(write.state, changed))


def _refuse_ambiguous(engine: Engine, rows: Query, schema: Schema, what: str) -> None:
    """Refuse several actions on one row of the table."""
    found = engine.fetch(actions.repeated(rows, schema, NAMED_AT_MOST)).to_pylist()
    if found:
        names = {str(c.id): c.name for c in schema}
        shown = [{names[k]: v for k, v in row.items()} for row in found]
        message = f"{what}: several rows of the source match one row of the table: {listed(shown)}"
        raise InvalidRequest(message, hint="let at most one row of the source match, by a narrower ON", rows=shown)


def _columns(schema: Schema) -> list[Column]:
    return [*schema.key_columns, *schema.plain_columns]


def _pairs(schema: Schema) -> list[tuple[str, DataType]]:
    hidden = [] if schema.has_key else list(column_types(schema.key_columns))
    cells = [pair for c in schema for pair in ((str(c.id), c.type), (c.before, c.type))]
    return [(OP, DataType("string")), *hidden, *cells]
