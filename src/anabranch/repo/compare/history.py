"""history: every commit that touched a table or one of its rows, newest first, over all parents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from anabranch.catalog import commits, entries, history, touching, views
from anabranch.catalog.history import LogFilter
from anabranch.catalog.store import Connection
from anabranch.catalog.touching import Touch
from anabranch.model.clock import Position
from anabranch.model.commits import Commit
from anabranch.model.equality import are_equal
from anabranch.model.ids import ThingId
from anabranch.model.listings import Listing
from anabranch.model.objects import Layer, StoredObject, may_meet
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.plan.merge.pairing import paired_by_name
from anabranch.repo.branches.log import things_named
from anabranch.repo.branches.refs import resolve
from anabranch.repo.branches.walk import Walk
from anabranch.repo.compare.commit_changes import entry_steps, exact_counts
from anabranch.repo.compare.table_past import Past, are_one, open_past
from anabranch.repo.context.arguments import check_limit, check_text
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schema_of
from anabranch.repo.read.conditions import keys_in, pick_engine, reading

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.queries.query import Query

_PAGE = 64
_COMMIT_SHOWN = ("commit.id", "commit.author", "commit.finished_at", "commit.message")
_TABLE_SHOWN = (*_COMMIT_SHOWN, "operations", "inserted", "updated", "deleted")
_ROW_SHOWN = (*_COMMIT_SHOWN, "change", "cells_before", "cells_after")
Row = dict[str, Any]


@dataclass(frozen=True)
class RowHistoryEntry:
    """What one commit did to a row, under the column names of that commit."""

    commit: Commit
    change: Literal["insert", "update", "delete"]
    before: Row | None
    after: Row | None
    columns: tuple[str, ...]
    """The columns that an update changed."""

    @property
    def cells_before(self) -> Row | None:
        """What the commit changed or deleted: of an update the cells that differ, else the whole row."""
        return self._changed(self.before)

    @property
    def cells_after(self) -> Row | None:
        """What the commit made of it: of an update the cells that differ, else the whole row."""
        return self._changed(self.after)

    def _changed(self, row: Row | None) -> Row | None:
        return {name: row.get(name) for name in self.columns} if row and self.change == "update" else row


@dataclass(frozen=True)
class TableHistoryEntry:
    """What one commit did to a table."""

    commit: Commit
    operations: tuple[str, ...]
    inserted: int
    updated: int
    deleted: int


def table_history(
    ctx: Context, table: str, author: str | None, limit: int | None, at: str | None
) -> list[TableHistoryEntry]:
    """List the commits that touched a table, from what the catalogue knows.

    A merge is listed only if it decided conflicting rows, and counts only those; the others count where they were made.
    """
    check_limit(limit)
    check_text(author or "", "author=")
    with ctx.catalog.read() as cx:
        start = resolve(ctx, cx, at)
        things = _with_united(cx, start, things_named(ctx, cx, start, table))
        walked = Walk([start], LogFilter(things, author), _PAGE).positions(cx)
        found = list(islice(_table_entries(ctx, cx, walked, things), limit))
    return Listing((entry if touch is None else _recounted(ctx, entry, touch) for entry, touch in found), _TABLE_SHOWN)


def _recounted(ctx: Context, entry: TableHistoryEntry, touch: Touch) -> TableHistoryEntry:
    """The entry of a commit with several steps, with each row counted once."""
    steps = entry_steps(ctx, touch.position, touch.thing_id)
    counts = exact_counts(ctx, steps) if steps is not None else None
    if counts is None:
        return entry
    return replace(entry, inserted=counts.inserted, updated=counts.updated, deleted=counts.deleted)


def _with_united(cx: Connection, at: Position, things: Sequence[ThingId]) -> tuple[ThingId, ...]:
    described = entries.find_entries(cx, history.clock(cx, at), things)
    united = [ThingId(i) for e in described.values() for i in e.attributes.get("united", ())]
    return tuple(dict.fromkeys((*things, *united)))


def _table_entries(
    ctx: Context, cx: Connection, found: Iterator[Position], things: Sequence[ThingId]
) -> Iterator[tuple[TableHistoryEntry, Touch | None]]:
    """Yield the entries; with the touch of a commit of its own that has several steps."""
    while page := list(islice(found, _PAGE)):
        for touch in touching.touches_at(cx, page, things):
            is_merge = touching.is_merge(cx, touch.position)
            objects = _own_objects(ctx, cx, touch, things, is_merge=is_merge)
            if objects is None:
                continue
            several = not is_merge and len({step for step, _ in touch.objects}) > 1
            counts = [0 if touch.replaced else _rows(objects, kind) for kind in ("rows", "update", "delete")]
            commit = commits.describe(cx, [touch.position])[0]
            yield TableHistoryEntry(commit, touch.operations, *counts), touch if several else None


def _own_objects(
    ctx: Context, cx: Connection, touch: Touch, things: Sequence[ThingId], *, is_merge: bool
) -> Sequence[StoredObject] | None:
    """The objects whose rows count as a commit's own; None for a merge that decided nothing."""
    views.learn(cx, [o for _, o in touch.objects], ctx.known_objects)
    if is_merge:
        return _decided(ctx, cx, touch, things) or None
    return [ctx.known_objects[o] for _, o in touch.objects]


def _rows(objects: Sequence[StoredObject], kind: str) -> int:
    return sum(o.row_count for o in objects if o.kind == kind)


def _decided(ctx: Context, cx: Connection, touch: Touch, things: Sequence[ThingId]) -> list[StoredObject]:
    """The objects with what a merge decided: from its last step if rows met, and linked nowhere else."""
    described = touching.references(cx, touch.position, things)
    met = any(r.exceptions for r in described)
    if touch.replaced or not touch.objects or (not met and all(r.by_changes for r in described)):
        return []
    last = max(step for step, _ in touch.objects)
    linked = touching.links(cx, [o for _, o in touch.objects])
    own = [(step, o) for step, o in touch.objects if len(linked[o]) == 1]
    return [ctx.known_objects[o] for step, o in own if step == last or not met]


def row_history(
    ctx: Context, table: str, key: Any, author: str | None, limit: int | None, at: str | None
) -> list[RowHistoryEntry]:
    """List the commits that touched one row, reading only objects whose key range holds the key."""
    from anabranch.repo.read.look_up import key_row

    check_limit(limit)
    check_text(author or "", "author=")
    with ctx.catalog.read() as cx:
        past = open_past(ctx, cx, table, at)
    followed = _Row(past)
    followed.know(past.state.schema, key_row(past.state, key))
    return Listing(islice(followed.entries(author), limit), _ROW_SHOWN)


@dataclass(frozen=True)
class _Version:
    """A row's key, under one key of the table."""

    schema: Schema
    key: pa.Table


@dataclass(frozen=True)
class _TouchingCommit:
    """A commit, and the table before it, at it, and at its further parents; None where the table does not exist."""

    commit: Commit
    before: TableState | None
    after: TableState | None
    further_parents: tuple[TableState | None, ...]


@dataclass
class _Row:
    """A row that is followed into the past, even to where the table had another key.

    What is committed never changes, so catalogue reads are short: none is open while an engine runs.
    """

    past: Past
    """The table at the end. Reading more of its past takes a connection (`_reading`)."""
    versions: dict[tuple[str, ...], _Version] = field(default_factory=dict)

    def know(self, schema: Schema, key: pa.Table) -> None:
        self.versions.setdefault(self._name(schema), _Version(schema, key))

    def entries(self, author: str | None) -> Iterator[RowHistoryEntry]:
        for page in self._pages():
            for touch in self._holding(page):
                step = self._step(touch, author)
                described = self._entry_of(step) if step is not None else None
                if described is not None:
                    yield described

    @contextmanager
    def _reading(self) -> Iterator[Past]:
        with self.past.ctx.catalog.read() as cx:
            yield replace(self.past, cx=cx)

    def _pages(self) -> Iterator[list[Touch]]:
        """The commits that touched the table. A page ends where the key changed, and the row is followed across."""
        found = Walk([self.past.clock.head], LogFilter(self.past.ids), _PAGE)
        while (touches := self._next_touches(found)) is not None:
            page: list[Touch] = []
            for touch in touches:
                page.append(touch)
                if touch.replaced:
                    self._follow(touch)
                    yield page
                    page = []
            yield page

    def _next_touches(self, found: Walk) -> list[Touch] | None:
        with self._reading() as past:
            positions = found.take(past.cx, _PAGE)
            return past.touches_at(positions) if positions else None

    def _name(self, schema: Schema) -> tuple[str, ...]:
        """Identify a key of the table: its columns, by the ids they have at the end."""
        last = self.past.state.schema
        return tuple(str((last.written_as(c) or c).id) for c in schema.key_columns)

    # --- which commits hold the key ---

    def _holding(self, page: Sequence[Touch]) -> list[Touch]:
        """The commits whose change may hold the row, judging by their objects; drops and new versions always may."""
        ctx = self.past.ctx
        with ctx.catalog.read() as cx:
            views.learn(cx, [o for touch in page for _, o in touch.objects], ctx.known_objects)
            objects = {o: ctx.known_objects[o] for touch in page for _, o in touch.objects}
            schemas = schema_of(ctx, cx, {o.schema_id for o in objects.values()})
        found: set[int] = set()
        for name, version in self.versions.items():
            layers = [
                Layer(n, objects[o])
                for n, touch in enumerate(page)
                for _, o in touch.objects
                if self._name(schemas[objects[o].schema_id]) == name
            ]
            found |= self._hits(version, layers, schemas)
        return [touch for n, touch in enumerate(page) if n in found or touch.dropped or touch.replaced]

    def _hits(self, version: _Version, layers: Sequence[Layer], schemas: Mapping[str, Schema]) -> set[int]:
        """The turns of the layers that hold the row."""
        from anabranch.objects.parquet import table_range
        from anabranch.queries.path_fold import turns_holding
        from anabranch.queries.query import Rows, Sources

        wanted = table_range(version.key, version.schema.key_columns)
        near = tuple(x for x in layers if may_meet(x.object.key_range, wanted))
        if not near:
            return set()
        state = TableState(self.past.state.id, self.past.state.name, version.schema, 0, near, {**schemas})
        sources = Sources()
        query = turns_holding(state, near, self.past.ctx.access(near), sources, sources.add(Rows(version.key)))
        return set(self._fetch(state, query).column(0).to_pylist())

    def _fetch(self, state: TableState, query: Query) -> pa.Table:
        """Run a query over the layers of a state."""
        engine = pick_engine(self.past.ctx, state, f"the history of a row of {state.name!r}")
        with reading(self.past.ctx, state):
            return engine.fetch(query)

    # --- what they did to it ---

    def _step(self, touch: Touch, author: str | None) -> _TouchingCommit | None:
        """Read a commit and the table around it; None if someone else made it."""
        with self._reading() as past:
            commit = commits.describe(past.cx, [touch.position])[0]
            if author not in (None, commit.author):
                return None
            further = [past.at(parent) for parent in history.further_parents(past.cx, touch.position)]
            return _TouchingCommit(commit, past.before(touch.position), past.at(touch.position), tuple(further))

    def _entry_of(self, step: _TouchingCommit) -> RowHistoryEntry | None:
        after_state, before_state = step.after, step.before
        there = after_state or before_state
        if there is None:
            return None
        schema = _compared_under(before_state, there)
        after, before = self._row(after_state, schema), self._row(before_state, schema)
        if after is None and before is None:
            return None
        differ = _differing(schema, before, after)
        for parent in step.further_parents:
            # A merge does not get credit for what a parent did.
            other = self._row(parent, schema)
            differ = [i for i in differ if i in _differing(schema, other, after)]
        if not differ:
            return None
        had = before_state.schema if before_state else schema
        names = {str(c.id): c.name for c in schema}
        shown = {str(c.id): c.name for c in schema if had.written_as(c)}
        is_update = before is not None and after is not None
        return RowHistoryEntry(
            step.commit,
            "update" if is_update else "insert" if before is None else "delete",
            _named(before, shown),
            _named(after, names),
            tuple(names[i] for i in differ if i in names) if is_update else (),
        )

    def _row(self, state: TableState | None, schema: Schema) -> Row | None:
        """The row at a commit, its values by column id."""
        version = self.versions.get(self._name(state.schema)) if state else None
        if state is None or version is None:
            return None
        from anabranch.frames.output import to_dicts
        from anabranch.queries.scan import near_layers
        from anabranch.repo.read.scan import scan

        shown = state.read_as(schema)
        keys = _keys_for(shown, version)
        if keys is None:
            return None
        near = replace(shown, layers=near_layers(shown, keys))
        query = scan(self.past.ctx, near, near.schema.own(schema.columns), self.past.ctx.access(near.layers), keys=keys)
        found = to_dicts(self._fetch(near, query))
        return found[0] if found else None

    # --- where the table had another key ---

    def _follow(self, touch: Touch) -> None:
        """Find the row by its new key in the state before, to follow it under its old key from there."""
        with self._reading() as past:
            after, before = past.at(touch.position), past.before(touch.position)
        version = self.versions.get(self._name(after.schema)) if after else None
        if after is None or before is None or version is None or self._name(before.schema) in self.versions:
            return
        if not are_one(before, after):
            return  # Another table was in its place: its rows were not these.
        from anabranch.queries.query import Sources
        from anabranch.queries.writes import at_keys, picked_columns
        from anabranch.repo.read.scan import scan

        keys = _keys_for(after, version)
        if keys is None:
            return
        shown, sources = before.read_as(after.schema), Sources()
        own = shown.schema.key_columns
        columns = tuple(dict.fromkeys((*own, *after.schema.key_columns)))
        query = scan(self.past.ctx, shown, columns, self.past.ctx.access(shown.layers), sources=sources)
        query = at_keys(query, after.schema, sources.add(keys.source))
        names = {str(c.id): str(c.id) for c in own}
        found = self._fetch(shown, picked_columns(query, names))
        if found.num_rows == 1:
            self.know(shown.schema, found)


def _compared_under(before: TableState | None, after: TableState) -> Schema:
    """The schema to compare a row under: the later one, with types wide enough for earlier values."""
    if before is None:
        return after.schema
    schema = after.schema if are_one(before, after) else paired_by_name(before.schema, after.schema)
    return schema.holding(before.schema)


def _keys_for(state: TableState, version: _Version) -> Any:
    """A row's key in the types of a state; None if they cannot hold it."""
    import pyarrow as pa

    from anabranch.arrow.types import arrow_type

    columns = state.schema.key_columns
    try:
        values = [version.key.column(n).cast(arrow_type(c.type)) for n, c in enumerate(columns)]
    except pa.ArrowInvalid:
        return None
    rows = pa.table({str(c.id): v for c, v in zip(columns, values, strict=True)})
    return keys_in(rows, columns)


def _differing(schema: Schema, before: Row | None, after: Row | None) -> list[str]:
    """The columns in which a row differs; all of them if only one side has it."""
    if before is None or after is None:
        return [] if before is after else [str(c.id) for c in schema]
    return [str(c.id) for c in schema if not are_equal(before[c.id], after[c.id])]


def _named(row: Row | None, names: Mapping[str, str]) -> Row | None:
    return None if row is None else {name: row[i] for i, name in names.items()}
