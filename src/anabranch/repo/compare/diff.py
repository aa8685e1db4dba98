"""diff: what differs between two commits, or between a commit and an unfinished one, table by table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.catalog import entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Clock, Position
from anabranch.model.files import FILES_NAME, files_thing
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.objects import Layer, StoredObject
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState, ThingKind
from anabranch.model.types import can_widen
from anabranch.plan.commit import ThingDraft, draft_changes, draft_state, packs_of
from anabranch.plan.history import merge_bases
from anabranch.plan.merge.pairing import Placed, TablePair, pair_tables, paired, was_hidden, were_added_otherwise
from anabranch.plan.path import Leg, find_path
from anabranch.plan.schema_diff import attribute_changes
from anabranch.repo.branches.refs import resolve
from anabranch.repo.compare.file_diff import FilesDiff
from anabranch.repo.compare.table_diff import Diff, NamespaceDiff, TableDiff, Word
from anabranch.repo.compare.two_states import Ends, ends_of, replaced_ends
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table, list_tables, schema_of, schemas_for, table_state
from anabranch.repo.files.blocks import BlockReader


@dataclass(frozen=True)
class Staged:
    """What an unfinished commit does on top of its parent."""

    things: Mapping[ThingId, ThingDraft] = field(default_factory=dict)
    names: Mapping[ThingId, str] = field(default_factory=dict)
    """The names of all things, if a namespace was moved: its contents move along."""
    pending: Mapping[ObjectId, bytes] = field(default_factory=dict)

    @property
    def packs(self) -> dict[ObjectId, StoredObject]:
        """The packs known only to the unfinished commit."""
        return {o.stored.id: o.stored for t in self.things.values() for o in packs_of(t)}


NOTHING = Staged()


@dataclass(frozen=True)
class DiffSides:
    """Two commits and a common ancestor, and what is staged on top of the later one."""

    before: Clock
    after: Clock
    base: Position
    staged: Staged = NOTHING


def diff(ctx: Context, before: str | None, after: str | None = None, table: str | None = None) -> Diff:
    """Compare two refs. One text `a..b` does too; `a...b` compares b with the merge base of both."""
    with ctx.catalog.read() as cx:
        return compared(ctx, cx, _sides(ctx, cx, before, after), table)


def compared(ctx: Context, cx: Connection, sides: DiffSides, table: str | None = None) -> Diff:
    """Compare two sides: everything that commits between them touched, or one table."""
    things, _ = entries.touched_between(cx, sides.before, sides.after)
    things |= sides.staged.things.keys()
    old, new = _shown(cx, sides.before, things), _shown(cx, sides.after, things, sides.staged)
    spaces = _namespaces(old, new)
    if table is not None:
        things = _named(ctx, cx, sides, table)
        old, new = _shown(cx, sides.before, things), _shown(cx, sides.after, things, sides.staged)
    elif spaces:
        # A namespace that was moved or dropped takes its contents along.
        every = {t.id for at in (sides.before, sides.after) for t in list_tables(ctx, cx, at, None)} | things
        old, new = _shown(cx, sides.before, every), _shown(cx, sides.after, every, sides.staged)
        # Things that nobody touched are left out, unless a namespace took them along.
        same = {t for t in old.keys() & new.keys() - things if old[t].name == new[t].name}
        old, new = {t: s for t, s in old.items() if t not in same}, {t: s for t, s in new.items() if t not in same}
    found = _tables(ctx, cx, sides, _of_kind(old, "table"), _of_kind(new, "table"))
    files = _files(ctx, cx, sides) if table is None and files_thing(ctx.record.id) in things else None
    reader = BlockReader(ctx, sides.staged.packs, sides.staged.pending)
    described = FilesDiff(files.rows if files else None, reader)
    return Diff(tuple(sorted(found, key=lambda t: t.name)), spaces, lambda name: _one(ctx, sides, name), described)


def _files(ctx: Context, cx: Connection, sides: DiffSides) -> TableDiff:
    """Compare the file trees of two sides, the way tables are compared."""
    thing, lines = files_thing(ctx.record.id), history.Lines(cx)
    legs = (find_path(lines, sides.base, sides.before.head), find_path(lines, sides.base, sides.after.head))
    shown = {thing: _SideThing(FILES_NAME, "files", {})}
    return _Comparing(ctx, cx, sides, legs).table(TablePair(thing, thing), shown, shown)


def _one(ctx: Context, sides: DiffSides, table: str) -> Diff:
    """Compare the same two sides in one table, wherever the branches are by now."""
    with ctx.catalog.read() as cx:
        return compared(ctx, cx, sides, table)


def _sides(ctx: Context, cx: Connection, before: str | None, after: str | None) -> DiffSides:
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
    return DiffSides(history.clock(cx, first), history.clock(cx, ends[1]), base)


def common_base(cx: Connection, one: Position, other: Position) -> Position:
    """A common ancestor to compare through; any of the nearest gives the same answer."""
    return merge_bases(history.Lines(cx), one, other)[0]


@dataclass(frozen=True)
class _SideThing:
    """A thing that exists on one side."""

    name: str
    kind: ThingKind
    attributes: Mapping[str, Any]


def _shown(cx: Connection, at: Clock, things: set[str], staged: Staged = NOTHING) -> dict[ThingId, _SideThing]:
    found = entries.find_entries(cx, at, [ThingId(x) for x in sorted(things) if x not in staged.things])
    there = {}
    for thing, entry in found.items():
        if not entry.dropped and entries.place_of(cx, at, thing):
            name = staged.names.get(thing) or entries.full_name(cx, at, thing) or thing
            there[thing] = _SideThing(name, entry.kind, entry.attributes)
    for draft in staged.things.values():
        if draft.id in things and not draft.dropped:
            there[draft.id] = _SideThing(draft.name, draft.kind, draft.attributes)
    return there


def _of_kind(shown: Mapping[ThingId, _SideThing], kind: ThingKind) -> dict[ThingId, _SideThing]:
    return {thing: s for thing, s in shown.items() if s.kind == kind}


def _tables(
    ctx: Context, cx: Connection, sides: DiffSides, old: Mapping[ThingId, _SideThing], new: Mapping[ThingId, _SideThing]
) -> list[TableDiff]:
    lines = history.Lines(cx)
    legs = (find_path(lines, sides.base, sides.before.head), find_path(lines, sides.base, sides.after.head))
    work = _Comparing(ctx, cx, sides, legs)
    return [work.table(pair, old, new) for pair in pair_tables(_placed(old), _placed(new))]


def _placed(shown: Mapping[ThingId, _SideThing]) -> dict[ThingId, Placed]:
    return {t: Placed(s.name, frozenset((t, *s.attributes.get("united", ())))) for t, s in shown.items()}


def _named(ctx: Context, cx: Connection, sides: DiffSides, name: str) -> set[str]:
    found: set[str] = set()
    problem: NotFound | None = None
    for at in (sides.before, sides.after):
        try:
            found.add(find_table(ctx, cx, at, name).id)
        except NotFound as error:
            problem = error
    if not found:
        assert problem is not None
        raise problem
    return found


@dataclass(frozen=True)
class _Comparing:
    """Two sides, and the paths to them from their common base."""

    ctx: Context
    cx: Connection
    sides: DiffSides
    legs: tuple[tuple[Leg, ...], tuple[Leg, ...]]

    def table(self, pair: TablePair, old: Mapping[ThingId, _SideThing], new: Mapping[ThingId, _SideThing]) -> TableDiff:
        """What differs in a table, or between a table and the one that replaced it."""
        before, after = self._state(self.sides.before, pair.before, old), self._after(pair.after, new)
        ends = self._ends(pair, before, after)
        name = (after or ends.before).name
        return TableDiff(self.ctx, name, before, after, replace(ends, pending=self.sides.staged.pending))

    def _state(self, at: Clock, thing: ThingId | None, shown: Mapping[ThingId, _SideThing]) -> TableState | None:
        return table_state(self.ctx, self.cx, at, thing, shown[thing].name) if thing else None

    def _after(self, thing: ThingId | None, shown: Mapping[ThingId, _SideThing]) -> TableState | None:
        staged = self._staged(thing)
        return draft_state(staged) if staged else self._state(self.sides.after, thing, shown)

    def _staged(self, thing: ThingId | None) -> ThingDraft | None:
        return self.sides.staged.things.get(thing) if thing else None

    def _ends(self, pair: TablePair, before: TableState | None, after: TableState | None) -> Ends:
        if before is None or after is None:
            return ends_of(before, after)
        if pair.replaced:
            return replaced_ends(before, after)
        ids = tuple(dict.fromkeys((before.id, after.id)))
        to_before, to_after = (paths.layers_along(self.cx, way, ids, self.ctx.known_objects) for way in self.legs)
        to_after = _with_staged(to_after, self._staged(pair.after))
        base = self._base_schema(ids)
        schema = paired(before.schema, after.schema, base)
        is_told = to_before is not None and to_after is not None and not were_added_otherwise(before.schema, schema)
        if not is_told or was_hidden(self._schema_runs(ids), schema):
            to_before = to_after = None
        ways = (*(to_before or ()), *(to_after or ()))
        known = schemas_for(self.ctx, self.cx, ways, before, after)
        before, after = replace(before, schemas=known), replace(after, schema=schema, schemas=known)
        return Ends(before, after, base, to_before, to_after)

    def _schema_runs(self, ids: Sequence[ThingId]) -> Iterator[list[Schema]]:
        for way in self.legs:
            for run in paths.schema_runs(self.cx, self.sides.base, way, ids):
                known = schema_of(self.ctx, self.cx, set(run))
                yield [known[id_] for id_ in run]

    def _base_schema(self, ids: Sequence[ThingId]) -> Schema | None:
        at = history.clock(self.cx, self.sides.base)
        for thing in ids:
            entry = entries.find_entry(self.cx, at, thing)
            if entry and entry.schema_id and not entry.dropped:
                return schema_of(self.ctx, self.cx, {entry.schema_id})[entry.schema_id]
        return None


def _with_staged(layers: tuple[Layer, ...] | None, staged: ThingDraft | None) -> tuple[Layer, ...] | None:
    """The changes on a path, then those of an unfinished commit; None if the states must be compared."""
    more = draft_changes(staged) if staged else ()
    if layers is None or more is None:
        return None
    top = max((layer.turn for layer in layers), default=0)
    return (*layers, *(replace(layer, turn=top + 1 + layer.turn) for layer in more))


def diff_tables(ctx: Context, one: str, other: str, at: str | None, other_at: str | None) -> TableDiff:
    """Compare two tables: columns by name, rows by the second table's key."""
    with ctx.catalog.read() as cx:
        clocks = [history.clock(cx, resolve(ctx, cx, ref)) for ref in (at, other_at if other_at is not None else at)]
        found = [
            table_state(ctx, cx, clock, *find_table(ctx, cx, clock, name))
            for clock, name in zip(clocks, (one, other), strict=True)
        ]
    before, after = found
    _refuse_missing_key(before, after)
    _refuse_other_types(before.schema, after.schema)
    return TableDiff(ctx, other, before, after, replace(replaced_ends(before, after), kin="another"))


def _refuse_missing_key(before: TableState, after: TableState) -> None:
    had, key = before.schema, after.schema.key_columns if after.schema.has_key else ()
    missing = next((c.name for c in key if had.find(c.name) is None and had.written_as(c) is None), None)
    if missing is not None:
        message = f"{before.name!r} has no column {missing!r}, the key of {after.name!r}"
        hint = "name the tables the other way round, or give the second a key that both have"
        raise InvalidRequest(message, hint=hint, column=missing)


def _refuse_other_types(before: Schema, after: Schema) -> None:
    for column in after:
        was = before.find(column.name)
        if was is not None and was.id != column.id and not can_widen(was.type, column.type):
            hint = "cast the column in one of them first"
            message = f"column {column.name!r} is {was.type} in one table and {column.type} in the other"
            raise InvalidRequest(message, hint=hint, column=column.name)


def _namespaces(before: Mapping[ThingId, _SideThing], after: Mapping[ThingId, _SideThing]) -> tuple[NamespaceDiff, ...]:
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
