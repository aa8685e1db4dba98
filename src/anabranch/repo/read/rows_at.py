"""The rows at some keys, without an engine: looked up in files and small objects, with changes applied."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from anabranch.arrow.types import arrow_fields
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries.key_search import SEARCHED
from anabranch.queries.matched_rows import places_at
from anabranch.queries.query import Rows
from anabranch.queries.scan import Access, Keys, Scan
from anabranch.repo.context.context import Context
from anabranch.repo.read.looked_up import with_rows_at
from anabranch.repo.read.plain_rows import RowsInMemory


def rows_at(ctx: Context, state: TableState, columns: Sequence[Column], access: Access, keys: Keys) -> pa.Table | None:
    """Rows at some keys, in no order, with the key and these columns under their ids; None if it takes an engine."""
    key = state.schema.key_columns
    if ctx.engines.setting == "spark" or not isinstance(keys.source, Rows):
        return None
    if any(c.type.name not in SEARCHED for c in key):
        return None
    columns = tuple(dict.fromkeys((*key, *columns)))
    plan = with_rows_at(ctx, Scan.of(state, columns, access, keys), keys)
    if not all(x.object.id in plan.access.tables for x in plan.state.layers):
        return None
    read = RowsInMemory.of(plan.state, columns)
    found = read and read.rows(plan.access.tables, lambda find, _: find())
    return found if found is None or len(key) == 1 else _at(found, keys.source.table, arrow_fields(key))


def _at(rows: pa.Table, keys: pa.Table, key: pa.Schema) -> pa.Table:
    """Keep the rows whose whole key was asked for; they were found by its first column."""
    wanted = keys.select(key.names).cast(key)
    return rows.filter(pa.array(places_at(rows.select(key.names), wanted) >= 0))
