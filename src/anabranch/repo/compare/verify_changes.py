"""verify, deep: read all rows, to prove that each change is exactly the difference of its two states, and that views
show what the previous state and the change add up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.catalog import entries, history, touching
from anabranch.catalog.checks.rows import MISSHAPEN
from anabranch.catalog.store import Connection
from anabranch.errors import AnabranchError, Unavailable
from anabranch.model.clock import Clock, Position
from anabranch.model.files import FILES_NAME, files_thing
from anabranch.model.ids import ThingId
from anabranch.model.objects import Layer
from anabranch.model.tables import TableState
from anabranch.model.verification import DROP_VIEW, RESTORE_CATALOG, Affected, Damage
from anabranch.repo.compare.commit_changes import read_steps
from anabranch.repo.compare.row_diff import RowChanges
from anabranch.repo.compare.two_states import Ends, ends_of
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import table_state
from anabranch.repo.files.hidden import find_hiding


def check_changes(ctx: Context) -> Iterator[Damage]:
    """Check all tables and the files of the repository, commit by commit.

    A commit that is known to hide files is left out: its snapshot shows less than its change and the commit before.
    """
    with ctx.catalog.read() as cx:
        tables = touching.tables_of(cx, ctx.record.id)
        files = files_thing(ctx.record.id)
        hiding = _hiding(ctx, cx)
    for table in (*tables, files):
        with ctx.catalog.read() as cx:
            places = touching.positions_naming(cx, ctx.record.id, table)
        for place in places:
            if table != files or place not in hiding:
                yield from _check(ctx, table, place)


def _hiding(ctx: Context, cx: Connection) -> set[Position]:
    """The commits that are known to hide files; none if that can't be found out, which is a damage of its own."""
    try:
        return {hides.commit.position for hides in find_hiding(ctx, cx)}
    except MISSHAPEN:
        return set()


def _check(ctx: Context, table: ThingId, place: Position) -> Iterator[Damage]:
    name, affects = str(table), Affected(ctx.record.name, table=table)
    try:
        with ctx.catalog.read() as cx:
            clock = history.clock(cx, place)
            is_tree = table == files_thing(ctx.record.id)
            name = FILES_NAME if is_tree else entries.full_name(cx, clock, table) or name
            head = history.head(cx, place)
            affects = Affected(ctx.record.name, (), head.hash[:12] if head else None, name)
            step = _step(ctx, clock, table, name)
        if step is not None:
            for what, hint in _contradictions(ctx, *step):
                yield Damage("table", f"{name} at {affects.commit}", what, affects, hint)
    except Unavailable:
        raise
    except AnabranchError as error:
        yield Damage("table", f"{name} at {affects.commit}", error.message, affects)


def _step(
    ctx: Context, at: Clock, table: ThingId, name: str
) -> tuple[TableState, TableState, TableState, tuple[Layer, ...]] | None:
    """A table before a commit, after its change, and as read there; then the change. None if the table was dropped."""
    with ctx.catalog.read() as cx:
        entry = entries.find_entry(cx, at, table)
        if entry is None or entry.dropped:
            return None
        shown = table_state(ctx, cx, at, table, name)
        steps = read_steps(ctx, cx, at, table, name)
    return steps.before, steps.after, shown, steps.change


def _contradictions(
    ctx: Context, before: TableState, after: TableState, shown: TableState, change: Sequence[Layer]
) -> Iterator[tuple[str, str]]:
    by_states = RowChanges(ctx, ends_of(before, after))
    by_change = RowChanges(ctx, Ends(before, after, before.schema, (), tuple(change)))
    if change and (found := _unlike(by_states, by_change)):
        yield found, RESTORE_CATALOG
    if len({x.turn for x in change}) == 1 and before.layers:
        yield from _counted(by_states, change)
    if shown.layers != after.layers and not RowChanges(ctx, ends_of(after, shown)).is_empty():
        yield "what its views show is not what the state before and the change make", DROP_VIEW
    rows = RowChanges(ctx, ends_of(None, shown)).counts()["inserted"] if shown.layers else 0
    if rows != shown.row_count and shown.name != FILES_NAME:  # Files are counted where their paths are looked at.
        yield f"it has {rows} rows, its entry says {shown.row_count}", RESTORE_CATALOG


def _unlike(by_states: RowChanges, by_change: RowChanges) -> str | None:
    one, other = by_states.counts(), by_change.counts()
    if one != other:
        return f"its states differ by {_counts_text(one)}, its change says {_counts_text(other)}"
    if _cells(by_states) != _cells(by_change):
        return "its change tells other values before or after than its states have"
    return None


def _counted(by_states: RowChanges, change: Sequence[Layer]) -> Iterator[tuple[str, str]]:
    """Check that a change of one step holds each key once, and no row that did not change."""
    kinds = {"rows": "inserted", "update": "updated", "delete": "deleted"}
    stored = dict.fromkeys(kinds.values(), 0)
    for layer in change:
        if layer.object.kind in kinds:
            stored[kinds[layer.object.kind]] += layer.object.row_count
    found = {word: count for word, count in by_states.counts().items() if word in stored}
    keys = {"inserted", "deleted"} <= {w for w, n in stored.items() if n}
    if found != stored and not keys:
        yield (
            f"its states differ by {_counts_text(found)}, its change has rows for {_counts_text(stored)}",
            RESTORE_CATALOG,
        )


def _cells(changes: RowChanges) -> list[str]:
    return sorted(repr(cell) for cell in changes.cells(None))


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())
