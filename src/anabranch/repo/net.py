"""Netting: several statements on one table become one change per key, exactly the difference to the parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.engine import Engine
from anabranch.model.changes import Counts
from anabranch.model.objects import NewObject, around, size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.plan.commit import Statement, ThingDraft, draft_state
from anabranch.plan.engine import Work
from anabranch.queries import changes
from anabranch.queries.query import Rows, Sources
from anabranch.queries.scan import Keys, scan
from anabranch.repo.context import Context
from anabranch.repo.reading import not_in_duck, reading
from anabranch.repo.writing import Kept, scratch, store


def net(ctx: Context, table: ThingDraft) -> ThingDraft:
    """Compare the states before and after at the touched keys, and store the difference."""
    if not table.needs_netting or table.schema is None:
        return table
    after, schema = draft_state(table), table.schema
    before = table.base or replace(after, layers=(), row_count=0)
    objects = [o for s in table.statements for o in s.objects]
    columns = _touched(objects, schema)
    pending = {o.stored.id: o.content for o in objects if o.content is not None}
    engine = ctx.engines.pick(
        Work(size_of(after.layers), _has_files(objects), not_in_duck=not_in_duck(columns, table.name)),
        f"netting {table.name!r}",
    )
    with scratch(ctx, engine) as place, reading(ctx, after):
        sources_of_keys = [ctx.source_of(o.stored, _key_pairs(schema), pending) for o in objects]
        keys = place.keep(
            changes.distinct_keys(sources_of_keys, schema.key_columns), _key_pairs(schema), schema.key_columns
        )
        sources = Sources()
        limited = Keys(keys.source, around(o.stored.key_range for o in objects))
        access = ctx.access(after.layers, pending)
        old = scan(before, columns, access, keys=limited, sources=sources)
        new = scan(after, columns, access, keys=limited, sources=sources)
        compared = place.keep(
            changes.compared(old, new, schema, columns, sources), _pairs(schema, columns), schema.key_columns
        )
        made = _store(ctx, engine, compared, schema, columns)
    counts = _counts(made)
    operations = table.operations if made or table.created else ()
    statements = (Statement("update", made, counts),) if made else ()
    return replace(table, statements=statements, operations=operations)


def touched_columns(kept: Kept, columns: Sequence[Column]) -> list[Column]:
    """The columns in which some updated row differs; Spark is not asked again, it stores all that were given."""
    if not isinstance(kept.source, Rows):
        return list(columns)
    rows = kept.source.table
    updated = rows.filter(pc.equal(rows.column(changes.OP), changes.UPDATE))
    return [c for c in columns if updated.num_rows and _differs(updated, c)]


def _differs(rows: pa.Table, column: Column) -> bool:
    one, other = rows.column(column.before), rows.column(column.id)
    if column.type.is_nested:
        return not one.equals(other)  # It may find a difference where there is none: the order of a map, a NaN.
    unequal = pc.fill_null(pc.not_equal(one, other), False)
    if pa.types.is_floating(one.type):
        both_nan = pc.and_(pc.is_nan(one), pc.is_nan(other))
        unequal = pc.and_(unequal, pc.invert(pc.fill_null(both_nan, False)))
    lonely = pc.not_equal(pc.is_null(one), pc.is_null(other))
    return bool(pc.any(unequal).as_py() or pc.any(lonely).as_py())


def _store(
    ctx: Context, engine: Engine, compared: Kept, schema: Schema, columns: Sequence[Column]
) -> tuple[NewObject, ...]:
    """Store inserts, updates and deletes as objects of their own."""
    keys = [str(k) for k in schema.key]
    made: list[NewObject] = []
    if {c.id for c in columns} == {c.id for c in schema}:
        rows = compared.of_kind(changes.INSERT, [str(c.id) for c in schema])
        made += store(ctx, engine, rows, "rows", schema, schema.columns)
    touched = touched_columns(compared, [c for c in columns if c.id not in schema.key])
    if touched:
        names = [*keys, *(n for c in touched for n in (str(c.id), c.before))]
        made += store(ctx, engine, compared.of_kind(changes.UPDATE, names), "update", schema, touched)
    made += store(ctx, engine, compared.of_kind(changes.DELETE, keys), "delete", schema, schema.columns)
    return tuple(made)


def _touched(objects: Sequence[NewObject], schema: Schema) -> list[Column]:
    """The key and every column that some object touches."""
    ids = {c for o in objects for c in o.stored.touched if o.stored.kind != "delete"}
    return [c for c in schema if c.id in ids or c.id in schema.key]


def _counts(made: Sequence[NewObject]) -> Counts:
    def rows(kind: str) -> int:
        return sum(o.stored.row_count for o in made if o.stored.kind == kind)

    return Counts(rows("rows"), rows("update"), rows("delete"))


def _has_files(objects: Sequence[NewObject]) -> bool:
    """Where Spark wrote parts of the change, Spark nets them."""
    return any(o.stored.place == "root" and "/part-" in (o.stored.path or "") for o in objects)


def _key_pairs(schema: Schema) -> tuple[tuple[str, DataType], ...]:
    return tuple((str(c.id), c.type) for c in schema.key_columns)


def _pairs(schema: Schema, columns: Sequence[Column]) -> list[tuple[str, DataType]]:
    plain = [c for c in columns if c.id not in schema.key]
    values = [p for c in plain for p in ((str(c.id), c.type), (c.before, c.type))]
    return [*_key_pairs(schema), *values, (changes.OP, DataType("string"))]
