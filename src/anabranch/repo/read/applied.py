"""Apply changes to rows in memory: what a read in the process does instead of a join.

Rows follow one another, object by object; a changed row is known by its place among them. Finding the places takes
the keys, once per state; from then on, a read costs what a plain one does, plus the few cells that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from anabranch.arrow.types import arrow_fields
from anabranch.model.objects import Layer, size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.read_strategy import Read, SortedLayers, can_fold_in_memory
from anabranch.queries.overlay_fold import folded_in_memory
from anabranch.queries.overlay_places import acting_on, apply_changes, places_name, turns_by_place
from anabranch.queries.query import TURN, Query
from anabranch.queries.scan import Access, Scan
from anabranch.repo.context.context import Context
from anabranch.settings import SINGLE_CORE_ROWS

_T = TypeVar("_T")


def whole_rows(ctx: Context, state: TableState, columns: Sequence[Column], access: Access) -> pa.Table | None:
    """Read columns under their ids; None if a plain scan will do, or the changes are too many for memory."""
    read = Read(state, tuple(columns), ctx.engines.setting, ctx.settings)
    layers = read.layers
    if not layers.changed or size_of(layers.changes) > ctx.settings.spark.broadcast_limit_bytes:
        return None
    return AppliedRows(ctx, Scan.of(state, columns, access), layers, read.cells).all_rows()


def folded_changes(ctx: Context, plan: Scan, changes: Sequence[Layer], cells: Sequence[Column]) -> pa.Table:
    """Fold changes in the process to one row per key, once for each state of a table."""
    types = tuple((str(c.id), str(c.type)) for c in (*plan.key, *cells))
    return ctx.remembered(lambda: _fold(ctx, plan, changes, cells), (layer_ids(changes), types))


def _fold(ctx: Context, plan: Scan, changes: Sequence[Layer], cells: Sequence[Column]) -> pa.Table:
    small = plan.access.tables
    if all(d.object.id in small for d in changes) and can_fold_in_memory(plan.state, changes, cells):
        return folded_in_memory(plan.key_ids, cells, [(d, small[d.object.id]) for d in changes])
    return ctx.engines.duck().fetch(plan.folding(changes, cells))


@dataclass(frozen=True)
class AppliedRows:
    """A read of a table's columns, under their ids, with changes applied."""

    ctx: Context
    plan: Scan
    layers: SortedLayers
    cells: tuple[Column, ...]

    def all_rows(self) -> pa.Table:
        """Read the rows of all layers."""
        plain = self.layers.plain
        parts = [self._read(self.plan.alike(plain), self.plan.columns)] if plain else []
        return pa.concat_tables([*parts, self.changed_rows()])

    def changed_rows(self) -> pa.Table:
        """Read the rows of objects that changes act on."""
        plan, changes, read = self.plan, self.layers.changes, []
        groups = plan.alike(self.layers.changed)
        below = [x for members in groups for x in members]

        def find() -> pa.Table:
            one_core = sum(x.object.row_count for x in below) <= SINGLE_CORE_ROWS
            folding = _started(self._folded) if one_core else self._folded
            read.append(self._read(groups, tuple(dict.fromkeys((*plan.columns, *plan.key)))))
            return acting_on(read[0].select(plan.key_ids), turns_by_place(below), folding(), self.cells)

        acting = self.ctx.remembered(find, places_name(below, changes, self.cells))
        rows = read[0] if read else self._read(groups, plan.columns)
        return apply_changes(rows.select([str(c.id) for c in plan.columns]), acting, self.cells)

    def looked_up_rows(self) -> pa.Table:
        """Like `changed_rows`, for a plan that may be limited to some keys; nothing is kept."""
        plan = self.plan
        columns = tuple(dict.fromkeys((*plan.columns, *plan.key)))
        rows = pa.concat_tables([self._turned(members, columns) for members in plan.alike(self.layers.changed)])
        turns = rows.column(TURN).to_numpy()
        acting = acting_on(rows.select(plan.key_ids), lambda places: turns[places], self._folded(), self.cells)
        return apply_changes(rows.select([str(c.id) for c in plan.columns]), acting, self.cells)

    def _folded(self) -> pa.Table:
        """The changes as one row per key, folded in memory if possible."""
        plan, changes = self.plan, self.layers.changes
        if not can_fold_in_memory(plan.state, changes, self.cells):
            return folded_changes(self.ctx, plan, changes, self.cells)
        return folded_in_memory(plan.key_ids, self.cells, [(d, self._said(d)) for d in changes])

    def _said(self, change: Layer) -> pa.Table:
        """The values a change gives to the columns."""
        small = self.plan.access.tables.get(change.object.id)
        return self._fetch(self.plan.said(change, self.cells)) if small is None else small

    def _turned(self, members: list[Layer], columns: Sequence[Column]) -> pa.Table:
        """The rows of objects of one schema, with their turns."""
        apart = self.plan.apart()
        rows = self._fetch(Query(apart.leaf(apart.group(members), columns, TURN), apart.sources.named))
        return rows.cast(arrow_fields(columns).append(pa.field(TURN, pa.int32())))

    def _read(self, groups: Sequence[list[Layer]], columns: Sequence[Column]) -> pa.Table:
        """The rows of groups of objects, in order."""
        types = arrow_fields(columns)
        return pa.concat_tables([self._group(members, columns).cast(types) for members in groups])

    def _group(self, members: list[Layer], columns: Sequence[Column]) -> pa.Table:
        """The rows of objects of one schema, in order; those in memory under the current columns need no engine."""
        small = [self.plan.access.tables.get(x.object.id) for x in members]
        if small[0] is not None and self.plan.state.holds_as_now(members[0].object, columns):
            return pa.concat_tables([rows.select([str(c.id) for c in columns]) for rows in small if rows is not None])
        apart = self.plan.apart()
        return self._fetch(Query(apart.leaf(apart.group(members, turned=False), columns, None), apart.sources.named))

    def _fetch(self, query: Query) -> pa.Table:
        return self.ctx.engines.duck().fetch(query)


def _started(work: Callable[[], _T]) -> Callable[[], _T]:
    """Start work on another thread; the function returned waits for its result."""
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(work)
    pool.shutdown(wait=False)
    return begun.result


def layer_ids(layers: Sequence[Layer]) -> tuple[tuple[int, str], ...]:
    """A cache key for these layers."""
    return tuple((x.turn, x.object.id) for x in layers)
