"""set_key: change or drop a table's key. All rows are checked and rewritten: a new version of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.frames.input import key_names
from anabranch.model.ids import ObjectId, new_id
from anabranch.model.objects import size_of
from anabranch.model.tables import ROW_IDS
from anabranch.plan.commit import ThingDraft, draft_state, with_version
from anabranch.plan.engine import Work
from anabranch.plan.schema_change import with_key
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import not_in_duck, reading
from anabranch.repo.read.scan import scan
from anabranch.repo.write.insert import insert_rows
from anabranch.repo.write.write import Write


def set_key(
    ctx: Context, table: ThingDraft, key: str | Sequence[str] | None, pending: Mapping[ObjectId, bytes]
) -> ThingDraft:
    """Rewrite the whole table under a new key, which must be unique and never null."""
    schema, state = table.table_schema, draft_state(table)
    changed = with_key(schema, key_names(key))
    if changed.key == schema.key:
        return table
    what = f"new key of {table.name!r}"
    work = Work(size_of(state.layers), not_in_duck=not_in_duck(schema, table.name))
    engine = ctx.engines.pick(work, what)
    rows = scan(ctx, state, schema.columns, ctx.access(state.layers, pending))
    layout = {k: v for k, v in state.attributes.items() if k != "checks"}  # checks already hold for these rows
    empty = replace(state, schema=changed, layers=(), schemas={changed.id: changed}, attributes=layout)
    with reading(ctx, state):
        made = insert_rows(Write(ctx, engine, empty, pending, what), rows)
    numbered = {} if changed.has_key else {ROW_IDS: new_id("w")}
    attributes = {**{k: v for k, v in table.attributes.items() if k != ROW_IDS}, **numbered}
    return replace(with_version(table, changed, made), attributes=attributes)
