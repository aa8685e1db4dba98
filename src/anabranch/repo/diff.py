"""diff: what differs between two commits, or a commit and an unfinished one, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.catalog import entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.objects import Layer
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState, ThingKind
from anabranch.model.types import can_widen
from anabranch.plan.commit import ThingDraft, draft_changes, draft_state
from anabranch.plan.history import merge_bases
from anabranch.plan.path import Leg, find_path
from anabranch.plan.schema_diff import attribute_changes
from anabranch.repo.context import Context
from anabranch.repo.differences import Diff, NamespaceDiff, TableDiff, Word
from anabranch.repo.ends import ends_of
from anabranch.repo.refs import resolve
from anabranch.repo.state import find_table, list_tables, schema_of, table_state


@dataclass(frozen=True)
class Staged:
    """What an unfinished commit does on top of its parent."""

    things: Mapping[ThingId, ThingDraft] = field(default_factory=dict)
    names: Mapping[ThingId, str] = field(default_factory=dict)
    """The names of all things, if it moved a namespace: what is in one moves along."""
    pending: Mapping[ObjectId, bytes] = field(default_factory=dict)


NOTHING = Staged()


@dataclass(frozen=True)
class Sides:
    """Two commits and an ancestor that they have in common; on top of the later, what is staged."""

    before: Clock
    after: Clock
    base: Position
    staged: Staged = NOTHING


def diff(ctx: Context, before: str | None, after: str | None = None, table: str | None = None) -> Diff:
    """Compare two refs; `a..b` and `a...b` may be given as one text, the second meaning b since their base."""
    with ctx.catalog.read() as cx:
        sides = _sides(ctx, cx, before, after)
        return compared(ctx, cx, sides, lambda name: diff(ctx, before, after, name), table)


def compared(ctx: Context, cx: Connection, sides: Sides, one: Callable[[str], Diff], table: str | None = None) -> Diff:
    """Compare two sides, in all that commits between touched, or in one table; `one` compares a table by its name."""
    things, _ = touched_between(cx, sides.before, sides.after)
    things |= sides.staged.things.keys()
    old, new = _shown(cx, sides.before, things), _shown(cx, sides.after, things, sides.staged)
    spaces = _namespaces(old, new)
    if table is not None:
        things = _named(ctx, cx, sides, table)
        old, new = _shown(cx, sides.before, things), _shown(cx, sides.after, things, sides.staged)
    elif spaces:
        every = _below(cx, ctx, sides) | things
        old, new = _shown(cx, sides.before, every), _shown(cx, sides.after, every, sides.staged)
        old, new = _without_unmoved(old, new, things)
    found = _tables(ctx, cx, sides, _of_kind(old, "table"), _of_kind(new, "table"))
    return Diff(tuple(sorted(found, key=lambda t: t.name)), spaces, one)


def _sides(ctx: Context, cx: Connection, before: str | None, after: str | None) -> Sides:
    since_base = False
    if before is not None and ".." in before:
        if after is not None:
            raise InvalidRequest(f"diff got a range, {before!r}, and a second ref", hint="give one or the other")
        since_base = "..." in before
        one, _, other = before.partition("..." if since_base else "..")
        before, after = one or None, other or None
    ends = [resolve(ctx, cx, ref) for ref in (before, after)]
    base = common_base(cx, ends[0], ends[1])
    first = base if since_base else ends[0]
    return Sides(history.clock(cx, first), history.clock(cx, ends[1]), base)


def common_base(cx: Connection, one: Position, other: Position) -> Position:
    """A common ancestor to compare by: any of the nearest tells the same."""
    return merge_bases(history.Lines(cx), one, other)[0]


def touched_between(cx: Connection, one: Clock, other: Clock) -> tuple[set[str], set[tuple[str, str]]]:
    """The things and names that commits on either way from the last common first parent touched."""
    fork = next(p for p in _common(one, other))
    things: set[str] = set()
    names: set[tuple[str, str]] = set()
    for clock in (one, other):
        more_things, more_names = entries.touched(cx, clock.since(fork))
        things |= more_things
        names |= more_names
    return things, names


def _common(one: Clock, other: Clock) -> Iterator[Position]:
    """Where two paths of first parents part: the highest commit that is on both."""
    reach = {p.line: p.index for p in other}
    for position in one:
        if position.line in reach:
            yield Position(position.line, min(position.index, reach[position.line]))


@dataclass(frozen=True)
class _Shown:
    """A thing on one side, if it is there."""

    name: str
    kind: ThingKind
    attributes: Mapping[str, Any]


def _shown(cx: Connection, at: Clock, things: set[str], staged: Staged = NOTHING) -> dict[ThingId, _Shown]:
    found = entries.find_entries(cx, at, [ThingId(x) for x in sorted(things) if x not in staged.things])
    there = {}
    for thing, entry in found.items():
        if not entry.dropped and entries.place_of(cx, at, thing):
            name = staged.names.get(thing) or entries.full_name(cx, at, thing) or thing
            there[thing] = _Shown(name, entry.kind, entry.attributes)
    for draft in staged.things.values():
        if draft.id in things and not draft.dropped:
            there[draft.id] = _Shown(draft.name, draft.kind, draft.attributes)
    return there


def _of_kind(shown: Mapping[ThingId, _Shown], kind: ThingKind) -> dict[ThingId, _Shown]:
    return {thing: s for thing, s in shown.items() if s.kind == kind}


def _tables(
    ctx: Context, cx: Connection, sides: Sides, old: Mapping[ThingId, _Shown], new: Mapping[ThingId, _Shown]
) -> list[TableDiff]:
    lines = history.Lines(cx)
    legs = tuple(find_path(lines, sides.base, at.head) for at in (sides.before, sides.after))
    same = _united(old, new)
    later = {same.get(t, t): t for t in reversed(list(new))}
    found = []
    for thing in dict.fromkeys((*old, *(same.get(t, t) for t in new))):
        other_id = later.get(thing, thing)
        made = _table(ctx, cx, sides, legs, thing, old.get(thing), other_id, new.get(other_id))
        if made:
            found.append(made)
    return found


def _united(old: Mapping[ThingId, _Shown], new: Mapping[ThingId, _Shown]) -> dict[ThingId, ThingId]:
    """Tables after under the ids that they have before, where a merge united two."""
    known = {id_: thing for thing, was in old.items() for id_ in (thing, *was.attributes.get("united", ()))}
    found = {}
    for thing in new.keys() - old.keys():
        ids = (thing, *new[thing].attributes.get("united", ()))
        met = [known[id_] for id_ in ids if id_ in known]
        if met:
            found[thing] = met[-1]
    return found


def _below(cx: Connection, ctx: Context, sides: Sides) -> set[str]:
    """Every table, because a namespace that moved or went takes along what is in it."""
    return {t.id for at in (sides.before, sides.after) for t in list_tables(ctx, cx, at, None)}


def _without_unmoved(
    old: Mapping[ThingId, _Shown], new: Mapping[ThingId, _Shown], touched: set[str]
) -> tuple[dict[ThingId, _Shown], dict[ThingId, _Shown]]:
    """Leave out things that nobody touched, and that no namespace took along."""
    same = {t for t in old.keys() & new.keys() - touched if old[t].name == new[t].name}
    return {t: s for t, s in old.items() if t not in same}, {t: s for t, s in new.items() if t not in same}


def _named(ctx: Context, cx: Connection, sides: Sides, name: str) -> set[str]:
    found: set[str] = set()
    problem: NotFound | None = None
    for at in (sides.before, sides.after):
        try:
            found.add(find_table(ctx, cx, at, name))
        except NotFound as error:
            problem = error
    if not found:
        assert problem is not None
        raise problem
    return found


def _table(
    ctx: Context,
    cx: Connection,
    sides: Sides,
    legs: Sequence[tuple[Leg, ...]],
    thing: ThingId,
    before: _Shown | None,
    other_id: ThingId,
    after: _Shown | None,
) -> TableDiff | None:
    old = table_state(ctx, cx, sides.before, thing, before.name) if before else None
    staged = sides.staged.things.get(other_id)
    new = None
    if after:
        new = draft_state(staged) if staged else table_state(ctx, cx, sides.after, other_id, after.name)
    if old is None and new is None:
        return None
    ids = tuple(dict.fromkeys((thing, other_id)))
    to_before = to_after = None
    if old and new:
        to_before, to_after = (paths.layers_along(cx, way, ids, ctx.known_objects) for way in legs)
        to_after = _with_staged(to_after, staged)
    base = _base_schema(ctx, cx, sides, ids)
    known = _with_schemas(ctx, cx, old, new, (*(to_before or ()), *(to_after or ())))
    ends = ends_of(known[0], known[1], base, to_before, to_after)
    return TableDiff(ctx, (new or old).name, old, new, replace(ends, pending=sides.staged.pending))  # type: ignore[union-attr]


def _with_staged(layers: tuple[Layer, ...] | None, staged: ThingDraft | None) -> tuple[Layer, ...] | None:
    """The changes on a way, then those of an unfinished commit; None if only the states can tell."""
    more = draft_changes(staged) if staged else ()
    if layers is None or more is None:
        return None
    top = max((layer.turn for layer in layers), default=0)
    return (*layers, *(replace(layer, turn=top + 1 + layer.turn) for layer in more))


def _with_schemas(
    ctx: Context, cx: Connection, old: TableState | None, new: TableState | None, layers: Any
) -> tuple[TableState | None, TableState | None]:
    """States that know the schemas of every object on the way."""
    objects = [*(x.object for x in layers), *(o for x in layers for o in x.without)]
    known = {**(old.schemas if old else {}), **(new.schemas if new else {})}
    shared = {**schema_of(ctx, cx, {o.schema_id for o in objects if o.schema_id not in known}), **known}
    return (
        replace(old, schemas=shared) if old else None,
        replace(new, schemas=shared) if new else None,
    )


def _base_schema(ctx: Context, cx: Connection, sides: Sides, ids: tuple[ThingId, ...]) -> Schema | None:
    at = history.clock(cx, sides.base)
    for thing in ids:
        entry = entries.find_entry(cx, at, thing)
        if entry and entry.schema_id and not entry.dropped:
            return schema_of(ctx, cx, {entry.schema_id})[entry.schema_id]
    return None


def diff_tables(ctx: Context, one: str, other: str, at: str | None, other_at: str | None) -> TableDiff:
    """Compare two tables, columns by name and rows by the second's key."""
    with ctx.catalog.read() as cx:
        clocks = [history.clock(cx, resolve(ctx, cx, ref)) for ref in (at, other_at if other_at is not None else at)]
        found = [
            table_state(ctx, cx, clock, find_table(ctx, cx, clock, name), name)
            for clock, name in zip(clocks, (one, other), strict=True)
        ]
    before, after = found
    _refuse_missing_key(before, after)
    shared = _named_alike(before.schema, after.schema)
    schemas = {**before.schemas, **after.schemas, shared.id: shared}
    sides = replace(before, schemas=schemas), replace(after, schema=shared, schemas=schemas)
    return TableDiff(ctx, other, sides[0], sides[1], ends_of(sides[0], sides[1], None, None, None))


def _refuse_missing_key(before: TableState, after: TableState) -> None:
    had, key = before.schema, after.schema.key_columns if after.schema.has_key else ()
    missing = next((c.name for c in key if had.find(c.name) is None and had.written_as(c) is None), None)
    if missing is not None:
        message = f"{before.name!r} has no column {missing!r}, the key of {after.name!r}"
        hint = "name the tables the other way round, or give the second a key that both have"
        raise InvalidRequest(message, hint=hint, column=missing)


def _named_alike(before: Schema, after: Schema) -> Schema:
    """The second schema, each column also under the id that the first has for its name."""
    columns = []
    for column in after:
        was = before.find(column.name)
        if was is not None and was.id != column.id and not can_widen(was.type, column.type):
            hint = "cast the column in one of them first"
            message = f"column {column.name!r} is {was.type} in one table and {column.type} in the other"
            raise InvalidRequest(message, hint=hint, column=column.name)
        also = (*column.also, was.id) if was is not None and was.id != column.id else column.also
        columns.append(replace(column, also=also))
    return replace(after, columns=tuple(columns))


def _namespaces(before: Mapping[ThingId, _Shown], after: Mapping[ThingId, _Shown]) -> tuple[NamespaceDiff, ...]:
    old, new = _of_kind(before, "namespace"), _of_kind(after, "namespace")
    found = []
    for thing in sorted({*old, *new}):
        one, other = old.get(thing), new.get(thing)
        changed = attribute_changes(one.attributes, other.attributes) if one and other else ()
        renamed = one.name if one and other and one.name != other.name else None
        word: Word = "added" if one is None else "dropped" if other is None else "changed"
        if word != "changed" or changed or renamed:
            shown = other or one
            assert shown is not None
            found.append(NamespaceDiff(shown.name, word, renamed, changed))
    return tuple(sorted(found, key=lambda n: n.name))
