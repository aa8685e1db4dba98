"""Find keys that several objects of one commit hold, from key ranges and key columns, without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.types import arrow_fields
from anabranch.model.ids import ObjectId
from anabranch.model.objects import NewObject, StoredObject, may_meet
from anabranch.model.tables import TableState
from anabranch.objects.parquet import read_columns
from anabranch.repo.context.context import Context
from anabranch.settings import UNIQUE_CHECK_ROWS_LIMIT

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
