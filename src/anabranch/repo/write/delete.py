"""delete: rows that a condition selects; only keys are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anabranch.model.changes import Counts
from anabranch.model.objects import size_of
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression
from anabranch.queries import writes as changes
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import condition_for, unproven
from anabranch.repo.write.write import Pending, Write


def delete(
    ctx: Context, state: TableState, where: str | None, args: Mapping[str, Any] | None, pending: Pending
) -> Statement:
    """Find the keys of the rows and store them; without a condition, of all rows."""
    what, schema = f"delete from {state.name!r}", state.schema
    condition = None if where is None else Expression.of(where, args, f"{what}: where=")
    spark_reason = unproven([condition], schema) if condition else None
    engine = ctx.engines.pick(Work(size_of(state.layers), unproven=spark_reason), what)
    write = Write(ctx, engine, state, pending, what)
    spoken = condition.columns(schema) if condition else ()
    read = tuple(dict.fromkeys((*schema.key_columns, *spoken)))
    split = condition_for(condition, state, engine)
    query = write.scan(read, split.keys, state=split.near(state))
    query = changes.selected_keys(query, read, schema, write.alias, split.test)
    with write.reading():
        made = write.store(replace(query, args=split.args), "delete", schema.columns)
    return Statement("delete", made, Counts(deleted=sum(o.stored.row_count for o in made)))
