"""Reads in the process of a table that changes lie on: its rows in memory, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anabranch.model.objects import Layer, size_of
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


def small_laid_rows(ctx: Context, state: TableState, columns: Sequence[Column], access: Access) -> pa.Table | None:
    """The same for a small table, once for a state: what is asked of it next needs no join either."""
    if _row_count(state.layers) > ctx.settings.laid_row_limit:
        return None
    name = ("laid", tuple((x.turn, x.object.id) for x in state.layers), tuple((c.id, str(c.type)) for c in columns))
    found = ctx.cache.get(name)
    if found is None:
        found = laid_rows(ctx, state, columns, access)
        if found is not None:
            ctx.cache.put(name, found)
    return found


def _row_count(layers: Sequence[Layer]) -> int:
    return sum(x.object.row_count for x in layers)
