"""Reading a table: row objects joined with the folded changes that came after them.

A row object has a turn. An update acts on rows of lower turns, cell by cell; a delete removes them. So inserted
rows need no folding: they are row objects of a higher turn. Files that no change can touch are read plain.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from anabranch.arrow.types import key_value
from anabranch.model.ids import ObjectId
from anabranch.model.layers import LayerIndex, as_layers
from anabranch.model.objects import KeyRange, Layer, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.queries.nested import last_of
from anabranch.queries.object_groups import GONE, INT, ObjectGroup, Overlay, physical, turn_of
from anabranch.queries.overlay_by_file import acting, can_tell
from anabranch.queries.overlay_fold import folded_in_memory
from anabranch.queries.query import (
    TURN,
    Files,
    Query,
    Rows,
    Source,
    Sources,
    aliased,
    all_of,
    cast_to,
    choose,
    col,
    everything,
    hinted,
    joined,
    null_of,
    number,
    same_key,
    select,
    subquery,
    table,
    union_all,
)

_COPIES_AT_MOST = 16


@dataclass(frozen=True)
class Access:
    """Where the objects of a table are: files by address, small objects as rows."""

    uris: Mapping[ObjectId, str]
    tables: Mapping[ObjectId, pa.Table]
    lay: LayNow | None = None
    """For changes that are better read before a query is planned that joins rows with them."""


FoldNow = Callable[[Callable[[], Query | pa.Table], Hashable], pa.Table]
"""Folds changes, by a query or in memory, or remembers what came of it; the second value tells it from others."""
LayNow = Callable[["Scan", Sequence[Layer], Sequence[Layer]], Source | None]
"""Makes a source of rows as changes leave them, given the objects of both; None if that is not worth it."""
HoldNow = Callable[[pa.Table, tuple[tuple[str, DataType], ...], Hashable], Source]
"""Makes a source of folded changes, with the types of their columns: rows in memory, or a file that Spark reads."""
CopyNow = Callable[[Mapping[ObjectId, pa.Table]], Mapping[ObjectId, str] | None]
"""Keeps small objects in files, too, and tells where they are; None where that can't be."""


@dataclass(frozen=True)
class Keys:
    """The keys that a look-up is for: a source with the key's columns, and their range."""

    source: Source
    key_range: KeyRange | None


def scan(
    state: TableState,
    columns: Sequence[Column],
    access: Access,
    *,
    keys: Keys | None = None,
    sources: Sources | None = None,
    broadcast: bool = False,
    fold: FoldNow | None = None,
    hold: HoldNow | None = None,
    copy: CopyNow | None = None,
    lay: LayNow | None = None,
) -> Query:
    """Read columns of a table under their ids; with `keys`, only those rows.

    With `fold`, the changes are folded beforehand, and the query only joins what comes of it. `hold` says where folded
    changes are kept for the engine, if not in memory, and `copy` does it for small objects of rows. `lay` does away
    with all of it where it can.
    """
    bound = sources or Sources()
    layers: Sequence[Layer] = state.layers if keys is None else near_layers(state, keys)
    if keys is not None and isinstance(keys.source, Rows):
        access = _only_keys(access, layers, state.schema.key_columns[0], keys.source.table)
        layers = [x for x in layers if x.object.id not in access.tables or access.tables[x.object.id].num_rows]
    wanted = bound.add(keys.source) if keys else None
    plan = Scan(state, tuple(columns), access, bound, wanted, broadcast, fold, hold, copy, lay)
    return Query(plan.build(layers), bound.named)


_KEYS_AT_MOST = 4096
"""More keys are compared with files as one range."""


def near_layers(state: TableState, keys: Keys) -> tuple[Layer, ...]:
    """The layers of a table that may hold one of some keys: few keys are looked for one by one."""
    layers = as_layers(state.layers)
    if not isinstance(keys.source, Rows) or not 1 < keys.source.table.num_rows <= _KEYS_AT_MOST:
        return layers.near(keys.key_range)
    first = state.schema.key_columns[0]
    values = pc.unique(keys.source.table.column(first.id)).to_pylist()
    found = [key_value(value, first.type) for value in values]
    return layers.near(keys.key_range, None if None in found else found)  # type: ignore[arg-type]


def scan_as(
    state: TableState,
    schema: Schema,
    columns: Sequence[Column],
    access: Access,
    sources: Sources,
    keys: Keys | None = None,
) -> Query:
    """Read a table under another schema; with `keys`, only rows that these keys of that schema tell."""
    shown = state.read_as(schema)
    columns = shown.schema.own(columns)
    if keys is None or shown.schema.key_ids == schema.key_ids:
        return scan(shown, columns, access, keys=keys, sources=sources)
    whole = scan(shown, columns, access, sources=sources)
    same = same_key([str(k) for k in schema.key_ids], "w", "k")
    semi = joined(table(sources.add(keys.source), "k"), same, "left semi")
    return whole.over(select([col(c.id, "w") for c in columns], subquery(whole.expression, "w"), join=semi))


def plain_files(state: TableState, columns: Sequence[Column], access: Access) -> Files | None:
    """The files of a table that nothing has touched since they were written, all under its own schema, if it is so."""
    wanted = {i for c in columns for i in c.ids}
    rows = [x.object for x in state.layers if x.object.kind == "rows"]
    acting = [x for x in state.layers if x.object.kind != "rows" and wanted & set(x.object.touched)]
    written = [state.schemas[i] for i in {o.schema_id for o in rows}]
    if not rows or acting or any(o.id in access.tables for o in rows) or not _all_have(written, columns):
        return None
    return Files(tuple(access.uris[o.id] for o in rows), tuple((str(c.id), c.type) for c in columns))


def _all_have(schemas: Sequence[Schema], columns: Sequence[Column]) -> bool:
    """Whether the columns were always there, with the types that they have now."""
    found = [(schema.written_as(c), c) for schema in schemas for c in columns]
    return all(was is not None and was.id == now.id and was.type == now.type for was, now in found)


def _only_keys(access: Access, layers: Sequence[Layer], column: Column, keys: pa.Table) -> Access:
    """Narrow small objects down to the keys of a look-up before an engine sees them: mostly nothing is left."""
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
    return Access(access.uris, tables, access.lay)


@dataclass(frozen=True)
class Scan:
    state: TableState
    columns: tuple[Column, ...]
    access: Access
    sources: Sources
    keys: str | None
    broadcast: bool
    fold_now: FoldNow | None = None
    hold_now: HoldNow | None = None
    copy_now: CopyNow | None = None
    lay_now: LayNow | None = None

    @property
    def key(self) -> tuple[Column, ...]:
        return self.state.schema.key_columns

    @property
    def key_ids(self) -> list[str]:
        return [str(c.id) for c in self.key]

    @property
    def wanted(self) -> Source | None:
        """The keys that a look-up is for."""
        return None if self.keys is None else self.sources.named[self.keys]

    def build(self, layers: Sequence[Layer]) -> exp.Select | exp.Union:
        plain, merged, deltas = self.sorted_out(layers)
        if merged and self.copy_now:  # Rows in memory need not be apart from others for Spark.
            merged += [x for x in plain if x.object.id in self.access.tables]
            plain = [x for x in plain if x.object.id not in self.access.tables]
        lay = self.lay_now or self.access.lay
        source = lay(self, merged, deltas) if merged and lay else None
        if source is not None:
            laid = select([col(c.id, "l") for c in self.columns], table(self.sources.add(source), "l"))
            return union_all([*self._plain(plain), laid])
        copies = self._copies([*plain, *merged])
        plan = self._with_files(copies) if copies else self
        parts = plan._plain(plain) + (plan._merge(merged, deltas) if merged else [])
        return union_all(parts) if parts else self._nothing()

    def _plain(self, layers: Sequence[Layer]) -> list[exp.Select]:
        """Rows that nothing acts on."""
        return [self.leaf(self.group(m, turned=False), self.columns, None) for m in self.alike(layers)]

    def _copies(self, rows: Sequence[Layer]) -> Mapping[ObjectId, str]:
        """Where small objects of rows lie in files for Spark: it joins one relation faster than a union of two."""
        tables = self.access.tables
        small = {x.object.id: tables[x.object.id] for x in rows if x.object.id in tables}
        if self.copy_now is None or not 0 < len(small) <= min(_COPIES_AT_MOST, len(rows) - 1):
            return {}
        strange = any(c.type.only_spark for x in rows for c in self.state.schemas[x.object.schema_id].stored)
        return {} if strange or not can_tell(rows, len(self.key)) else self.copy_now(small) or {}

    def _with_files(self, copies: Mapping[ObjectId, str]) -> Scan:
        left = {id_: rows for id_, rows in self.access.tables.items() if id_ not in copies}
        return replace(self, access=Access(ChainMap(dict(copies), self.access.uris), left, self.access.lay))  # type: ignore[arg-type]

    def sorted_out(self, layers: Sequence[Layer]) -> tuple[list[Layer], list[Layer], list[Layer]]:
        """Rows that nothing acts on, rows that changes may act on, and these changes."""
        wanted = {i for c in self.columns for i in c.ids}
        rows = [x for x in layers if x.object.kind == "rows"]
        deltas = [
            x
            for x in layers
            if x.object.kind == "delete" or (wanted & set(x.object.touched) and x.object.kind == "update")
        ]
        over = LayerIndex(deltas)
        hit = [any(d.turn > r.turn for d in over.near(r.object.key_range)) for r in rows]
        plain, merged = ([r for r, h in zip(rows, hit, strict=True) if h is wanted] for wanted in (False, True))
        under = LayerIndex(merged)
        return plain, merged, [d for d in deltas if any(d.turn > r.turn for r in under.near(d.object.key_range))]

    def touched_by(self, deltas: Sequence[Layer]) -> tuple[Column, ...]:
        """The columns wanted whose cells changes may replace."""
        touched = {c for d in deltas if d.object.kind == "update" for c in d.object.touched}
        return tuple(c for c in self.columns if touched & c.ids and c not in self.key)

    def apart(self) -> Scan:
        """The same plan for a query of its own."""
        sources = Sources()
        return replace(self, sources=sources, keys=sources.add(self.wanted) if self.wanted else None)

    def written_alike(self, o: StoredObject, columns: Sequence[Column]) -> bool:
        """Whether an object has columns as the table has them now."""
        return _all_have([self.state.schemas[o.schema_id]], columns)

    def _nothing(self) -> exp.Select:
        empty = select([aliased(null_of(c.type), c.id) for c in self.columns])
        return select([col(c.id) for c in self.columns], subquery(empty, "none"), where=exp.false())

    def _merge(self, rows: Sequence[Layer], deltas: Sequence[Layer]) -> list[exp.Select]:
        """Join rows with the changes that came after them."""
        cells = self.touched_by(deltas)
        if self.fold_now is None or any(c.type.only_spark for c in cells):
            return [self._joined(rows, Overlay(subquery(self._fold(deltas, cells), "d"), cells))]
        return self._overlaid(rows, deltas, cells)

    def _overlaid(self, rows: Sequence[Layer], deltas: Sequence[Layer], cells: tuple[Column, ...]) -> list[exp.Select]:
        """Join rows with changes that were folded before; files only with those that act on them, where it is known."""
        whole = self.folded(deltas, cells)
        files = [r for r in rows if r.object.id not in self.access.tables]
        act = acting(whole, files, self.key_ids, [GONE, *map(turn_of, cells)]) if files else None
        if act is None:
            return [self._joined(rows, self._held(whole, cells, deltas))]
        held = [r for r in rows if r.object.id in self.access.tables]
        parts = [self._joined(held, self._held(whole, cells, deltas))] if held else []
        return [*parts, self._joined(files, self._held(act, cells, (*deltas, *files), has_turns=False))]

    def _joined(self, rows: Sequence[Layer], overlay: Overlay) -> exp.Select:
        """Rows as the changes leave them."""
        read = tuple(dict.fromkeys((*self.key, *self.columns)))
        groups = [self.group(m, turned=overlay.has_turns) for m in self.alike(rows)]
        below = union_all([self.leaf(group, read, TURN if overlay.has_turns else None) for group in groups])
        picked = [overlay.cell(c) for c in self.columns]
        same = same_key(self.key_ids, "r", "d")
        join = joined(overlay.relation, same, "left")
        query = select(picked, subquery(below, "r"), join=join, where=overlay.stays())
        return hinted(query, "BROADCAST", exp.column("d")) if self.broadcast else query

    def folded(self, deltas: Sequence[Layer], cells: Sequence[Column]) -> pa.Table:
        """The folded changes as rows, which were folded before or are now."""
        assert self.fold_now is not None
        shape = tuple((str(c.id), str(c.type)) for c in (*self.key, *cells))
        return self.fold_now(
            lambda: self._folding(deltas, cells), (tuple((d.turn, d.object.id) for d in deltas), shape)
        )

    def _folding(self, deltas: Sequence[Layer], cells: Sequence[Column]) -> Query | pa.Table:
        held = self.access.tables
        if all(d.object.id in held for d in deltas):
            rows = self.folded_in_memory(deltas, cells, lambda d: held[d.object.id])
            if rows is not None:
                return rows
        apart = replace(self, sources=Sources(), fold_now=None)
        return Query(apart._fold(deltas, cells), apart.sources.named)

    def folded_in_memory(
        self, deltas: Sequence[Layer], cells: Sequence[Column], read: Callable[[Layer], pa.Table]
    ) -> pa.Table | None:
        """Changes as one row per key, without an engine; None if it takes one."""
        if not all(self.written_alike(d.object, (*self.key, *cells)) for d in deltas):
            return None
        return folded_in_memory(self.key_ids, deltas, cells, read)

    def _held(
        self, rows: pa.Table, cells: tuple[Column, ...], made_of: Sequence[Layer], has_turns: bool = True
    ) -> Overlay:
        """Folded changes to join with; `made_of` are the layers that they came of."""
        return Overlay(table(self.sources.add(self._held_source(rows, cells, made_of)), "d"), cells, has_turns)

    def _held_source(self, rows: pa.Table, cells: tuple[Column, ...], made_of: Sequence[Layer]) -> Source:
        if self.hold_now is None:
            return Rows(rows)
        types = {**{str(c.id): c.type for c in (*self.key, *cells)}, GONE: INT, **{turn_of(c): INT for c in cells}}
        columns = tuple((name, types[name]) for name in rows.column_names)
        return self.hold_now(rows, columns, (columns, tuple((x.turn, x.object.id) for x in made_of)))

    def _inline(self, rows: pa.Table, first: StoredObject, members: Sequence[Layer]) -> Source:
        """The rows of small objects, which may be many."""
        types = {**dict(physical(first, self.state.schemas[first.schema_id])), TURN: INT}
        strange = any(t.only_spark for t in types.values())
        if self.hold_now is None or first.kind != "rows" or self.keys is not None or strange:
            return Rows(rows)
        columns = tuple((name, types[name]) for name in rows.column_names)
        return self.hold_now(rows, columns, (columns, tuple((x.turn, x.object.id) for x in members)))

    def _fold(self, deltas: Sequence[Layer], cells: Sequence[Column]) -> exp.Select | exp.Union:
        """Fold changes to one row per key: the turn it went, and the last value and turn of each cell."""
        parts = union_all([self._delta(group, cells) for group in self._groups(deltas)])
        if len({d.turn for d in deltas}) == 1:
            return parts  # A commit changes a key once: there is nothing to fold.
        folded = [aliased(exp.Max(this=col(GONE)), GONE)]
        for c in cells:
            turn = turn_of(c)
            folded.append(aliased(last_of(c.type, col(c.id), col(turn)), c.id))
            folded.append(aliased(exp.Max(this=col(turn)), turn))
        keys = [col(k) for k in self.key_ids]
        if self.broadcast:  # Few enough for one task: Spark need not shuffle them to fold them.
            parts = hinted(select(everything(), subquery(parts, "p")), "COALESCE", number(1))
        whole = select([*keys, *folded], subquery(parts, "f"))
        whole.set("group", exp.Group(expressions=[col(k) for k in self.key_ids]))
        return whole

    def _delta(self, group: ObjectGroup, cells: Sequence[Column]) -> exp.Select:
        """The changes of one group of objects: who went, and which cells got which value."""
        turn = col(TURN, "o") if group.has_turns else number(group.turn)
        deletes = group.kind == "delete"
        picked = [aliased(group.value(c), c.id) for c in self.key]
        picked.append(aliased(cast_to(turn.copy() if deletes else exp.Null(), INT), GONE))
        for c in cells:
            if deletes or not group.touches(c):
                picked += [aliased(null_of(c.type), c.id), aliased(null_of(INT), turn_of(c))]
                continue
            for value, name in ((group.value(c), str(c.id)), (cast_to(turn.copy(), INT), turn_of(c))):
                picked.append(aliased(choose((group.changes(c), value), otherwise=exp.Null()), name))
        return self._limited(picked, group)

    def leaf(self, group: ObjectGroup, columns: Sequence[Column], turn: str | None) -> exp.Select:
        """The rows of one group of objects, under the schema that the table has now."""
        picked = [aliased(group.value(c), c.id) for c in columns]
        if turn:
            value = col(TURN, "o") if group.has_turns else number(group.turn)
            picked.append(aliased(cast_to(value, INT), turn))
        return self._limited(picked, group)

    def said(self, delta: Layer, cells: Sequence[Column]) -> Query:
        """What a change says of some columns, under the names that it has them by."""
        touched = [c for c in cells if delta.object.kind == "update" and not c.ids.isdisjoint(delta.object.touched)]
        names = [*self.key_ids, *(n for c in touched for n in (str(c.id), c.before))]
        plan = self.apart()
        group = plan.group([delta], turned=False)
        return Query(plan._limited([col(n, "o") for n in names], group), plan.sources.named)

    def _limited(self, picked: Sequence[exp.Expr], group: ObjectGroup) -> exp.Select:
        """Read a group of objects; in a look-up, only the keys that it is for."""
        source = table(self.sources.add(group.source), "o")
        if self.keys is None:
            return select(picked, source)
        same = all_of([exp.EQ(this=group.value(c), expression=col(c.id, "k")) for c in self.key])
        return select(picked, source, join=joined(table(self.keys, "k"), same, "left semi"))

    def _groups(self, layers: Sequence[Layer]) -> list[ObjectGroup]:
        return [self.group(members) for members in self.alike(layers)]

    def alike(self, layers: Sequence[Layer]) -> list[list[Layer]]:
        """Put together what one source can read: objects of one kind and schema; files also with the same columns."""
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
            held = [(self.access.tables[m.object.id], m.turn) for m in members]
            parts = [_with_turn(*each) for each in held] if turned else [rows for rows, _ in held]
            whole = pa.concat_tables(parts, promote_options="default")
            return ObjectGroup(
                first.kind, schema, touched, self._inline(whole, first, members), members[0].turn, turned
            )
        uris = tuple(self.access.uris[m.object.id] for m in members)
        turns = tuple(m.turn for m in members) if turned and len({m.turn for m in members}) > 1 else ()
        files = Files(uris, physical(first, schema), turns)
        return ObjectGroup(first.kind, schema, touched, files, members[0].turn, bool(turns))


def _with_turn(rows: pa.Table, turn: int) -> pa.Table:
    return rows.append_column(TURN, pa.repeat(pa.scalar(turn, pa.int32()), rows.num_rows))


def named(query: Query, columns: Sequence[Column], alias: str) -> exp.Subquery:
    """A scan with the columns under the names that users know."""
    picked = [aliased(col(c.id, "s"), c.name) for c in columns]
    return subquery(select(picked, subquery(query.expression, "s")), alias)


def select_rows(
    query: Query,
    columns: Sequence[Column],
    shown: Sequence[Column],
    alias: str,
    where: exp.Expr | None,
    limit: int | None,
    order: Sequence[Column] = (),
) -> Query:
    """Read the shown columns of the rows that a user's condition selects."""
    rows = select([col(c.name) for c in shown], named(query, columns, alias), where=where, limit=limit)
    if order:
        rows.set("order", exp.Order(expressions=[exp.Ordered(this=col(c.name)) for c in order]))
    return query.over(rows)


def typed_values(query: Query, columns: Sequence[Column], values: Mapping[str, exp.Expr], alias: str) -> Query:
    """Users' values over a scan, to ask an engine for their types."""
    picked = [aliased(value, name) for name, value in values.items()]
    return query.over(select(picked, named(query, columns, alias)))


def count_rows(query: Query) -> Query:
    """Count the rows of a query."""
    return query.over(select([aliased(exp.Count(this=exp.Star()), "n")], subquery(query.expression, "c")))
