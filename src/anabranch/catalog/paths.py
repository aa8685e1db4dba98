"""A table's changes on the path from one commit to another, as layers with rising turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select

from anabranch.catalog import entries
from anabranch.catalog import tables as t
from anabranch.catalog.history import Lines, clock
from anabranch.catalog.manifests import changed, changed_id, in_order, linking
from anabranch.catalog.prepared import prepared
from anabranch.catalog.views import ObjectCache, learn
from anabranch.model.clock import Position
from anabranch.model.ids import LineId, ObjectId, SchemaId, ThingId
from anabranch.model.objects import Layer, StoredObject
from anabranch.model.tables import Entry, Operation
from anabranch.plan.path import Crossing, Leg, Stretch, find_path

Ranges = Sequence[tuple[LineId, int, int]]


def change_layers(
    cx: Connection, base: Position, tip: Position, things: Sequence[ThingId], known: ObjectCache
) -> tuple[Layer, ...] | None:
    """Find the objects of a table's change from a commit to a descendant; None if the states must be compared."""
    return layers_along(cx, find_path(Lines(cx), base, tip), things, known)


def operations(cx: Connection, legs: Sequence[Leg], things: Sequence[ThingId]) -> tuple[Operation, ...]:
    """List what was done to a thing on a path, in order; immediate repeats are listed once."""
    found: list[Operation] = []
    for line, low, high in _ranges(cx, legs, things):
        where = {"line": line, "low": low, "high": high, "things": list(things)}
        for described in _operations(cx, where).scalars():
            found += [o for o in described if found[-1:] != [o]]
    return tuple(found)


def makers(cx: Connection, legs: Sequence[Leg], things: Sequence[ThingId]) -> dict[ObjectId, Position]:
    """Map each object of a table to the commit on a path that brought it."""
    found: dict[ObjectId, Position] = {}
    c = t.changes.c
    for line, low, high in _ranges(cx, legs, things):
        query = select(c.commit_index, changed_id()).select_from(changed())
        query = query.where(c.thing_id.in_(things), c.line_id == line)
        for row in cx.execute(query.where(c.commit_index.between(low, high))):
            found[ObjectId(row.object_id)] = Position(line, row.commit_index)
    return found


def entries_along(cx: Connection, legs: Sequence[Leg], things: Sequence[ThingId]) -> list[tuple[Position, Entry]]:
    """List what the commits on a path say of some things, in order."""
    found: list[tuple[Position, Entry]] = []
    for line, low, high in _ranges(cx, legs, things):
        for n, entry in entries.entries_between(cx, line, low, high, things):
            found.append((Position(line, n), entry))
    return found


def schema_runs(cx: Connection, base: Position, legs: Sequence[Leg], things: Sequence[ThingId]) -> list[list[SchemaId]]:
    """List the schemas a table had from a commit on, in order: on the path, and on those it refers to."""
    described = entries.find_entries(cx, clock(cx, base), things).values()
    run = [e.schema_id for e in described if e.schema_id and not e.dropped]
    inner: list[list[SchemaId]] = []
    for leg in legs:
        if isinstance(leg, Stretch):
            run += _schemas(cx, leg.ranges, things)
            continue
        run += _schemas(cx, [(leg.merge.line, leg.merge.index, leg.merge.index)], things)
        found = _reference(cx, leg, things)
        if found and found[0]:
            inner += schema_runs(cx, found[0], find_path(Lines(cx), found[0], leg.first_parent), things)
    return [[id_ for id_, _ in groupby(run)], *inner]


def _schemas(cx: Connection, ranges: Ranges, things: Sequence[ThingId]) -> Iterator[SchemaId]:
    for line, low, high in ranges:
        yield from _had(cx, {"line": line, "low": low, "high": high, "things": list(things)}).scalars()


def _ranges(cx: Connection, legs: Sequence[Leg], things: Sequence[ThingId]) -> Iterator[tuple[LineId, int, int]]:
    """The stretches of a path, including those that crossings stand for."""
    for leg in legs:
        if isinstance(leg, Stretch):
            yield from leg.ranges
            continue
        found = _reference(cx, leg, things)
        if found and found[0]:
            yield from _ranges(cx, find_path(Lines(cx), found[0], leg.first_parent), things)


def layers_along(
    cx: Connection, legs: Sequence[Leg], things: Sequence[ThingId], known: ObjectCache
) -> tuple[Layer, ...] | None:
    """Find the objects of a table's change on a path; None if the states must be compared."""
    found: list[Layer] = []
    for leg in legs:
        part = (
            _stretch(cx, leg.ranges, things, known) if isinstance(leg, Stretch) else _crossing(cx, leg, things, known)
        )
        if part is None:
            return None
        top = max((x.turn for x in found), default=0)
        found += [replace(x, turn=top + x.turn) for x in part]
    return tuple(found)


def layers_by_commit(
    cx: Connection, ranges: Ranges, things: Sequence[ThingId], known: ObjectCache
) -> list[tuple[Position, StoredObject]] | None:
    """Find the objects of a table's changes, each with its commit; None if one of them gave the table another key."""
    found: list[tuple[Position, ObjectId]] = []
    for line, low, high in ranges:
        where = {"line": line, "low": low, "high": high, "things": list(things)}
        if _replaced(cx, where).first():
            return None
        for row in _changes(cx, where):
            found.append((Position(line, row.commit_index), ObjectId(row.object_id)))
    learn(cx, [id_ for _, id_ in found], known)
    return [(position, known[id_]) for position, id_ in found]


def _on_stretch(c: Any, *columns: Any) -> Select[Any]:
    """What a table of the catalogue says of some things on a stretch of a line."""
    here = c.thing_id.in_(bindparam("things", expanding=True)) & (c.line_id == bindparam("line"))
    return select(*columns).where(here, c.commit_index.between(bindparam("low"), bindparam("high")))


@prepared
def _replaced() -> Any:
    e = t.entries.c
    return _on_stretch(e, e.thing_id).where(~e.carried, e.replaced).limit(1)


@prepared
def _changes() -> Any:
    c = t.changes.c
    query = _on_stretch(c, c.commit_index, c.step, changed_id()).select_from(changed())
    return query.order_by(c.commit_index, *in_order())


@prepared
def _operations() -> Any:
    e = t.entries.c
    return _on_stretch(e, e.operations).where(~e.carried).order_by(e.commit_index)


@prepared
def _had() -> Any:
    e = t.entries.c
    query = _on_stretch(e, e.schema_id).where(e.schema_id.is_not(None))
    return query.where(~e.carried, ~e.dropped).order_by(e.commit_index)


def _stretch(cx: Connection, ranges: Ranges, things: Sequence[ThingId], known: ObjectCache) -> list[Layer] | None:
    """The changes of consecutive commits; None if one of them gave the table another key."""
    turns: dict[tuple[str, int, int], int] = {}
    found: list[tuple[int, ObjectId]] = []
    for line, low, high in ranges:
        where = {"line": line, "low": low, "high": high, "things": list(things)}
        if _replaced(cx, where).first():
            return None
        for row in _changes(cx, where):
            turn = turns.setdefault((line, row.commit_index, row.step), len(turns) + 1)
            found.append((turn, ObjectId(row.object_id)))
    learn(cx, [id_ for _, id_ in found], known)
    return [Layer(turn, known[id_]) for turn, id_ in found]


def _crossing(cx: Connection, leg: Crossing, things: Sequence[ThingId], known: ObjectCache) -> list[Layer] | None:
    """What a merge brought to its further parent: what the first parent did since the base, except for exceptions."""
    found = _reference(cx, leg, things)
    if found is None:
        return []
    base, exceptions_id = found
    inner = change_layers(cx, base, leg.first_parent, things, known) if base else None
    if inner is None or exceptions_id is None:
        return None if inner is None else list(inner)
    learn(cx, [exceptions_id], known)
    exceptions = known[exceptions_id]
    top = max((x.turn for x in inner), default=0)
    return [*(replace(x, without=(*x.without, exceptions)) for x in inner), Layer(top + 1, exceptions)]


def _reference(
    cx: Connection, leg: Crossing, things: Sequence[ThingId]
) -> tuple[Position | None, ObjectId | None] | None:
    """The base and exceptions of a merge as seen from a further parent; None if the table did not change for it."""
    r = t.change_references.c
    query = select(r.base_line, r.base_index, r.exceptions_id).where(
        r.thing_id.in_(things),
        r.line_id == leg.merge.line,
        r.commit_index == leg.merge.index,
        r.parent_number == leg.number,
    )
    row = cx.execute(query).first()
    if row is None:
        return None
    base = Position(LineId(row.base_line), row.base_index) if row.base_line else None
    return base, ObjectId(row.exceptions_id) if row.exceptions_id else None


def referred(cx: Connection, merge: Position) -> list[ThingId]:
    """The tables for which a merge commit records the difference to a further parent."""
    r = t.change_references.c
    query = select(r.thing_id).where(r.line_id == merge.line, r.commit_index == merge.index).distinct()
    return [ThingId(thing) for thing in cx.scalars(query.order_by(r.thing_id))]


def times_of(cx: Connection, objects: Sequence[ObjectId]) -> dict[ObjectId, int]:
    """When each object was first committed; a merge that links one makes it no younger."""
    r, finished = t.change_references.c, t.commits.c.finished_at
    referring = select(r.exceptions_id, r.line_id, r.commit_index).where(r.exceptions_id.in_(objects))
    found: dict[ObjectId, int] = {}
    for linked in (*linking(objects, t.changes.c.line_id, t.changes.c.commit_index), referring):
        rows = linked.subquery()
        id_, line, index = rows.c
        same = (t.commits.c.line_id == line) & (t.commits.c.commit_index == index)
        for row in cx.execute(
            select(id_.label("id"), func.min(finished).label("at")).join(t.commits, same).group_by(id_)
        ):
            found[ObjectId(row.id)] = min(row.at, found.get(ObjectId(row.id), row.at))
    return found
