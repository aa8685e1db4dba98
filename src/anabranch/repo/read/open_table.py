"""table: open a table at a ref."""

from __future__ import annotations

from anabranch.catalog import history
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table, table_state
from anabranch.repo.read.table import EVERYTHING, Selection, Table


def open_table(ctx: Context, name: str, at: str | None, selection: Selection = EVERYTHING) -> Table:
    """Open the table at a commit; it stays as it is, whatever the branch does."""
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, resolve(ctx, cx, at))
        state = table_state(ctx, cx, clock, *find_table(ctx, cx, clock, name))
    state.schema.select(selection.columns)
    return Table(ctx, lambda: state, selection)
