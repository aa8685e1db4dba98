"""Reads of a table that changes lie on: when its rows are made in memory, as they are now, in place of a join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.model.objects import Layer, size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries.overlay_rows import Laying
from anabranch.queries.query import Rows, Source, Sources
from anabranch.queries.scan import Access, Scan
from anabranch.repo.context.context import Context
from anabranch.repo.context.wide_changes import laying

if TYPE_CHECKING:
    import pyarrow as pa

_WIDE, _NARROW = 32, 8


def laid_rows(ctx: Context, state: TableState, columns: Sequence[Column], access: Access) -> pa.Table | None:
    """Read columns under their ids; None where a plain scan does as well, or the changes are too many for memory."""
    plan = Scan(state, tuple(columns), access, Sources(), None, False, ctx.fold_now)
    _, merged, deltas = plan.sorted_out(state.layers)
    if not merged or size_of(deltas) > ctx.settings.broadcast_limit_bytes:
        return None
    return _laying(ctx, plan).rows(state.layers)


def _laying(ctx: Context, plan: Scan) -> Laying:
    return laying(ctx.engines, ctx.remembered, plan)


@dataclass(frozen=True)
class Keeping:
    """Keeps rows as changes leave them for the reads of a state that follow: in memory, or in a file for Spark."""

    ctx: Context
    in_process: bool
    invests: bool
    """Whether that is worth it for large objects, too: all of their rows are wanted."""

    def __call__(self, plan: Scan, merged: Sequence[Layer], deltas: Sequence[Layer]) -> Source | None:
        if not self._fits(plan, merged, deltas):
            return None
        columns = tuple((str(c.id), c.type) for c in plan.columns)
        name = ("laid", columns, tuple((x.turn, x.object.id) for x in (*merged, *deltas)))
        if self.in_process:
            return Rows(self.ctx.remembered(lambda: _laying(self.ctx, plan).changed(merged, deltas), name))
        return self.ctx.held.made(lambda: _laying(self.ctx, plan).changed(merged, deltas), columns, name)

    def _fits(self, plan: Scan, merged: Sequence[Layer], deltas: Sequence[Layer]) -> bool:
        settings = self.ctx.settings
        if any(c.type.only_spark for c in plan.columns) or size_of(deltas) > settings.broadcast_limit_bytes:
            return False
        rows = sum(x.object.row_count for x in merged)
        size = rows * sum(map(_width, plan.columns))
        if not self.in_process:
            return size <= settings.overlay_file_limit_bytes
        return rows <= settings.overlay_row_limit or (self.invests and size <= settings.cache_limit_bytes // 2)


def _width(column: Column) -> int:
    """Guess how many bytes a value takes in memory."""
    return _WIDE if column.type.is_nested or column.type.name in ("string", "binary") else _NARROW
