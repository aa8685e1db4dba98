"""Reading a table: row objects joined with the folded changes that came after them.

A row object has a turn. An update acts on rows of lower turns, cell by cell; a delete removes them. So inserted
rows need no folding: they are row objects of a higher turn. Files that no change can touch are read as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from anabranch.arrow.types import key_value
from anabranch.model.ids import ObjectId
from anabranch.model.layers import as_layers
from anabranch.model.objects import KeyRange, Layer
from anabranch.model.schema import Column, column_types
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.queries import query as q
from anabranch.queries.nested import last_of
from anabranch.queries.object_groups import INT, ObjectGroup, Overlay, physical
from anabranch.queries.overlay_columns import GONE, turn_of
from anabranch.queries.query import TURN, Files, Query, Rows, Source, Sources
from anabranch.settings import KEYS_ONE_BY_ONE_LIMIT


@dataclass(frozen=True)
class Access:
    """Where the objects of a table are: files by address, small objects as rows."""

    uris: Mapping[ObjectId, str]
    tables: Mapping[ObjectId, pa.Table]
    together: Mapping[tuple[ObjectId, ...], Source] = field(default_factory=dict)
    """Small row objects that are already combined in one source, with their turns."""


@dataclass(frozen=True)
class Keys:
    """The keys that a look-up is for: a source with the key's columns, and their range."""

    source: Source
    key_range: KeyRange | None

    @property
    def row_count(self) -> int | None:
        """The number of keys; None if only an engine could tell."""
        return self.source.table.num_rows if isinstance(self.source, Rows) else None


@dataclass(frozen=True)
class ChangedRows:
    """Rows of objects, and the changes that an engine joins them with."""

    rows: Sequence[Layer]
    changes: Sequence[Layer]
    cells: tuple[Column, ...]
    """The wanted columns whose cells the changes may replace."""
    folded: Source | None = None
    """The changes, if they are folded already: one row per key."""
    has_turns: bool = True
    """Whether turns must be compared; False if all changes came after the rows."""


@dataclass(frozen=True)
class PreparedRead:
    """What a scan reads: rows that no change acts on, rows with changes applied, rows to join with changes."""

    plain: Sequence[Layer] = ()
    applied: Source | None = None
    joined: Sequence[ChangedRows] = ()


def near_layers(state: TableState, keys: Keys) -> Sequence[Layer]:
    """The layers of a table that may hold one of some keys; a few keys are looked up one by one."""
    layers = as_layers(state.layers)
    if not isinstance(keys.source, Rows) or not 1 < keys.source.table.num_rows <= KEYS_ONE_BY_ONE_LIMIT:
        return layers.near(keys.key_range)
    first = state.schema.key_columns[0]
    values = pc.unique(keys.source.table.column(first.id)).to_pylist()
    found = [key_value(value, first.type) for value in values]
    return layers.near(keys.key_range, None if None in found else found)  # type: ignore[arg-type]


def plain_files(state: TableState, columns: Sequence[Column], access: Access) -> Files | None:
    """The files of a table if nothing changed them since they were written, all under its present schema; else None."""
    wanted = {i for c in columns for i in c.ids}
    rows = [x.object for x in state.layers if x.object.kind == "rows"]
    acting = [x for x in state.layers if x.object.kind != "rows" and wanted & set(x.object.touched)]
    one_of_each = {o.schema_id: o for o in rows}.values()
    if not rows or acting or any(o.id in access.tables for o in rows):
        return None
    if not all(state.holds_as_now(o, columns) for o in one_of_each):
        return None
    return Files(tuple(access.uris[o.id] for o in rows), column_types(columns))


def _only_keys(access: Access, layers: Sequence[Layer], column: Column, keys: pa.Table) -> Access:
    """Filter small objects by the keys of a look-up before an engine sees them: usually nothing is left."""
    wanted = keys.column(column.id).combine_chunks()
    tables = {}
    for layer in layers:
        rows = access.tables.get(layer.object.id)
        if rows is not None:
            name = next((i for i in (column.id, *column.also) if i in rows.column_names), None)
            if name is None:  # Written under another id or key: the engine finds the keys in it.
                tables[layer.object.id] = rows
                continue
            tables[layer.object.id] = rows.filter(pc.is_in(rows.column(name).cast(wanted.type), wanted))
    return Access(access.uris, tables)


@dataclass(frozen=True)
class Scan:
    """A plan to read columns of a table under their ids; with `keys`, the name of a source, only those rows."""

    state: TableState
    columns: tuple[Column, ...]
    access: Access
    sources: Sources
    keys: str | None = None
    broadcast: bool = False
    """Whether changes are few enough for Spark to send them to every executor."""

    @classmethod
    def of(
        cls,
        state: TableState,
        columns: Sequence[Column],
        access: Access,
        keys: Keys | None = None,
        sources: Sources | None = None,
    ) -> Scan:
        """Plan to read a table; in a look-up, only layers that may hold one of the keys."""
        bound = Sources() if sources is None else sources
        if keys is None:
            return cls(state, tuple(columns), access, bound)
        layers = near_layers(state, keys)
        if isinstance(keys.source, Rows):
            access = _only_keys(access, layers, state.schema.key_columns[0], keys.source.table)
            layers = tuple(x for x in layers if x.object.id not in access.tables or access.tables[x.object.id].num_rows)
        return cls(replace(state, layers=layers), tuple(columns), access, bound, bound.add(keys.source))

    @property
    def key(self) -> tuple[Column, ...]:
        return self.state.schema.key_columns

    @property
    def key_ids(self) -> list[str]:
        return [str(c.id) for c in self.key]

    def query(self, prepared: PreparedRead) -> Query:
        """Read what was prepared."""
        return Query(self._build(prepared), self.sources.named)

    def _build(self, prepared: PreparedRead) -> exp.Select | exp.Union:
        parts = [self.leaf(self.group(m, turned=False), self.columns, None) for m in self.alike(prepared.plain)]
        if prepared.applied is not None:
            parts.append(
                q.select([q.col(c.id, "l") for c in self.columns], q.table(self.sources.add(prepared.applied), "l"))
            )
        parts += [self._joined(each) for each in prepared.joined]
        return q.union_all(parts) if parts else self._nothing()

    def apart(self) -> Scan:
        """The same plan for a separate query."""
        sources = Sources()
        keys = None if self.keys is None else sources.add(self.sources.named[self.keys])
        return replace(self, sources=sources, keys=keys)

    def _nothing(self) -> exp.Select:
        empty = q.select([q.aliased(q.null_of(c.type), c.id) for c in self.columns])
        return q.select([q.col(c.id) for c in self.columns], q.subquery(empty, "none"), where=exp.false())

    def _joined(self, changed: ChangedRows) -> exp.Select:
        """Join rows with the changes that came after them."""
        overlay = self._overlay(changed)
        read = tuple(dict.fromkeys((*self.key, *self.columns)))
        groups = [self.group(m, turned=overlay.has_turns) for m in self.alike(changed.rows)]
        below = q.union_all([self.leaf(group, read, TURN if overlay.has_turns else None) for group in groups])
        picked = [overlay.cell(c) for c in self.columns]
        join = q.joined(overlay.relation, q.same_key(self.key_ids, "r", "d"), "left")
        query = q.select(picked, q.subquery(below, "r"), join=join, where=overlay.stays())
        return q.hinted(query, "BROADCAST", exp.column("d")) if self.broadcast else query

    def _overlay(self, changed: ChangedRows) -> Overlay:
        if changed.folded is None:
            return Overlay(q.subquery(self._fold(changed.changes, changed.cells), "d"), changed.cells)
        return Overlay(q.table(self.sources.add(changed.folded), "d"), changed.cells, changed.has_turns)

    def folding(self, changes: Sequence[Layer], cells: Sequence[Column]) -> Query:
        """A separate query that folds changes."""
        apart = self.apart()
        return Query(apart._fold(changes, cells), apart.sources.named)

    def folded_types(self, cells: Sequence[Column]) -> dict[str, DataType]:
        """The columns of folded changes."""
        return {**{str(c.id): c.type for c in (*self.key, *cells)}, GONE: INT, **{turn_of(c): INT for c in cells}}

    def _fold(self, deltas: Sequence[Layer], cells: Sequence[Column]) -> exp.Select | exp.Union:
        """Fold changes to one row per key: the turn of its delete, and the last value and turn of each cell."""
        parts = q.union_all([self._delta(group, cells) for group in self._groups(deltas)])
        if len({d.turn for d in deltas}) == 1:
            return parts  # A commit changes a key once: nothing to fold.
        folded = [q.aliased(exp.Max(this=q.col(GONE)), GONE)]
        for c in cells:
            turn = turn_of(c)
            folded.append(q.aliased(last_of(c.type, q.col(c.id), q.col(turn)), c.id))
            folded.append(q.aliased(exp.Max(this=q.col(turn)), turn))
        keys = [q.col(k) for k in self.key_ids]
        if self.broadcast:  # Few enough for one task: Spark need not shuffle them to fold them.
            parts = q.hinted(q.select(q.everything(), q.subquery(parts, "p")), "COALESCE", q.number(1))
        whole = q.select([*keys, *folded], q.subquery(parts, "f"))
        whole.set("group", exp.Group(expressions=[q.col(k) for k in self.key_ids]))
        return whole

    def _delta(self, group: ObjectGroup, cells: Sequence[Column]) -> exp.Select:
        """The changes of one group of objects: which keys were deleted, and which cells got which value."""
        turn = q.col(TURN, "o") if group.has_turns else q.number(group.turn)
        deletes = group.kind == "delete"
        picked = [q.aliased(group.value(c), c.id) for c in self.key]
        picked.append(q.aliased(q.cast_to(turn.copy() if deletes else exp.Null(), INT), GONE))
        for c in cells:
            if deletes or not group.touches(c):
                picked += [q.aliased(q.null_of(c.type), c.id), q.aliased(q.null_of(INT), turn_of(c))]
                continue
            for value, name in ((group.value(c), str(c.id)), (q.cast_to(turn.copy(), INT), turn_of(c))):
                picked.append(q.aliased(q.choose((group.changes(c), value), otherwise=exp.Null()), name))
        return self._limited(picked, group)

    def leaf(self, group: ObjectGroup, columns: Sequence[Column], turn: str | None) -> exp.Select:
        """The rows of one group of objects, under the table's present schema."""
        picked = [q.aliased(group.value(c), c.id) for c in columns]
        if turn:
            value = q.col(TURN, "o") if group.has_turns else q.number(group.turn)
            picked.append(q.aliased(q.cast_to(value, INT), turn))
        return self._limited(picked, group)

    def said(self, delta: Layer, cells: Sequence[Column]) -> Query:
        """The content of a change for some columns, under its own names."""
        touched = [c for c in cells if delta.object.kind == "update" and not c.ids.isdisjoint(delta.object.touched)]
        names = [*self.key_ids, *(n for c in touched for n in (str(c.id), c.before))]
        plan = self.apart()
        group = plan.group([delta], turned=False)
        return Query(plan._limited([q.col(n, "o") for n in names], group), plan.sources.named)

    def _limited(self, picked: Sequence[exp.Expr], group: ObjectGroup) -> exp.Select:
        """Read a group of objects; in a look-up, only the keys that it is for."""
        source = q.table(self.sources.add(group.source), "o")
        if self.keys is None:
            return q.select(picked, source)
        same = q.all_of([exp.EQ(this=group.value(c), expression=q.col(c.id, "k")) for c in self.key])
        return q.select(picked, source, join=q.joined(q.table(self.keys, "k"), same, "left semi"))

    def _groups(self, layers: Sequence[Layer]) -> list[ObjectGroup]:
        return [self.group(members) for members in self.alike(layers)]

    def alike(self, layers: Sequence[Layer]) -> list[list[Layer]]:
        """Group layers that one source can read: objects of one kind and schema; for files, also the same columns."""
        grouped: dict[tuple[object, ...], list[Layer]] = {}
        for layer in layers:
            o = layer.object
            inline = o.id in self.access.tables
            same_columns = () if inline else (o.touched,)
            grouped.setdefault((inline, o.kind, o.schema_id, *same_columns), []).append(layer)
        return list(grouped.values())

    def group(self, members: list[Layer], turned: bool = True) -> ObjectGroup:
        first = members[0].object
        schema = self.state.schemas[first.schema_id]
        touched = frozenset(c for m in members for c in m.object.touched)
        if first.id in self.access.tables:
            return ObjectGroup(first.kind, schema, touched, self._together(members, turned), members[0].turn, turned)
        uris = tuple(self.access.uris[m.object.id] for m in members)
        turns = tuple(m.turn for m in members) if turned and len({m.turn for m in members}) > 1 else ()
        files = Files(uris, physical(first, schema), turns)
        return ObjectGroup(first.kind, schema, touched, files, members[0].turn, bool(turns))

    def _together(self, members: Sequence[Layer], turned: bool) -> Source:
        known = self.access.together.get(tuple(m.object.id for m in members))
        return self.rows_of(members, turned) if known is None else known

    def rows_of(self, members: Sequence[Layer], turned: bool) -> Rows:
        """The rows of small objects of one kind and schema, with their turns if wanted."""
        held = [(self.access.tables[m.object.id], m.turn) for m in members]
        parts = [_with_turn(*each) for each in held] if turned else [rows for rows, _ in held]
        return Rows(pa.concat_tables(parts, promote_options="default"))


def _with_turn(rows: pa.Table, turn: int) -> pa.Table:
    return rows.append_column(TURN, pa.repeat(pa.scalar(turn, pa.int32()), rows.num_rows))


def named(query: Query, columns: Sequence[Column], alias: str) -> exp.Subquery:
    """A scan with the columns under the names that users know."""
    picked = [q.aliased(q.col(c.id, "s"), c.name) for c in columns]
    return q.subquery(q.select(picked, q.subquery(query.expression, "s")), alias)


def select_rows(
    query: Query, rows: exp.Subquery, shown: Sequence[Column], where: exp.Expr | None, limit: int | None
) -> Query:
    """The shown columns of the rows that a condition selects, under users' names."""
    return query.over(q.select([q.col(c.name) for c in shown], rows, where=where, limit=limit))


def ordered_by(query: Query, columns: Sequence[Column]) -> Query:
    """The rows of a query in the order of some of its columns."""
    if columns:
        query.expression.set("order", exp.Order(expressions=[exp.Ordered(this=q.col(c.name)) for c in columns]))
    return query


def typed_values(query: Query, columns: Sequence[Column], values: Mapping[str, exp.Expr], alias: str) -> Query:
    """Users' values over a scan, to ask an engine for their types."""
    picked = [q.aliased(value, name) for name, value in values.items()]
    return query.over(q.select(picked, named(query, columns, alias)))


def count_rows(query: Query) -> Query:
    """Count the rows of a query."""
    return query.over(q.select([q.aliased(exp.Count(this=exp.Star()), "n")], q.subquery(query.expression, "c")))
