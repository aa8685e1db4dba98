"""What one commit did to tables, with counts of rows.

A change of one step has each row once, so its objects say how many rows they are. A merge, a pick or a revert may have
several steps, and a row in more than one of them: then the rows are counted by what became of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from anabranch.catalog import entries, history, views
from anabranch.catalog.store import Connection
from anabranch.engines.choice import quickly
from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.changes import Counts
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import ThingId
from anabranch.model.objects import Layer, StoredObject, may_meet
from anabranch.model.tables import Entry, TableState
from anabranch.repo.branches.refs import resolve
from anabranch.repo.compare.two_states import Ends
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schema_of, table_state

_KINDS = {"inserted": "rows", "updated": "update", "deleted": "delete"}
_OBJECT_SHOWN = {"id": "id", "kind": "kind", "rows": "row_count"}
_OBJECT_SHOWN |= {field: field for field in ("size_bytes", "place", "path", "sha256")}
"""What is shown of an object, each with the field that holds it."""


@dataclass(frozen=True)
class TableChange:
    """What one commit did to one table."""

    table: str
    operations: tuple[str, ...]
    row_count: int
    inserted: int
    updated: int
    deleted: int
    objects: tuple[dict[str, Any], ...]


def show_changes(ctx: Context, ref: str | None) -> list[TableChange]:
    """List what one commit did, by table, with the objects that hold it."""
    with ctx.catalog.read() as cx:
        position = resolve(ctx, cx, ref)
        clock = history.clock(cx, position)
        before = clock.back(1)
        earlier = history.clock(cx, before) if before else clock
        linked = views.change_objects(cx, position, ctx.known_objects)
        found: list[TableChange] = []
        steps: dict[str, ChangeSteps] = {}
        for entry in entries.entries_of(cx, position):
            if entry.kind != "table":
                continue
            name = entries.full_name(cx, earlier if entry.dropped else clock, entry.thing_id) or entry.thing_id
            own = [o for thing, o in linked if thing == entry.thing_id]
            described = tuple({shown: getattr(o, field) for shown, field in _OBJECT_SHOWN.items()} for o in own)
            counts = _row_counts(entry, own)
            found.append(TableChange(name, entry.operations, entry.row_count or 0, **counts, objects=described))
            several = steps_that_meet(ctx, cx, clock, entry) if len(own) > 1 else None
            if several is not None:
                steps[name] = several
    counted = (_recounted(ctx, c, steps[c.table]) if c.table in steps else c for c in found)
    return sorted(counted, key=lambda c: c.table)


def _recounted(ctx: Context, change: TableChange, steps: ChangeSteps) -> TableChange:
    """The same change, with each row counted once."""
    counts = exact_counts(ctx, steps)
    if counts is None:
        return change
    return replace(change, inserted=counts.inserted, updated=counts.updated, deleted=counts.deleted)


def _row_counts(entry: Entry, own: Sequence[StoredObject]) -> dict[str, int]:
    """Count a change's rows; a new key counts none, since rows are rewritten but do not change."""
    if entry.replaced:
        return dict.fromkeys(_KINDS, 0)
    return {word: sum(o.row_count for o in own if o.kind == kind) for word, kind in _KINDS.items()}


@dataclass(frozen=True)
class ChangeSteps:
    """A table before and after a commit, and its change."""

    before: TableState
    after: TableState
    change: tuple[Layer, ...]


def steps_that_meet(ctx: Context, cx: Connection, at: Clock, entry: Entry) -> ChangeSteps | None:
    """Find the steps of a commit's change of a table; None if each row is surely in one of them only."""
    if entry.dropped or entry.replaced:
        return None
    change = views.change_layers(cx, at.head, entry.thing_id, 0, ctx.known_objects)
    if not _may_meet(change):
        return None
    return read_steps(ctx, cx, at, entry.thing_id, str(entry.thing_id))


def _may_meet(change: Sequence[Layer]) -> bool:
    """Tell whether a row may be in two steps."""
    pairs = ((x, y) for x, y in combinations(change, 2) if x.turn != y.turn)
    return any(may_meet(x.object.key_range, y.object.key_range) for x, y in pairs)


def read_steps(ctx: Context, cx: Connection, at: Clock, table: ThingId, name: str) -> ChangeSteps:
    """Read a table at a commit as its change makes it of the table before, whatever its views show."""
    shown = table_state(ctx, cx, at, table, name)
    entry = entries.find_entry(cx, at, table)
    parent = at.back(1) if entry is not None and not entry.replaced else None
    older = history.clock(cx, parent) if parent else None
    was = entries.find_entry(cx, older, table) if older else None
    before = table_state(ctx, cx, older, table, name) if older and was and not was.dropped else None
    first = before.next_turn if before else 0
    change = views.change_layers(cx, at.head, table, first, ctx.known_objects)
    start = before or replace(shown, layers=(), row_count=0)
    known = schema_of(ctx, cx, {x.object.schema_id for x in change})
    schemas = {**start.schemas, **shown.schemas, **known}
    after = replace(shown, layers=(*start.layers, *change), schemas=schemas)
    return ChangeSteps(start, after, change)


def exact_counts(ctx: Context, steps: ChangeSteps) -> Counts | None:
    """Count the rows that a change of several steps inserts, updates and deletes; None if that would start Spark."""
    from anabranch.repo.compare.row_diff import RowChanges

    ends = Ends(steps.before, steps.after, steps.before.schema, (), steps.change)
    try:
        with quickly():
            found = RowChanges(ctx, ends).counts()
    except (Unavailable, InvalidRequest):  # The latter where only Spark can, and another engine was asked for.
        return None
    return Counts(found["inserted"], found["updated"], found["deleted"])


def entry_steps(ctx: Context, at: Position, table: ThingId) -> ChangeSteps | None:
    """Find the steps of a commit's change of a table, as `steps_that_meet` does."""
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, at)
        entry = entries.find_entry(cx, clock, table)
        return steps_that_meet(ctx, cx, clock, entry) if entry is not None else None
