"""Read a table by a query: choose how rows and changes come together, prepare that, then plan the query.

`plan/read_strategy.py` chooses, this module does what must come before the query, `queries/scan.py` plans it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.read_strategy import QueryRead, Read, choose_strategy, join_strategy
from anabranch.queries.object_groups import INT, physical
from anabranch.queries.overlay_by_file import acting, can_assign_changes
from anabranch.queries.overlay_columns import GONE, turn_of
from anabranch.queries.query import TURN, Query, Rows, Source, Sources, col, joined, same_key, select, subquery, table
from anabranch.queries.scan import Access, ChangedRows, Keys, PreparedRead, Scan
from anabranch.repo.context.context import Context
from anabranch.repo.read.applied import AppliedRows, folded_changes, layer_ids
from anabranch.repo.read.looked_up import with_rows_at
from anabranch.settings import SPARK_COPIES_PER_READ_LIMIT


def scan(
    ctx: Context,
    state: TableState,
    columns: Sequence[Column],
    access: Access,
    *,
    keys: Keys | None = None,
    sources: Sources | None = None,
) -> Query:
    """Read columns of a table under their ids, for a verb's own work; with `keys`, only those rows."""
    return prepared_scan(ctx, Scan.of(state, columns, access, keys, sources), keys)


@dataclass(frozen=True)
class ReadAs:
    """Columns of a table, read under a schema other than its own."""

    state: TableState
    schema: Schema
    columns: Sequence[Column]


def scan_as(ctx: Context, read: ReadAs, access: Access, sources: Sources, keys: Keys | None = None) -> Query:
    """Read a table under another schema; with `keys`, only the rows at these keys of that schema."""
    schema, shown = read.schema, read.state.read_as(read.schema)
    columns = shown.schema.own(read.columns)
    if keys is None or shown.schema.key_ids == schema.key_ids:
        return scan(ctx, shown, columns, access, keys=keys, sources=sources)
    whole = scan(ctx, shown, columns, access, sources=sources)
    same = same_key([str(k) for k in schema.key_ids], "w", "k")
    semi = joined(table(sources.add(keys.source), "k"), same, "left semi")
    return whole.over(select([col(c.id, "w") for c in columns], subquery(whole.expression, "w"), join=semi))


def prepared_scan(ctx: Context, plan: Scan, keys: Keys | None, query: QueryRead | None = None) -> Query:
    """Choose a read strategy, prepare the read, and plan the query; what is prepared for a user's `query` is kept."""
    plan = plan if keys is None else with_rows_at(ctx, plan, keys)
    key_rows = keys.row_count if keys else None
    read = Read(
        plan.state, plan.columns, ctx.engines.setting, ctx.settings, query, key_rows, is_look_up=keys is not None
    )
    plan = replace(plan, broadcast=query is not None and read.has_few_changes)
    return _Preparation(ctx, plan, read).query()


@dataclass(frozen=True)
class _Preparation:
    """The work done before a query, so that it only has to read and join."""

    ctx: Context
    plan: Scan
    read: Read

    def query(self) -> Query:
        strategy, layers = choose_strategy(self.read), self.read.layers
        if strategy in ("kept", "applied"):
            source = self._kept() if strategy == "kept" else Rows(self._applied.looked_up_rows())
            if source is not None:
                return self.plan.query(PreparedRead(layers.plain, source))
            strategy = join_strategy(self.read)
        prepared = self._with_files() if self._for_spark else self
        parts = prepared._folded() if strategy == "folded" else prepared._to_join(layers.changed)
        return prepared.plan.query(PreparedRead(layers.plain, joined=parts))

    @property
    def _for_spark(self) -> bool:
        return self.read.query is not None and not self.read.query.in_process

    @property
    def _applied(self) -> AppliedRows:
        return AppliedRows(self.ctx, self.plan, self.read.layers, self.read.cells)

    def _kept(self) -> Source | None:
        """Rows with changes applied: in memory, or in a file for Spark; None if there is no room."""
        columns = column_types(self.plan.columns)
        name = ("applied", columns, layer_ids((*self.read.layers.changed, *self.read.layers.changes)))
        if self._for_spark:
            return self.ctx.spark_copies.made(self._applied.changed_rows, columns, name)
        return Rows(self.ctx.remembered(self._applied.changed_rows, name))

    def _to_join(self, rows: Sequence[Layer]) -> list[ChangedRows]:
        """Changes that the query folds itself."""
        return [ChangedRows(rows, self.read.layers.changes, self.read.cells)] if rows else []

    def _folded(self) -> list[ChangedRows]:
        """Changes folded before the query; for files, only those that act on them, if that is known."""
        changes, cells, tables = self.read.layers.changes, self.read.cells, self.plan.access.tables
        rows = self.read.layers.changed
        small, files = (tuple(r for r in rows if (r.object.id in tables) is is_small) for is_small in (True, False))
        whole = folded_changes(self.ctx, self.plan, changes, cells)
        newer = acting(whole, files, self.plan.key_ids, [GONE, *map(turn_of, cells)]) if files else None
        if newer is None:
            return [ChangedRows(rows, changes, cells, self._source(whole, changes))]
        parts = [ChangedRows(small, changes, cells, self._source(whole, changes))] if small else []
        return [*parts, ChangedRows(files, changes, cells, self._source(newer, (*changes, *files)), has_turns=False)]

    def _source(self, rows: pa.Table, made_of: Sequence[Layer]) -> Source:
        """Folded changes in memory, or in a file for Spark."""
        return self._in_file(rows, self.plan.folded_types(self.read.cells), made_of) if self._for_spark else Rows(rows)

    def _in_file(self, rows: pa.Table, types: Mapping[str, DataType], made_of: Sequence[Layer]) -> Source:
        columns = tuple((name, types[name]) for name in rows.column_names)
        return self.ctx.spark_copies.rows(rows, columns, (columns, layer_ids(made_of)))

    def _with_files(self) -> _Preparation:
        """The same with small row objects in files if possible, since Spark reads them again and again."""
        rows = (*self.read.layers.plain, *self.read.layers.changed)
        access = self.plan.access
        copies = self._copies(rows) if self.read.may_prepare else {}
        if copies:
            left = {id_: small for id_, small in access.tables.items() if id_ not in copies}
            access = Access(ChainMap(copies, access.uris), left)  # type: ignore[arg-type]
        plan = replace(self.plan, access=access)
        return replace(self, plan=replace(plan, access=replace(access, together=self._together(plan))))

    def _copies(self, rows: Sequence[Layer]) -> dict[ObjectId, str]:
        """Copy small row objects to files: Spark joins one relation faster than a union of two."""
        tables = self.plan.access.tables
        small = {x.object.id: tables[x.object.id] for x in rows if x.object.id in tables}
        if not 0 < len(small) <= min(SPARK_COPIES_PER_READ_LIMIT, len(rows) - 1):
            return {}
        only_spark = any(c.type.only_spark for x in rows for c in self.plan.state.schemas[x.object.schema_id].stored)
        return (
            {}
            if only_spark or not can_assign_changes(rows, len(self.plan.key))
            else self.ctx.spark_copies.copies(small) or {}
        )

    def _together(self, plan: Scan) -> dict[tuple[ObjectId, ...], Source]:
        """Small row objects in one file per group that is read together; look-ups use memory instead."""
        found: dict[tuple[ObjectId, ...], Source] = {}
        layers = self.read.layers
        groups = [] if self.read.is_look_up else [*plan.alike(layers.plain), *plan.alike(layers.changed)]
        for members in groups:
            first = members[0].object
            types = {**dict(physical(first, plan.state.schemas[first.schema_id])), TURN: INT}
            if first.id in plan.access.tables and not any(t.only_spark for t in types.values()):
                rows = plan.rows_of(members, turned=True).table
                found[tuple(m.object.id for m in members)] = self._in_file(rows, types, members)
        return found
