"""verify: the catalogue is consistent, every object is as written, every table can be read."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.catalog import branches, history
from anabranch.catalog.checks.catalog import check_catalog
from anabranch.catalog.checks.rows import MISSHAPEN
from anabranch.catalog.store import Connection
from anabranch.errors import AnabranchError, Unavailable
from anabranch.model.clock import Position
from anabranch.model.verification import RESTORE_CATALOG, Affected, Damage, Verification
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import list_tables, table_state
from anabranch.repo.upkeep.stored_bytes import check_bytes, check_settled


def verify(ctx: Context) -> Verification:
    """Check the whole store and list all damages, except those that only reading rows can find."""
    with ctx.catalog.read() as cx:
        damages, rows = check_catalog(cx)
        tables = 0
        for found in _heads(ctx, cx):
            if isinstance(found, Damage):
                damages.append(found)
            else:
                tables += found
    count = size = 0
    for looked_at in check_bytes(ctx):
        if isinstance(looked_at, Damage):
            damages.append(looked_at)
        else:
            count, size = count + 1, size + looked_at.size_bytes
    damages += check_settled(ctx)
    return Verification(tuple(dict.fromkeys(damages)), count, size, rows, tables)


def _heads(ctx: Context, cx: Connection) -> Iterator[Damage | int]:
    """Find every table of every branch and tag of the repository; yield their counts, and those that cannot be read."""
    seen: set[Position] = set()
    shown = [(b.name, b.position) for b in branches.all_heads(cx, ctx.record.id)]
    shown += [("", position) for position in branches.tag_positions(cx, ctx.record.id)]
    for name, position in shown:
        if position not in seen:
            seen.add(position)
            affects = Affected(ctx.record.name, (name,) if name else ())
            yield from _tables(ctx, cx, position, affects)


def _tables(ctx: Context, cx: Connection, position: Position, affects: Affected) -> Iterator[Damage | int]:
    where = f"branch {affects.branches[0]!r}" if affects.branches else f"a tag's commit {position.index}"
    try:
        clock = history.clock(cx, position)
        listed = list_tables(ctx, cx, clock, None)
    except MISSHAPEN as error:
        yield Damage("branch", where, f"its tables can't be listed: {_said(error)}", affects, RESTORE_CATALOG)
        return
    for table in listed:
        try:
            table_state(ctx, cx, clock, table.id, table.name)
        except MISSHAPEN as error:
            described = Affected(affects.repository, affects.branches, table=table.name)
            yield Damage("table", f"{table.name} on {where}", f"it can't be read: {_said(error)}", described)
    yield len(listed)


def _said(error: Exception) -> str:
    if isinstance(error, Unavailable):
        raise error
    return error.message if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"
