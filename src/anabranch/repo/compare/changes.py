"""changes: the feed of every change in a range of commits; rows are read on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.catalog import history, paths, touching, views
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.frames.relation import Relation
from anabranch.model.clock import Position
from anabranch.model.ids import SchemaId
from anabranch.model.layers import with_exceptions
from anabranch.model.objects import Layer, may_meet, size_of
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.engine import Work
from anabranch.plan.history import is_ancestor
from anabranch.plan.path import Leg, Stretch, find_path
from anabranch.proven.expression import Expression
from anabranch.queries import changes as feed
from anabranch.queries.path_fold import Path, touched_keys
from anabranch.queries.query import TURN, Query, Rows, Sources, first, union_all
from anabranch.queries.scan import Access, Keys, count_rows
from anabranch.repo.branches.refs import resolve
from anabranch.repo.compare.row_diff import RowChanges
from anabranch.repo.compare.table_past import Past, are_one, ids_of, open_past, refuse_taken_names, whole_path
from anabranch.repo.compare.two_states import Kin, ends_of
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schema_of
from anabranch.repo.read.conditions import keys_in, not_in_duck, reading, rendered_test, unproven, where_of
from anabranch.repo.read.look_up import key_row
from anabranch.repo.read.scan import scan
from anabranch.repo.read.table import Selection
from anabranch.settings import FEED_KEYS_LIMIT

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame

_DRAWN_AS = {"insert": "insert", "update_postimage": "insert", "delete": "delete", "update_preimage": "delete"}


@dataclass(frozen=True)
class Range:
    """Consecutive commits, and the table before the first of them."""

    commits: tuple[touching.CommitFacts, ...]
    """In the order of their numbers, which start at 1."""
    pieces: tuple[KeyedChanges | ComparedStates, ...]
    state: TableState
    """The table after the last."""


@dataclass(frozen=True)
class KeyedChanges:
    """Commits whose changes are identified by one key."""

    before: TableState | None
    after: TableState
    """The table after the last of them, under its own key, with the schemas of all objects."""
    layers: tuple[Layer, ...]
    numbers: Mapping[int, int]
    """For each turn, the number of its commit."""


@dataclass(frozen=True)
class ComparedStates:
    """A commit whose change must be found by comparing its two states.

    It changed the key, dropped or undropped the table, or put another in its place; or it dropped a column that
    is back at the end, or brought it back.
    """

    number: int
    before: TableState | None
    after: TableState | None


@dataclass(frozen=True)
class _CommitStep:
    """A commit in the range, with its layers; None if its states must be compared."""

    position: Position
    layers: tuple[Layer, ...] | None
    schema_id: SchemaId | None
    """The schema after; None if the table is gone."""
    before: Position | None = None
    """The parent the path comes from; None is the first."""


def changes(
    ctx: Context, table: str, since: str | None, to: str | None, selection: Selection, key: Any = None
) -> Changes:
    """Find the commits of a range that touched a table, and the objects that hold their changes."""
    with ctx.catalog.read() as cx:
        past = open_past(ctx, cx, table, to)
        shown = past.state.schema.select(selection.columns)
        refuse_taken_names(shown, feed.FEED_COLUMNS, "the feed of changes")
        start = _start(ctx, cx, past, since, to)
        found = _range(past, start)
    keys = None if key is None else key_row(found.state, key)
    return Changes(ctx, found, selection, keys)


def _start(ctx: Context, cx: Any, past: Past, since: str | None, to: str | None) -> Position | None:
    if since is None:
        return None
    start = resolve(ctx, cx, since)
    if not is_ancestor(history.Lines(cx), start, past.clock.head):
        message = f"there is no way of changes from {since!r} to {to or ctx.default_branch(cx)!r}: it is no ancestor"
        raise InvalidRequest(message, hint="compare them with repo.diff(…)", since=since)
    return start


def _range(past: Past, start: Position | None) -> Range:
    legs: tuple[Leg, ...] = (Stretch(whole_path(past.clock)),)
    if start is not None:
        legs = find_path(history.Lines(past.cx), start, past.clock.head)
    before = past.at(start) if start else None
    steps = _unless_hidden(past, before, [step for leg in legs for step in _steps(past, leg)])
    described = touching.commit_facts(past.cx, [s.position for s in steps])
    pieces = _pieces(past, before, steps)
    return Range(tuple(described[s.position] for s in steps), tuple(pieces), past.state)


def _steps(past: Past, leg: Leg) -> list[_CommitStep]:
    """The commits of a leg; entering a merge from a further parent is a single step."""
    known = past.ctx.known_objects
    if not isinstance(leg, Stretch):
        theirs = history.parent(past.cx, leg.merge, leg.number + 1)
        old, new = past.at(theirs) if theirs else None, past.at(leg.merge)
        described = old and new and are_one(old, new)
        ids = tuple(dict.fromkeys((*ids_of(new), *ids_of(old)))) if old and new else ()
        layers = paths.layers_along(past.cx, [leg], ids, known) if described else None
        return [_CommitStep(leg.merge, layers, new.schema.id if new else None, theirs)]
    found = past.touches(leg.ranges)
    views.learn(past.cx, [o for f in found for _, o in f.objects], known)
    layers_of = {f.position: tuple(Layer(n + 1, known[o]) for n, o in f.objects) for f in found}
    return [
        _CommitStep(f.position, None if f.replaced or f.dropped else layers_of[f.position], f.schema_id) for f in found
    ]


def _unless_hidden(past: Past, before: TableState | None, steps: Sequence[_CommitStep]) -> list[_CommitStep]:
    """Compare states for commits that drop a column which exists at the end, and for those that bring it back."""
    last, sights = past.state.schema, dict[SchemaId | None, frozenset[str]]({None: frozenset()})

    def sight(id_: SchemaId | None) -> frozenset[str]:
        if id_ is not None and id_ not in sights:
            schema = schema_of(past.ctx, past.cx, {id_})[id_]
            sights[id_] = frozenset(c.id for c in last if schema.written_as(c))
        return sights[id_]

    found: list[_CommitStep] = []
    shown = ever = sight(before.schema.id if before else None)
    for step in steps:
        now = sight(step.schema_id)
        moved = (shown - now) | ((now - shown) & ever)
        found.append(replace(step, layers=None) if moved else step)
        shown, ever = now, ever | now
    return found


def _pieces(past: Past, before: TableState | None, steps: Sequence[_CommitStep]) -> list[KeyedChanges | ComparedStates]:
    """Group consecutive commits whose changes share a key."""
    found: list[KeyedChanges | ComparedStates] = []
    pending: list[tuple[int, _CommitStep]] = []

    def finish(after: TableState | None) -> None:
        if pending and after is not None:
            found.append(_keyed_changes(past, before, after, pending))
        pending.clear()

    for number, step in enumerate(steps, 1):
        if step.layers is not None:
            pending.append((number, step))
            continue
        old = past.at(step.before) if step.before else past.before(step.position)
        new = past.at(step.position)
        finish(old)
        found.append(ComparedStates(number, old, new))
        before = new
    finish(past.state)
    return found


def _keyed_changes(
    past: Past, before: TableState | None, after: TableState, steps: Sequence[tuple[int, _CommitStep]]
) -> KeyedChanges:
    layers: list[Layer] = []
    numbers = {0: 0}
    for number, step in steps:
        top = max(numbers)
        for layer in step.layers or ():
            layers.append(replace(layer, turn=top + layer.turn))
            numbers[top + layer.turn] = number
    return KeyedChanges(before, past.knowing(after, layers), tuple(layers), numbers)


@dataclass(frozen=True)
class Changes(Relation):
    """The changes of a table in a range of commits, oldest first, as whole rows in Spark's change feed form."""

    _ctx: Context
    _range: Range
    _selection: Selection
    _key: pa.Table | None

    def __repr__(self) -> str:
        return f"Changes({self._range.state.name!r}, {len(self._range.commits)} commits)"

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import headings, rows_html
        from anabranch.frames.output import to_dicts
        from anabranch.model.html import ROWS, Line

        rows = to_dicts(self.head(ROWS + 1))
        lines = [Line(list(row.values()), _DRAWN_AS[row["_change_type"]]) for row in rows]
        return rows_html(self.name, headings(self.columns), lines, None if len(rows) > ROWS else len(rows))

    @property
    def name(self) -> str:
        """The table's name."""
        return self._range.state.name

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits that touched the table, oldest first, as `_commit_version` names them."""
        return tuple(c.id for c in self._range.commits)

    @property
    def columns(self) -> tuple[tuple[str, DataType], ...]:
        """The names and types of the columns of the feed."""
        described = (DataType("string"), DataType("string"), DataType("timestamp"))
        return (*((c.name, c.type) for c in self._shape.shown), *zip(feed.FEED_COLUMNS, described, strict=True))

    def arrow(self) -> pa.Table:
        """Read as an Arrow table, commit by commit, in the order of the key."""
        engine = self._engine("reading")
        with reading(self._ctx, self._everything):
            return engine.fetch(self._query(engine, ordered=True))

    def head(self, rows: int = 20) -> pa.Table:
        """Read the first rows as an Arrow table, in the order of `arrow`."""
        engine = self._engine("reading")
        with reading(self._ctx, self._everything):
            return engine.fetch(first(self._query(engine, ordered=True), rows))

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame, in any order."""
        engine = self._ctx.engines.spark()
        with reading(self._ctx, self._everything):
            return engine.frame(self._query(engine, ordered=False))

    def count(self) -> int:
        """Count the rows of the feed; an update has two."""
        engine = self._engine("counting")
        with reading(self._ctx, self._everything):
            return int(engine.fetch(count_rows(self._query(engine, ordered=False))).column(0)[0].as_py())

    # --- which engine, and what it reads ---

    @cached_property
    def _schema(self) -> Schema:
        """The schema at the end. A restore may have narrowed a type below what values on the way need."""
        schema = self._range.state.schema
        for state in (s for piece in self._range.pieces for s in (piece.before, piece.after) if s):
            schema = schema.holding(state.schema)
        return schema

    @cached_property
    def _where(self) -> Expression | None:
        return where_of(self._selection.where, self._selection.args)

    @cached_property
    def _shape(self) -> feed.Shape:
        shown = self._schema.select(self._selection.columns)
        more = self._where.columns(self._schema) if self._where else ()
        keys = self._schema.key_columns if self._key is not None else ()
        return feed.Shape(tuple(dict.fromkeys((*shown, *more, *keys))), tuple(shown), self._schema.key_columns)

    @cached_property
    def _everything(self) -> TableState:
        """Everything that may be read, so that an error can name the damaged file."""
        found: list[Layer] = []
        for piece in self._range.pieces:
            states = [s for s in (piece.before, piece.after if isinstance(piece, ComparedStates) else None) if s]
            found += [
                *(x for s in states for x in s.layers),
                *(piece.layers if isinstance(piece, KeyedChanges) else ()),
            ]
        return replace(self._range.state, layers=tuple(found))

    def _engine(self, what: str) -> Engine:
        name = self._range.state.name
        spark_reason = unproven([self._where] if self._where else [], self._schema, "")
        layers = [x for p in self._range.pieces if isinstance(p, KeyedChanges) for x in p.layers]
        states = [s for p in self._range.pieces if isinstance(p, ComparedStates) for s in (p.before, p.after) if s]
        size = size_of(layers) + sum(size_of(s.layers) for s in states)
        work = Work(size, unproven=spark_reason, not_in_duck=not_in_duck(self._shape.columns, name))
        return self._ctx.engines.pick(work, f"{what} the changes of {name!r}")

    @cached_property
    def _access(self) -> Access:
        return self._ctx.access(with_exceptions(self._everything.layers))

    # --- the query ---

    def _query(self, engine: Engine, *, ordered: bool) -> Query:
        sources, shape = Sources(), self._shape
        parts = [self._part(engine, piece, sources) for piece in self._range.pieces]
        rows = union_all(parts) if parts else shape.nothing()
        if self._key is not None:
            rows = feed.only_key(rows, self._schema.key_columns, sources.add(Rows(self._key)))
        if self._where is not None:
            read = self._where.columns(self._schema)
            rows = feed.only_where(rows, shape, read, rendered_test(self._where, engine, self._schema))
        commits = sources.add(Rows(self._numbered()))
        whole = feed.in_spark_words(rows, shape, commits, sources, ordered=ordered)
        query = Query(whole, sources.named, dict(self._where.args) if self._where else {})
        return query if self._selection.limit is None else first(query, self._selection.limit)

    def _numbered(self) -> pa.Table:
        found = self._range.commits
        return pa.table(
            {
                feed.NUMBER: pa.array(range(1, len(found) + 1), pa.int32()),
                feed.COMMIT_VERSION: pa.array([c.id for c in found], pa.string()),
                feed.COMMIT_TIMESTAMP: pa.array([c.finished_at for c in found], pa.timestamp("us", "UTC")),
            }
        )

    def _part(self, engine: Engine, piece: KeyedChanges | ComparedStates, sources: Sources) -> Any:
        if isinstance(piece, ComparedStates):
            return self._compared(engine, piece, sources)
        state = piece.after.read_as(self._schema)
        keys = state.schema.key_columns
        wanted = self._wanted(state)
        layers = [x for x in piece.layers if wanted is None or may_meet(x.object.key_range, wanted.key_range)]
        cells = tuple(c for c in state.schema.own(self._shape.columns) if c.id not in state.schema.key_ids)
        before = self._before(engine, piece, state, layers, wanted, sources)
        numbers = pa.table({TURN: list(piece.numbers), feed.NUMBER: list(piece.numbers.values())}, schema=_NUMBERS)
        part = feed.ChangePart(state, tuple(layers), numbers)
        limit = sources.add(wanted.source) if wanted else None
        found = feed.whole_changes(part, before, cells, self._access, sources, limit)
        return self._shape.of(found, keys)

    def _wanted(self, state: TableState) -> Keys | None:
        """The key asked for, if it is the key that identifies rows here."""
        if self._key is None or state.schema.key_ids != self._schema.key_ids:
            return None
        return keys_in(self._key, self._schema.key_columns)

    def _before(
        self,
        engine: Engine,
        piece: KeyedChanges,
        state: TableState,
        layers: Sequence[Layer],
        wanted: Keys | None,
        sources: Sources,
    ) -> Query | None:
        """The rows that changes act on, looked up once for all commits; None if there are only inserts."""
        acting = tuple(x for x in layers if x.object.kind != "rows")
        if piece.before is None or not acting:
            return None
        columns = tuple(dict.fromkeys((*state.schema.key_columns, *self._shape.columns)))
        if wanted is None and sum(x.object.row_count for x in acting) <= FEED_KEYS_LIMIT:
            found = engine.fetch(touched_keys(Path(acting, None, state), self._access, Sources()))
            wanted = keys_in(found, state.schema.key_columns)
        before = piece.before.read_as(state.schema)
        return scan(self._ctx, before, before.schema.own(columns), self._access, keys=wanted, sources=sources)

    def _compared(self, engine: Engine, piece: ComparedStates, sources: Sources) -> Any:
        """The difference between the states before and after a commit."""
        if piece.before is None and piece.after is None:
            return self._shape.nothing()
        old, new = ((s.read_as(self._schema) if s else None) for s in (piece.before, piece.after))
        ends = ends_of(piece.before if old else None, new or old)
        if new is None:
            ends = replace(ends, after=replace(ends.after, layers=(), row_count=0))
        kin: Kin = "same" if are_one(ends.before, ends.after) else "replaced"
        ends = replace(ends, kin=kin, under=self._schema)
        found = RowChanges(self._ctx, ends).compared_in_full(engine, sources)
        keys = ends.after.schema.key_columns if found.keyed else ()
        return self._shape.of(found.query.expression, keys, piece.number)


_NUMBERS = pa.schema([(TURN, pa.int32()), (feed.NUMBER, pa.int32())])
