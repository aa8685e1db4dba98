"""A table's past, for changes, history and blame: the table at other commits, under all its ids, and the tables it
replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from anabranch.catalog import entries, history, touching
from anabranch.catalog.store import Connection
from anabranch.catalog.touching import Touch
from anabranch.errors import InvalidRequest
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId, ThingId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import Entry, TableState
from anabranch.plan.merge.pairing import paired_by_name
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table, schema_of, schemas_for, table_state


@dataclass(frozen=True)
class Past:
    """A table at a commit, and what it takes to go back from there."""

    ctx: Context
    cx: Connection
    clock: Clock
    state: TableState
    """Its columns also know the ids they had in tables that this one replaced."""
    ids: tuple[ThingId, ...]
    """The table's ids (merges may have united several), then those of the tables it replaced."""
    followers: frozenset[ThingId] = frozenset()
    """Those of them that replaced another table."""

    def at(self, position: Position) -> TableState | None:
        """The table at another commit; None if it does not exist there."""
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

    def touches(self, ranges: Iterable[tuple[LineId, int, int]]) -> list[Touch]:
        """The commits in ranges that touched the table. One that put it in another's place is marked `replaced`."""
        return [self._with_replacement(touch) for touch in touching.touches(self.cx, ranges, self.ids)]

    def touches_at(self, positions: Sequence[Position]) -> list[Touch]:
        """What some commits did to the table."""
        return [self._with_replacement(touch) for touch in touching.touches_at(self.cx, positions, self.ids)]

    def _with_replacement(self, touch: Touch) -> Touch:
        follows = touch.thing_id in self.followers and "create" in touch.operations and not touch.dropped
        return replace(touch, replaced=True) if follows else touch

    def knowing(self, state: TableState, layers: Iterable[Layer]) -> TableState:
        """Add the schemas of more objects to a state."""
        return replace(state, schemas=schemas_for(self.ctx, self.cx, layers, state))


def open_past(ctx: Context, cx: Connection, table: str, at: str | None) -> Past:
    """Find a table at a ref, and the tables whose place it took."""
    clock = history.clock(cx, resolve(ctx, cx, at))
    state = table_state(ctx, cx, clock, *find_table(ctx, cx, clock, table))
    schema, ids, followers = state.schema, ids_of(state), frozenset[ThingId]()
    own = ids
    while before := _taken_over(ctx, cx, clock, own):
        followers |= {*own}
        own = _with_united(before.thing_id, before.attributes)
        ids = (*ids, *(i for i in own if i not in ids))
        known = schema_of(ctx, cx, {before.schema_id}) if before.schema_id else {}
        schema = reduce(lambda after, was: paired_by_name(was, after), known.values(), schema)
    return Past(ctx, cx, clock, replace(state, schema=schema), ids, followers)


def _taken_over(ctx: Context, cx: Connection, at: Clock, ids: Sequence[ThingId]) -> Entry | None:
    """The last entry of the dropped table whose name a table took over when it was created, if any."""
    made = entries.first_entry(cx, at, ids)
    clock = history.clock(cx, made) if made else None
    place = next((p for i in ids if clock and (p := entries.place_of(cx, clock, i))), None)
    earlier = clock.back(1) if clock else None
    if clock is None or place is None or earlier is None:
        return None
    thing = entries.last_named(cx, ctx.record.id, history.clock(cx, earlier), *place)
    described = entries.find_entry(cx, clock, thing) if thing and thing not in ids else None
    return described if described and described.dropped else None


def ids_of(state: TableState) -> tuple[ThingId, ...]:
    """The ids of a table."""
    return _with_united(state.id, state.attributes)


def _with_united(thing: ThingId, attributes: Mapping[str, Any]) -> tuple[ThingId, ...]:
    return tuple(dict.fromkeys((thing, *(ThingId(i) for i in attributes.get("united", ())))))


def are_one(one: TableState, other: TableState) -> bool:
    """Whether two states are of one table."""
    return not set(ids_of(one)).isdisjoint(ids_of(other))


def whole_path(clock: Clock) -> tuple[tuple[LineId, int, int], ...]:
    """All commits along first parents, oldest first."""
    return tuple((p.line, 0, p.index) for p in reversed(clock.positions))


def refuse_taken_names(
    columns: Iterable[Column], taken: Sequence[str], what: str, hint: str = "rename it, or leave it out with columns="
) -> None:
    """Refuse a column whose name clashes with one that a result adds."""
    lower = {name.lower() for name in taken}
    found = next((c for c in columns if c.name.lower() in lower), None)
    if found is not None:
        message = f"column {found.name!r} has the name of a column that {what} adds"
        raise InvalidRequest(message, hint=hint, column=found.name)
