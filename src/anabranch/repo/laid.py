"""Reads in the process of a table that changes lie on: its rows in memory, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anabranch.model.objects import size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.objects.arrow import arrow_fields
from anabranch.queries.laying import Laying
from anabranch.queries.query import Sources
from anabranch.queries.scan import Access, Scan
from anabranch.repo.context import Context

if TYPE_CHECKING:
    import pyarrow as pa


def laid_rows(ctx: Context, state: TableState, columns: Sequence[Column], access: Access) -> pa.Table | None:
    """Read columns under their ids; None where a plain scan does as well, or the changes are too many for memory."""
    plan = Scan(state, tuple(columns), access, Sources(), None, False, ctx.fold_now)
    _, merged, deltas = plan.sorted_out(state.layers)
    if not merged or size_of(deltas) > ctx.settings.broadcast_limit_bytes:
        return None
    return Laying(plan, ctx.engines.duck().fetch, ctx.remembered, arrow_fields).rows(state.layers)


def kept_rows(
    ctx: Context, state: TableState, columns: Sequence[Column], access: Access, all_rows: bool
) -> pa.Table | None:
    """The same for queries, kept for those that follow: of a small table, or of one that is read whole and fits."""
    row_count = sum(x.object.row_count for x in state.layers)
    most = ctx.settings.cache_limit_bytes // 2 // sum(map(_width, columns)) if all_rows else 0
    if row_count > max(most, ctx.settings.laid_row_limit):
        return None
    name = ("laid", tuple((x.turn, x.object.id) for x in state.layers), tuple((c.id, str(c.type)) for c in columns))
    found = ctx.cache.get(name)
    if found is None:
        found = laid_rows(ctx, state, columns, access)
        if found is not None:
            ctx.cache.put(name, found)
    return found


def _width(column: Column) -> int:
    """Guess how many bytes a value takes in memory."""
    return _WIDE if column.type.is_nested or column.type.name in ("string", "binary") else _NARROW


_WIDE, _NARROW = 32, 8
