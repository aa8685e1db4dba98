"""delete: remove the rows that a condition selects; only keys are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.model.changes import Counts
from anabranch.model.objects import size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.plan.engine import Work
from anabranch.queries import writes as changes
from anabranch.queries.query import Query, Rows
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import Condition, condition_for, unproven, where_of
from anabranch.repo.write.write import Pending, Write


def delete(
    ctx: Context, state: TableState, where: str | None, args: Mapping[str, Any] | None, pending: Pending
) -> Statement:
    """Find and store the keys of the rows; without a condition, of all rows."""
    what, schema = f"delete from {state.name!r}", state.schema
    condition = where_of(where, args, f"{what}: where=")
    spark_reason = unproven([condition], schema, state.name) if condition else None
    engine = ctx.engines.pick(Work(size_of(state.layers), unproven=spark_reason), what)
    write = Write(ctx, engine, state, pending, what)
    spoken = condition.columns(schema) if condition else ()
    read = tuple(dict.fromkeys((*schema.key_columns, *spoken)))
    split = condition_for(condition, state, engine)
    with write.reading():
        made = write.store(_selected(write, split, read), "delete", schema.columns)
    return Statement("delete", made, Counts(deleted=sum(o.stored.row_count for o in made)))


def _selected(write: Write, condition: Condition, read: Sequence[Column]) -> Query | Rows:
    """The keys of the rows that a condition selects; if it only names keys, they are looked up."""
    if condition.keys is not None and condition.test is None:
        found = write.rows_at(write.schema.key_columns, condition.keys)
        if found is not None:
            return Rows(found)
    query = write.scan(read, condition.keys, state=condition.near(write.state))
    query = changes.selected_keys(query, read, write.schema, write.alias, condition.test)
    return replace(query, args=condition.args)
