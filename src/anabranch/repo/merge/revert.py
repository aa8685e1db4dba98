"""revert: undo one commit by a new one, unless later commits build on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from anabranch.catalog import commits, entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.layers import chained, with_exceptions
from anabranch.model.objects import Layer
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import Entry, TableState, holds_rows
from anabranch.plan.history import is_ancestor
from anabranch.plan.merge.columns import have_equal_columns
from anabranch.plan.path import Leg, find_path
from anabranch.queries import writes as changes
from anabranch.queries.met_keys import Meeting, met_keys
from anabranch.queries.path_fold import Path, labelled_keys, touched_keys
from anabranch.queries.query import UPDATE, Rows, Sources
from anabranch.queries.scan import Keys
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schema_of, schemas_for, table_state
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.pick import Picked, PickRequest, parent_of, pick, short
from anabranch.repo.read.conditions import pick_engine, reading
from anabranch.repo.read.scan import ReadAs, scan_as

_NAMED_AT_MOST = 5


def revert(ctx: Context, asked: PickRequest, *, three_way: bool = False) -> Commit | None:
    """Publish the opposite of a commit's change, as a new commit."""
    with ctx.catalog.read() as cx:
        position, head = resolve(ctx, cx, asked.commit), need_branch(ctx, cx, asked.on)
    described, before = undoable(ctx, position, asked.parent, head, three_way=three_way)
    says = (asked.message or undoing(described), asked.author or ctx.author, "revert", (described.hash,))
    picked = Picked(position, before, f"revert of {short(described)}", *says, How(rules=asked.rules))
    return pick(ctx, asked.on, picked)


def undoable(
    ctx: Context, commit: Position, parent: int | None, branch: BranchHead, *, three_way: bool
) -> tuple[Commit, Position]:
    """Describe a commit to undo, and its parent; refuse one that a branch lacks, or that later ones build on."""
    with ctx.catalog.read() as cx:
        described = commits.describe(cx, [commit])[0]
        what = f"revert of {short(described)}"
        before = parent_of(cx, commit, parent, what)
        if not is_ancestor(history.Lines(cx), commit, branch.position):
            hint = "only what a branch has can be undone there; see cherry_pick for the other way"
            raise InvalidRequest(f"{what}: branch {branch.name!r} does not have this commit", hint=hint)
    if not three_way:
        refuse_dependents(ctx, what, before, commit, branch.position)
    return described, before


def undoing(commit: Commit) -> str:
    """The message of a revert."""
    return f'revert "{commit.message}"'


def refuse_dependents(ctx: Context, what: str, before: Position, commit: Position, head: Position) -> None:
    """Refuse to undo a commit that later ones build on, and name them."""
    later = dependents(ctx, before, commit, head)
    if later:
        names = ", ".join(short(c) for c in later[:_NAMED_AT_MOST]) + (" …" if len(later) > _NAMED_AT_MOST else "")
        hint = "revert those first, or merge the change out with three_way=True"
        hashes = [c.hash for c in later]
        raise InvalidRequest(f"{what}: later commits depend on it: {names}", hint=hint, commits=hashes)


def dependents(ctx: Context, before: Position, commit: Position, head: Position) -> list[Commit]:
    """Find the commits up to a head that touched rows that a commit touched, or things that it made.

    What they undid again doesn't count: rows, columns and tables that are as the commit left them.
    """
    with ctx.catalog.read() as cx:
        lines = history.Lines(cx)
        own, later = find_path(lines, before, commit), find_path(lines, commit, head)
        said = [(entry, _later(ctx, cx, entry, later, head)) for entry in entries.entries_of(cx, commit)]
    found: dict[Position, None] = {}
    for entry, described in said:
        work = _ChangedTable(ctx, entry, own, later, commit, head)
        if "create" in entry.operations:
            found.update((p, None) for p, _ in described if entry.kind == "namespace" or not work.is_as_left())
        elif holds_rows(entry.kind) and not entry.dropped:
            found.update((p, None) for p in (*work.on_rows(), *work.on_columns(before, described)))
    with ctx.catalog.read() as cx:
        ordered = sorted(found, key=history.Lines(cx).generation, reverse=True)
        return commits.describe(cx, ordered)


def _later(
    ctx: Context, cx: Connection, entry: Entry, later: Sequence[Leg], head: Position
) -> list[tuple[Position, Entry]]:
    """What later commits say of a thing and, for a namespace, of its contents."""
    things = [entry.thing_id]
    if entry.kind == "namespace":
        inside = entries.list_names(cx, ctx.record.id, history.clock(cx, head), entry.thing_id)
        things += [named.thing_id for named in inside]
    return paths.entries_along(cx, later, things)


@dataclass(frozen=True)
class _ChangedTable:
    """A table that the commit changed, and what came after."""

    ctx: Context
    entry: Entry
    own: Sequence[Leg]
    later: Sequence[Leg]
    commit: Position
    head: Position

    @property
    def things(self) -> list[ThingId]:
        return [self.entry.thing_id]

    def _layers(self, legs: Sequence[Leg]) -> tuple[Layer, ...] | None:
        with self.ctx.catalog.read() as cx:
            return paths.layers_along(cx, legs, self.things, self.ctx.known_objects)

    def _makers(self) -> dict[ObjectId, Position]:
        with self.ctx.catalog.read() as cx:
            return paths.makers(cx, self.later, self.things)

    def on_rows(self) -> list[Position]:
        """The later commits that touched a row of the commit's which is no longer as it left it."""
        mine, after = self._layers(self.own), self._layers(self.later)
        if not mine or not after:
            return []
        makers = self._makers()
        state = self._state((*mine, *after))
        engine, access = self._engine(state), self.ctx.access(with_exceptions(state.layers))
        with reading(self.ctx, state):
            query = met_keys(Meeting(after, mine, rows=True), state, state.schema.columns, access, Sources())
            keys = engine.fetch(query) if query else None
            keys = self._differing(engine, keys) if keys is not None and keys.num_rows else keys
            if keys is None or not keys.num_rows:
                return []
            sources = Sources()
            labels = labelled_keys(state, dict(enumerate([x] for x in after)), access, sources, sources.add(Rows(keys)))
            found = [after[n] for n in engine.fetch(labels).column(0).to_pylist()]
        return list(dict.fromkeys(makers[x.object.id] for x in found if x.object.id in makers))

    def on_columns(self, before: Position, described: Sequence[tuple[Position, Entry]]) -> list[Position]:
        """The later commits that wrote to a column the commit made, or changed the schema after it."""
        entry = self._entry_at(before)
        schema, old = self._schema(self.entry), self._schema(entry) if entry else None
        if schema is None or old is None or schema.id == old.id:
            return []
        made = [c for c in schema if old.written_as(c) is None]
        ids = {i for c in made for i in c.ids}
        found = [] if self._has_same_columns() else [p for p, e in described if "alter column" in e.operations]
        makers = self._makers()
        touching = [x for x in self._layers(self.later) or () if ids & set(x.object.touched)]
        touching = [x for x in touching if x.object.kind == "update"]
        if not touching or not self._differs(touching, made):
            return found
        return [*found, *(makers[x.object.id] for x in touching if x.object.id in makers)]

    # --- what was undone since ---

    def is_as_left(self) -> bool:
        """Whether the table at the head is as the commit left it: its name, columns, attributes and rows."""
        now = self._entry_at(self.head)
        if now is None or now.dropped or now.attributes != self.entry.attributes or not self._has_same_columns():
            return False
        with self.ctx.catalog.read() as cx:
            places = [entries.place_of(cx, history.clock(cx, p), self.entry.thing_id) for p in self._ends]
        layers = self._layers(self.later)
        return places[0] == places[1] and layers is not None and not (layers and self._differs(layers))

    @property
    def _ends(self) -> tuple[Position, Position]:
        return self.commit, self.head

    def _has_same_columns(self) -> bool:
        now = self._entry_at(self.head)
        if now is None or now.dropped or now.attributes.get("checks") != self.entry.attributes.get("checks"):
            return False
        return have_equal_columns(self._schema(self.entry), self._schema(now))

    def _differs(self, layers: Sequence[Layer], columns: Sequence[Column] | None = None) -> bool:
        """Whether a row these layers touch is not as the commit left it; with `columns`, whether any was updated."""
        state = self._state(layers)
        engine, access = self._engine(state), self.ctx.access(with_exceptions(layers))
        with reading(self.ctx, state):
            keys = engine.fetch(touched_keys(Path(tuple(layers), None, state), access, Sources()))
            return bool(self._differing(engine, keys, columns).num_rows)

    def _differing(self, engine: Engine, keys: pa.Table, columns: Sequence[Column] | None = None) -> pa.Table:
        """The keys among these whose rows are not as the commit left them."""
        now = self._entry_at(self.head)
        if now is None or now.dropped:
            return keys
        then, head = (self._table_at(p) for p in self._ends)
        schema, sources = head.schema, Sources()
        if then.read_as(schema).schema.key_ids != schema.key_ids:
            return keys
        shown = [c for c in schema if columns is None or any(c.ids & x.ids for x in columns)]
        read = tuple(dict.fromkeys((*schema.key_columns, *shown)))
        layers = chained(then.layers, head.layers)
        access = self.ctx.access(with_exceptions(layers))
        with reading(self.ctx, replace(head, layers=layers)):
            old, new = (
                scan_as(self.ctx, ReadAs(s, schema, read), access, sources, Keys(Rows(keys), None))
                for s in (then, head)
            )
            compared = changes.compared(old, new, schema, read, sources)
            names = [str(k) for k in schema.key_ids]
            if columns is not None:
                return engine.fetch(changes.of_kind(compared, UPDATE, names))
            return engine.fetch(changes.picked_columns(changes.changed_only(compared), {n: n for n in names}))

    def _table_at(self, position: Position) -> TableState:
        with self.ctx.catalog.read() as cx:
            clock = history.clock(cx, position)
            return table_state(self.ctx, cx, clock, self.entry.thing_id, str(self.entry.thing_id))

    # --- reading ---

    def _engine(self, state: TableState) -> Engine:
        return pick_engine(self.ctx, state, f"what depends on a change of {state.name!r}")

    def _entry_at(self, position: Position) -> Entry | None:
        with self.ctx.catalog.read() as cx:
            return entries.find_entry(cx, history.clock(cx, position), self.entry.thing_id)

    def _schema(self, entry: Entry) -> Schema | None:
        if entry.schema_id is None:
            return None
        with self.ctx.catalog.read() as cx:
            return schema_of(self.ctx, cx, {entry.schema_id})[entry.schema_id]

    def _state(self, layers: Sequence[Layer]) -> TableState:
        schema = self._schema(self.entry)
        assert schema is not None
        with self.ctx.catalog.read() as cx:
            known = schemas_for(self.ctx, cx, layers)
        return TableState(self.entry.thing_id, str(self.entry.thing_id), schema, 0, tuple(layers), known)
