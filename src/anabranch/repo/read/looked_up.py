"""Look up keys in files without an engine: columns are kept decoded, and searched where sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.plain import plain
from anabranch.arrow.types import arrow_fields
from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.objects.parquet import read_columns
from anabranch.plan.read_strategy import width_bytes
from anabranch.queries.key_search import SEARCHED, Places, marked, places_of
from anabranch.queries.matched_rows import places_at
from anabranch.queries.query import Rows
from anabranch.queries.scan import Access, Keys, Scan
from anabranch.repo.context.context import Context
from anabranch.repo.read.plain_rows import RowsInMemory
from anabranch.settings import LOOKED_UP_KEYS_LIMIT, LOOKED_UP_ROWS_PER_KEY


def with_rows_at(ctx: Context, plan: Scan, keys: Keys) -> Scan:
    """The plan, with file rows that may be at some keys loaded into memory, if that takes no engine.

    Rows are found by the first key column; the plan still tests the whole key.
    """
    wanted = _wanted(ctx, plan, keys)
    files = _files(ctx, plan) if wanted is not None else []
    if wanted is None or not files:
        return plan
    uris = {x.object.id: plan.access.uris[x.object.id] for x in files}
    with ctx.sound.at_hand(list(uris.values())) as elsewhere:
        paths = {id_: elsewhere.get(uri, uri) for id_, uri in uris.items()}
        look_up = _LookUp(ctx, plan.key[0], tuple(dict.fromkeys((*plan.key, *plan.columns))), wanted, paths)
        places = {id_: look_up.places_in(id_) for id_ in paths}
        if sum(map(len, places.values())) > LOOKED_UP_ROWS_PER_KEY * len(wanted):
            return plan
        found = {id_: look_up.rows_at(id_, at) for id_, at in places.items() if len(at)}
    layers = tuple(x for x in plan.state.layers if x.object.id not in places or x.object.id in found)
    access = Access(plan.access.uris, {**plan.access.tables, **found})
    return replace(plan, state=replace(plan.state, layers=layers), access=access)


def _wanted(ctx: Context, plan: Scan, keys: Keys) -> pa.Array | None:
    """The values of the first key column to look for; None if an engine is as fast, or is needed."""
    if ctx.engines.setting == "spark" or not isinstance(keys.source, Rows):
        return None
    if plan.key[0].type.name not in SEARCHED or any(c.type.only_spark for c in plan.columns):
        return None
    column = keys.source.table.column(plan.key[0].id)
    return None if len(column) > LOOKED_UP_KEYS_LIMIT else pc.unique(column.combine_chunks()).drop_null()


def _files(ctx: Context, plan: Scan) -> list[Layer]:
    """The row files that can be searched; none if their columns would take too much memory."""
    columns = tuple(dict.fromkeys((*plan.key, *plan.columns)))
    found = [
        x
        for x in plan.state.layers
        if x.object.kind == "rows"
        and x.object.id not in plan.access.tables
        and plan.state.holds_as_now(x.object, columns)
    ]
    size = sum(x.object.row_count for x in found) * sum(map(width_bytes, columns))
    return found if size <= ctx.settings.memory.cache_limit_bytes // 2 else []


@dataclass(frozen=True)
class _LookUp:
    ctx: Context
    first: Column
    columns: tuple[Column, ...]
    wanted: pa.Array
    paths: Mapping[ObjectId, str]

    def places_in(self, id_: ObjectId) -> Places:
        """Where a file has rows at the keys."""
        (key,) = self._decoded(id_, [self.first])
        return places_of(key, self.wanted, self.first)

    def rows_at(self, id_: ObjectId, places: Places) -> pa.Table:
        """A file's rows at these places."""
        taken = pa.array(places)
        columns = zip(self.columns, self._decoded(id_, self.columns), strict=True)
        return pa.table({str(c.id): rows.column(0).take(taken) for c, rows in columns})

    def _decoded(self, id_: ObjectId, columns: Sequence[Column]) -> list[pa.Table]:
        """Columns of a file, as a table each; those not in memory are read together, and cached."""
        cache = self.ctx.cache
        known = {c: cache.get(_name(id_, c)) for c in columns}
        missing = [c for c, rows in known.items() if rows is None]
        if missing:
            with open(self.paths[id_], "rb") as file:
                read = plain(read_columns(file, [str(c.id) for c in missing])).combine_chunks()
            for c in missing:
                known[c] = marked(read.select([str(c.id)]), c == self.first)
                cache.put(_name(id_, c), known[c])
        return [rows for rows in known.values() if rows is not None]


def _name(id_: ObjectId, column: Column) -> tuple[str, str, str]:
    return "decoded", id_, str(column.id)


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
