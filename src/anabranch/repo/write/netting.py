"""Netting: several statements on one table become one change per key, exactly the difference to the parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.types import arrow_fields
from anabranch.engines.engine import Engine
from anabranch.model.changes import Counts
from anabranch.model.ids import ObjectId
from anabranch.model.objects import NewObject, StoredObject, around, contents_of, may_meet, size_of
from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.objects.parquet import read_columns, table_range
from anabranch.plan.commit import Statement, ThingDraft, draft_state, objects_of, packs_of
from anabranch.plan.engine import Work
from anabranch.queries import writes as changes
from anabranch.queries.object_groups import physical
from anabranch.queries.query import DELETE, INSERT, OP, UPDATE, Rows, Sources, reading_of
from anabranch.queries.scan import Keys
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import keys_in, not_in_duck, reading
from anabranch.repo.read.scan import scan
from anabranch.repo.write.row_objects import Layout, ObjectForm, layout_of, store
from anabranch.repo.write.scratch import Kept, one_file, scratch
from anabranch.settings import UNIQUE_CHECK_ROWS_LIMIT


def net(ctx: Context, table: ThingDraft) -> ThingDraft:
    """Turn a table's statements into one change; only keys in several of their objects are compared."""
    if not table.needs_netting or table.schema is None:
        return table
    objects, state = objects_of(table), draft_state(table)
    pending = contents_of(objects)
    with reading(ctx, state):
        repeated = None if table.has_lost_cells else repeated_keys(ctx, objects, state, pending)
    # Where many keys repeat, hardly any object would stay as it is.
    if repeated is None or repeated.num_rows * 4 > sum(o.stored.row_count for o in objects):
        made = _compared(ctx, table, state, objects, None)
    elif repeated.num_rows:
        made = _compared(ctx, table, state, objects, repeated)
    else:
        made = tuple(objects)
    packs = tuple(packs_of(table))
    statements = (Statement("update", made, counts_of(made), packs=packs),) if made else ()
    # A new version is compared with nothing: all its rows are in the difference.
    return replace(table, statements=statements, replaced_rows=0 if table.replaced else None)


def _compared(
    ctx: Context, table: ThingDraft, after: TableState, objects: Sequence[NewObject], repeated: pa.Table | None
) -> tuple[NewObject, ...]:
    """Compare the states before and after, at some keys or all touched ones, and store the difference."""
    kinds = {o.stored.kind for o in objects}
    ids = {c for o in objects for c in o.stored.touched if o.stored.kind != "delete"}
    plain = [c for c in after.schema.plain_columns if c.id in ids or "rows" in kinds]
    schema, columns = after.schema, [*after.schema.key_columns, *plain]
    before = table.base if table.base and not table.replaced else replace(after, layers=(), row_count=0)
    pending = contents_of(objects)
    engine = ctx.engines.pick(
        Work(size_of(after.layers), _has_files(objects), not_in_duck=not_in_duck(columns, table.name)),
        f"netting {table.name!r}",
    )
    with scratch(ctx, engine) as place, reading(ctx, after):
        kept: tuple[NewObject, ...] = ()
        if repeated is None:
            sources_of_keys = [ctx.source_of(o.stored, _key_pairs(schema), pending) for o in objects]
            all_keys = changes.distinct_keys(sources_of_keys, schema.key_columns)
            source = place.keep(all_keys, _key_pairs(schema), schema.key_columns).source
            keys = Keys(source, around(o.stored.key_range for o in objects))
        else:
            keys = keys_in(repeated, schema.key_columns)
            kept = _without(ctx, engine, after, objects, repeated, pending)
        sources = Sources()
        access = ctx.access(after.layers, pending)
        old = scan(ctx, before, columns, access, keys=keys, sources=sources)
        new = scan(ctx, after, columns, access, keys=keys, sources=sources)
        both = changes.compared(old, new, schema, columns, sources)
        most = sum(o.stored.row_count for o in objects) if repeated is None else repeated.num_rows
        compared = place.keep(both, compared_pairs(schema, columns), schema.key_columns, most)
        return (*kept, *store_difference(ctx, engine, compared, schema, columns))


def _without(
    ctx: Context,
    engine: Engine,
    state: TableState,
    objects: Sequence[NewObject],
    keys: pa.Table,
    pending: Mapping[ObjectId, bytes],
) -> tuple[NewObject, ...]:
    """Objects without the rows at some keys; those that hold none of them stay as they are."""
    box, made = table_range(keys, state.schema.key_columns), []
    for new in objects:
        o, schema = new.stored, state.schemas[new.stored.schema_id]
        if not may_meet(o.key_range, box):
            made.append(new)
            continue
        pairs = physical(o, schema)
        whole = reading_of(ctx.source_of(o, pairs, pending), [name for name, _ in pairs])
        rest = changes.without_keys(whole, [str(k) for k in schema.key_ids], Rows(keys))
        cluster = layout_of(state).cluster if o.kind == "rows" else ()
        layout = Layout(cluster or tuple(str(k) for k in schema.key_ids))
        touched = [c for c in schema if c.id in o.touched]
        made += store(ctx, engine, rest, ObjectForm(o.kind, schema, touched), layout)
    return tuple(made)


def touched_columns(engine: Engine, kept: Kept, columns: Sequence[Column]) -> list[Column]:
    """The columns in which some updated row differs."""
    if not columns:
        return []
    if isinstance(kept.source, Rows):
        rows = kept.source.table
        updated = rows.filter(pc.equal(rows.column(OP), UPDATE))
        return [c for c in columns if updated.num_rows and _differs(updated, c)]
    names = [OP, *(n for c in columns for n in (str(c.id), c.before))]
    (described,) = engine.fetch(changes.differing(reading_of(kept.source, names), columns)).to_pylist()
    return [c for c in columns if described[str(c.id)]]


def _differs(rows: pa.Table, column: Column) -> bool:
    one, other = rows.column(column.before), rows.column(column.id)
    if column.type.is_nested:
        return not one.equals(other)  # May report a difference where there is none: map order, NaN.
    unequal = pc.fill_null(pc.not_equal(one, other), False)
    if pa.types.is_floating(one.type):
        both_nan = pc.and_(pc.is_nan(one), pc.is_nan(other))
        unequal = pc.and_(unequal, pc.invert(pc.fill_null(both_nan, False)))
    lonely = pc.not_equal(pc.is_null(one), pc.is_null(other))
    return bool(pc.any(unequal).as_py() or pc.any(lonely).as_py())


def store_difference(
    ctx: Context, engine: Engine, compared: Kept, schema: Schema, columns: Sequence[Column]
) -> tuple[NewObject, ...]:
    """Store the inserts, updates and deletes among compared rows as separate objects."""
    keys = [str(k) for k in schema.key_ids]
    made: list[NewObject] = []
    layout = Layout(tuple(keys), files=one_file(ctx, compared.row_count))
    if {c.id for c in columns}.issuperset(c.id for c in schema):
        rows = compared.of_kind(INSERT, [str(c.id) for c in schema.stored])
        made += store(ctx, engine, rows, ObjectForm("rows", schema, schema.columns), layout)
    touched = touched_columns(engine, compared, [c for c in columns if c.id not in schema.key_ids])
    if touched:
        names = [*keys, *(n for c in touched for n in (str(c.id), c.before))]
        made += store(ctx, engine, compared.of_kind(UPDATE, names), ObjectForm("update", schema, touched), layout)
    made += store(ctx, engine, compared.of_kind(DELETE, keys), ObjectForm("delete", schema, schema.columns), layout)
    return tuple(made)


def counts_of(made: Sequence[NewObject]) -> Counts:
    """How many rows objects insert, update and delete."""

    def rows(kind: str) -> int:
        return sum(o.stored.row_count for o in made if o.stored.kind == kind)

    return Counts(rows("rows"), rows("update"), rows("delete"))


def _has_files(objects: Sequence[NewObject]) -> bool:
    """Whether Spark wrote parts of the change, so that Spark nets them."""
    return any(o.stored.place == "root" and "/part-" in (o.stored.path or "") for o in objects)


def _key_pairs(schema: Schema) -> tuple[tuple[str, DataType], ...]:
    return column_types(schema.key_columns)


def compared_pairs(schema: Schema, columns: Sequence[Column]) -> list[tuple[str, DataType]]:
    """The columns of compared rows, with their types."""
    plain = [c for c in columns if c.id not in schema.key_ids]
    values = [p for c in plain for p in ((str(c.id), c.type), (c.before, c.type))]
    return [*_key_pairs(schema), *values, (OP, DataType("string"))]


_COUNT = "_ana_count"


def repeated_keys(
    ctx: Context, objects: Sequence[NewObject], state: TableState, pending: Mapping[ObjectId, bytes]
) -> pa.Table | None:
    """The keys in two or more objects, each of which has a key once; None if it takes an engine."""
    near = list(_near(objects))
    if not near:
        return arrow_fields(state.schema.key_columns).empty_table()
    if sum(o.row_count for o in near) > UNIQUE_CHECK_ROWS_LIMIT or any(
        c.type.only_spark for c in state.schema.key_columns
    ):
        return None
    found = [_keys_of(ctx, o, state, pending) for o in near]
    known = [keys for keys in found if keys is not None]
    if len(known) < len(found):
        return None
    keys = pa.concat_tables(known).append_column(_COUNT, pa.repeat(1, sum(k.num_rows for k in known)))
    names = [str(c.id) for c in state.schema.key_columns]
    counted = keys.group_by(names, use_threads=False).aggregate([(_COUNT, "sum")])
    return counted.filter(pc.greater(counted.column(f"{_COUNT}_sum"), 1)).select(names)


def _near(objects: Sequence[NewObject]) -> Iterator[StoredObject]:
    """The objects whose key range meets another's, found by a sweep over the first key column."""
    stored = [o.stored for o in objects]
    if any(o.key_range is None for o in stored):
        yield from stored
        return
    ordered = sorted(stored, key=lambda o: o.key_range.low[0] if o.key_range else 0)
    open_: list[StoredObject] = []
    given: set[ObjectId] = set()
    for o in ordered:
        open_ = [x for x in open_ if x.key_range and o.key_range and x.key_range.high[0] >= o.key_range.low[0]]  # type: ignore[operator]
        met = [x for x in open_ if may_meet(x.key_range, o.key_range)]
        for x in (*met, o) if met else ():
            if x.id not in given:
                given.add(x.id)
                yield x
        open_.append(o)


def _keys_of(ctx: Context, o: StoredObject, state: TableState, pending: Mapping[ObjectId, bytes]) -> pa.Table | None:
    """An object's keys in the current types; None if it was written under another key."""
    schema, key = state.schemas[o.schema_id], state.schema.key_columns
    names = [str(c.id) for c in key]
    if list(schema.key_ids) != [c.id for c in key]:
        return None
    if o.place == "inline":
        rows = ctx.small_rows([o], pending)[o.id].select(names)
    else:
        with ctx.files.locate(o).open() as file:
            rows = read_columns(file, names)
    return rows.cast(arrow_fields(key))
