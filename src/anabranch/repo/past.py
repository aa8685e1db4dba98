"""A table's past as changes, history and blame read it: the table at commits, by the ids that it went by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from anabranch.catalog import entries, history
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId, ThingId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.repo.context import Context
from anabranch.repo.refs import resolve
from anabranch.repo.state import find_table, schema_of, table_state


@dataclass(frozen=True)
class Past:
    """A table at a commit, and what is needed to go back from there."""

    ctx: Context
    cx: Connection
    clock: Clock
    state: TableState
    ids: tuple[ThingId, ...]
    """The ids that the table goes by: merges may have united several."""

    def at(self, position: Position) -> TableState | None:
        """The table at another commit; None where it is not there."""
        clock = history.clock(self.cx, position)
        for thing in self.ids:
            entry = entries.find_entry(self.cx, clock, thing)
            if entry and not entry.dropped and entries.place_of(self.cx, clock, thing):
                name = entries.full_name(self.cx, clock, thing) or self.state.name
                return table_state(self.ctx, self.cx, clock, thing, name)
        return None

    def before(self, position: Position) -> TableState | None:
        """The table at the first parent of a commit."""
        parent = history.clock(self.cx, position).back(1)
        return self.at(parent) if parent else None

    def knowing(self, state: TableState, layers: Iterable[Layer]) -> TableState:
        """A state that knows the schemas of more objects."""
        found = list(layers)
        objects = [*(x.object for x in found), *(o for x in found for o in x.without)]
        more = schema_of(self.ctx, self.cx, {o.schema_id for o in objects})
        return replace(state, schemas={**more, **state.schemas})


def open_past(ctx: Context, cx: Connection, table: str, at: str | None) -> Past:
    """Find a table at a ref."""
    clock = history.clock(cx, resolve(ctx, cx, at))
    state = table_state(ctx, cx, clock, find_table(ctx, cx, clock, table), table)
    return Past(ctx, cx, clock, state, ids_of(state))


def ids_of(state: TableState) -> tuple[ThingId, ...]:
    """The ids that a table goes by."""
    united = [ThingId(i) for i in state.attributes.get("united", ())]
    return tuple(dict.fromkeys((state.id, *united)))


def whole_path(clock: Clock) -> tuple[tuple[LineId, int, int], ...]:
    """All commits along first parents, oldest first."""
    return tuple((p.line, 0, p.index) for p in reversed(clock.positions))


def refuse_taken_names(
    columns: Iterable[Column], taken: Sequence[str], what: str, hint: str = "rename it, or leave it out with columns="
) -> None:
    """Refuse a column that has the name of one that a result adds."""
    lower = {name.lower() for name in taken}
    found = next((c for c in columns if c.name.lower() in lower), None)
    if found is not None:
        message = f"column {found.name!r} has the name of a column that {what} adds"
        raise InvalidRequest(message, hint=hint, column=found.name)
