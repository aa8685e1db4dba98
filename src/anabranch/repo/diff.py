"""diff: what differs between two commits, table by table; rows are looked at only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from anabranch.catalog import entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Clock, Position
from anabranch.model.content import Entry
from anabranch.model.ids import ThingId
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType, can_widen
from anabranch.plan.history import merge_bases
from anabranch.plan.path import Leg, find_path
from anabranch.plan.schema_diff import SchemaChange, attribute_changes, schema_changes
from anabranch.repo.context import Context
from anabranch.repo.ends import Ends, ends_of
from anabranch.repo.refs import resolve
from anabranch.repo.state import find_table, schema_of, table_state

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.repo.row_changes import RowChanges

Word = Literal["added", "dropped", "changed"]


@dataclass(frozen=True)
class Sides:
    """Two commits and an ancestor that they have in common."""

    before: Clock
    after: Clock
    base: Position


def diff(ctx: Context, before: str | None, after: str | None = None, table: str | None = None) -> Diff:
    """Compare two refs; `a..b` and `a...b` may be given as one text, the second meaning b since their base."""
    with ctx.catalog.read() as cx:
        sides = _sides(ctx, cx, before, after)
        things, _ = touched_between(cx, sides.before, sides.after)
        old, new = (_shown(cx, at, things) for at in (sides.before, sides.after))
        spaces = _namespaces(old, new)
        if table is not None:
            things = _named(ctx, cx, sides, table)
        elif spaces:
            things = _below(cx, ctx, sides) | things
        if table is not None or spaces:
            old, new = (_shown(cx, at, things) for at in (sides.before, sides.after))
        found = _tables(ctx, cx, sides, _of_kind(old, "table"), _of_kind(new, "table"))
    return Diff(tuple(sorted(found, key=lambda t: t.name)), spaces, lambda name: diff(ctx, before, after, name))


def _sides(ctx: Context, cx: Connection, before: str | None, after: str | None) -> Sides:
    since_base = False
    if before is not None and ".." in before:
        if after is not None:
            raise InvalidRequest(f"diff got a range, {before!r}, and a second ref", hint="give one or the other")
        since_base = "..." in before
        one, _, other = before.partition("..." if since_base else "..")
        before, after = one or None, other or None
    ends = [resolve(ctx, cx, ref) for ref in (before, after)]
    base = merge_bases(history.Lines(cx), ends[0], ends[1])[0]  # Any common ancestor tells the same.
    first = base if since_base else ends[0]
    return Sides(history.clock(cx, first), history.clock(cx, ends[1]), base)


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
    """A thing at one commit, if it is there."""

    name: str
    entry: Entry


def _shown(cx: Connection, at: Clock, things: set[str]) -> dict[ThingId, _Shown]:
    found = entries.find_entries(cx, at, [ThingId(x) for x in sorted(things)])
    there = {}
    for thing, entry in found.items():
        if not entry.dropped and entries.place_of(cx, at, thing):
            there[thing] = _Shown(entries.full_name(cx, at, thing) or thing, entry)
    return there


def _of_kind(shown: Mapping[ThingId, _Shown], kind: str) -> dict[ThingId, _Shown]:
    return {thing: s for thing, s in shown.items() if s.entry.kind == kind}


def _tables(
    ctx: Context, cx: Connection, sides: Sides, old: Mapping[ThingId, _Shown], new: Mapping[ThingId, _Shown]
) -> list[TableDiff]:
    lines = history.Lines(cx)
    legs = tuple(find_path(lines, sides.base, at.head) for at in (sides.before, sides.after))
    same = _united(old, new)
    found = []
    for thing in dict.fromkeys((*old, *(same.get(t, t) for t in new))):
        one = old.get(thing)
        other_id = next((t for t in new if same.get(t, t) == thing), thing)
        made = _table(ctx, cx, sides, legs, thing, one, other_id, new.get(other_id))
        if made:
            found.append(made)
    return found


def _united(old: Mapping[ThingId, _Shown], new: Mapping[ThingId, _Shown]) -> dict[ThingId, ThingId]:
    """Tables after under the ids that they have before, where a merge united two."""
    found = {}
    for thing, shown in new.items():
        ids = {thing, *shown.entry.attributes.get("united", ())}
        for other, was in old.items():
            if thing not in old and ids & {other, *was.entry.attributes.get("united", ())}:
                found[thing] = other
    return found


def _below(cx: Connection, ctx: Context, sides: Sides) -> set[str]:
    """Every table, because a namespace that moved or went takes along what is in it."""
    from anabranch.repo.state import list_tables

    return {t.id for at in (sides.before, sides.after) for t in list_tables(ctx, cx, at, None)}


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
    new = table_state(ctx, cx, sides.after, other_id, after.name) if after else None
    if old is None and new is None:
        return None
    ids = tuple(dict.fromkeys((thing, other_id)))
    to_before = to_after = None
    if old and new:
        to_before, to_after = (paths.layers_along(cx, way, ids, ctx.known_objects) for way in legs)
    base = _base_schema(ctx, cx, sides, ids)
    known = _with_schemas(ctx, cx, old, new, (*(to_before or ()), *(to_after or ())))
    ends = ends_of(known[0], known[1], base, to_before, to_after)
    return TableDiff(ctx, (new or old).name, old, new, ends)  # type: ignore[union-attr]


def _with_schemas(
    ctx: Context, cx: Connection, old: TableState | None, new: TableState | None, layers: Any
) -> tuple[TableState | None, TableState | None]:
    """States that know the schemas of every object on the way."""
    objects = [*(x.object for x in layers), *(o for x in layers for o in x.without)]
    more = schema_of(ctx, cx, {o.schema_id for o in objects})
    shared = {**more, **(old.schemas if old else {}), **(new.schemas if new else {})}
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
    shared = _named_alike(before.schema, after.schema)
    schemas = {**before.schemas, **after.schemas, shared.id: shared}
    sides = replace(before, schemas=schemas), replace(after, schema=shared, schemas=schemas)
    return TableDiff(ctx, other, sides[0], sides[1], ends_of(sides[0], sides[1], None, None, None))


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


@dataclass(frozen=True)
class NamespaceDiff:
    """A namespace that was added, dropped or changed."""

    name: str
    change: Word
    renamed_from: str | None
    schema: tuple[SchemaChange, ...]


def _namespaces(before: Mapping[ThingId, _Shown], after: Mapping[ThingId, _Shown]) -> tuple[NamespaceDiff, ...]:
    old, new = _of_kind(before, "namespace"), _of_kind(after, "namespace")
    found = []
    for thing in sorted({*old, *new}):
        one, other = old.get(thing), new.get(thing)
        changed = attribute_changes(one.entry.attributes, other.entry.attributes) if one and other else ()
        renamed = one.name if one and other and one.name != other.name else None
        word: Word = "added" if one is None else "dropped" if other is None else "changed"
        if word != "changed" or changed or renamed:
            shown = other or one
            assert shown is not None
            found.append(NamespaceDiff(shown.name, word, renamed, changed))
    return tuple(sorted(found, key=lambda n: n.name))


class TableDiff:
    """What differs in one table. Rows are read when they are asked for."""

    def __init__(
        self, ctx: Context, name: str, before: TableState | None, after: TableState | None, ends: Ends
    ) -> None:
        self._ctx, self.name = ctx, name
        self._before, self._after, self._ends = before, after, ends

    def __repr__(self) -> str:
        return f"TableDiff({self.name!r}, {self.change})"

    def _repr_html_(self) -> str:
        from anabranch.repo.html import table_diff_html

        return table_diff_html(self)

    @property
    def change(self) -> Word:
        """Whether the table was added, dropped or changed."""
        return "added" if self._before is None else "dropped" if self._after is None else "changed"

    @property
    def renamed_from(self) -> str | None:
        """The name before, if the table has another one now."""
        return self._before.name if self._before and self._after and self._before.name != self._after.name else None

    @property
    def columns(self) -> Schema:
        """The columns that the table has after; those it had, if it was dropped."""
        return self._ends.after.schema

    @property
    def touched(self) -> dict[str, int] | None:
        """The rows that the commits between touched, told without reading data; None if only rows can tell.

        A row that was changed twice counts twice, and one that was changed back counts too.
        """
        if self.change == "changed":
            return self._ends.touched
        rows = self._ends.after.row_count + self._ends.before.row_count
        return {"inserted": 0, "updated": 0, "deleted": 0, "inserted" if self.change == "added" else "deleted": rows}

    @cached_property
    def schema(self) -> tuple[SchemaChange, ...]:
        """What changed in columns, key, checks, properties and clustering."""
        if self._before is None or self._after is None:
            return ()
        changed = schema_changes(self._before.schema, self._after.schema)
        return (*changed, *attribute_changes(_named_layout(self._before), _named_layout(self._after)))

    @cached_property
    def _changes(self) -> RowChanges:
        from anabranch.repo.row_changes import RowChanges

        return RowChanges(self._ctx, self._ends, self.change)

    @property
    def long_columns(self) -> tuple[tuple[str, DataType], ...]:
        """The names and types of the columns of `arrow` and `spark`."""
        return self._changes.long_columns

    def counts(self) -> dict[str, int]:
        """Count rows that came, changed and went, and the cells that changed."""
        return self._changes.counts()

    def rows(
        self,
        *,
        key: Any = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """List the changes: `change`, `key`, `before` and `after` as whole rows, and the `columns` that differ."""
        return self._changes.rows(key, where, args, limit)

    def cells(self, limit: int | None = None) -> list[dict[str, Any]]:
        """List the cells that differ in rows that both sides have; reads the changes only, never the table."""
        return self._changes.cells(limit)

    def arrow(self, **chosen: Any) -> pa.Table:
        """The changed rows with Spark's `_change_type`, as an Arrow table."""
        return self._changes.arrow(**chosen)

    def pandas(self, **chosen: Any) -> Any:
        """The changed rows with Spark's `_change_type`, as a pandas DataFrame."""
        from anabranch.repo.outputs import to_pandas

        return to_pandas(self.arrow(**chosen))

    def spark(self, **chosen: Any) -> Any:
        """The changed rows with Spark's `_change_type`, as a Spark DataFrame."""
        return self._changes.spark(**chosen)

    def wide(self, **chosen: Any) -> pa.Table:
        """One row per change: `change`, the key, and `before` and `after` as structs."""
        return self._changes.wide(**chosen)

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing differs after all: changes may have been taken back."""
        if self.change != "changed" or self.renamed_from or self.schema:
            return False
        return self._changes.is_empty()


def _named_layout(table: TableState) -> dict[str, Any]:
    """A table's attributes, with clustering told by names."""
    names = {c.id: c.name for c in table.schema}
    return {**table.attributes, "cluster_by": [names.get(c, c) for c in table.attributes.get("cluster_by", ())]}


class Diff:
    """What differs between two commits; `diff["orders"]` is one table."""

    def __init__(
        self, tables: tuple[TableDiff, ...], namespaces: tuple[NamespaceDiff, ...], one: Callable[[str], Diff]
    ) -> None:
        self._all, self.namespaces, self._one = tables, namespaces, one

    def __repr__(self) -> str:
        return f"Diff({', '.join(self.tables) or 'nothing'})"

    def _repr_html_(self) -> str:
        from anabranch.repo.html import diff_html

        return diff_html(self)

    @cached_property
    def _tables(self) -> tuple[TableDiff, ...]:
        return tuple(t for t in self._all if not t.is_empty)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that differ."""
        return tuple(dict.fromkeys(t.name for t in self._tables))

    @property
    def candidates(self) -> tuple[TableDiff, ...]:
        """The tables that commits between touched: told without reading data, so some may not differ after all."""
        return self._all

    def __getitem__(self, name: str) -> TableDiff:
        """One table; of two that had the name one after another, the later; one that does not differ has no changes."""
        named = sorted((t for t in self._all if t.name == name), key=lambda t: t.change == "dropped")
        named += [t for t in self._all if t.renamed_from == name]
        return named[0] if named else self._one(name)._all[0]

    def __contains__(self, name: str) -> bool:
        return name in self.tables

    def __iter__(self) -> Iterator[TableDiff]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __bool__(self) -> bool:
        return bool(self._tables or self.namespaces)

    def counts(self) -> dict[str, dict[str, int]]:
        """Count what differs, by table."""
        found: dict[str, dict[str, int]] = {}
        for t in self._tables:
            known = found.get(t.name, {})
            found[t.name] = {word: n + known.get(word, 0) for word, n in t.counts().items()}
        return found
