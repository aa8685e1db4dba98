"""The state at a commit: names, things and their entries, each the newest along the clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import Prepared, prepared
from anabranch.errors import Corrupt
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import ROOT_NAMESPACE, LineId, RepositoryId, SchemaId, ThingId
from anabranch.model.tables import Entry
from anabranch.settings import IDS_PER_STATEMENT


class Named(NamedTuple):
    """A name and the thing it stands for."""

    name: str
    kind: str
    thing_id: ThingId


@prepared
def _name() -> Any:
    c = t.names.c
    query = sa.select(c.kind, c.thing_id)
    query = query.where(c.repository_id == sa.bindparam("repository"), c.parent_id == sa.bindparam("parent"))
    query = query.where(c.name == sa.bindparam("called"), c.line_id == sa.bindparam("line"))
    return query.where(c.commit_index <= sa.bindparam("at")).order_by(c.commit_index.desc()).limit(1)


def find_name(cx: Connection, repository: RepositoryId, at: Clock, parent: ThingId, name: str) -> Named | None:
    """Find what a name stands for at a commit."""
    row = _newest(cx, _name, at, repository=repository, parent=parent, called=name)
    return Named(name, row.kind, ThingId(row.thing_id)) if row and row.thing_id else None


def _newest(cx: Connection, look_up: Prepared, at: Clock, **asked: str) -> Any:
    """The newest row on the path to a commit, line by line; None if there is none."""
    for line, index in at.entry_positions:
        if row := look_up(cx, {**asked, "line": line, "at": index}).first():
            return row
    return None


def find_similar(cx: Connection, repository: RepositoryId, at: Clock, parent: ThingId, name: str) -> list[Named]:
    """Find things whose name equals this one, ignoring case."""
    if not name.isascii():  # databases disagree on lower case beyond ASCII
        return [found for found in list_names(cx, repository, at, parent) if found.name.lower() == name.lower()]
    c = t.names.c
    query = sa.select(c.name).distinct().where(c.repository_id == repository, c.parent_id == parent)
    names = cx.execute(query.where(sa.func.lower(c.name) == name.lower())).scalars()
    found = [find_name(cx, repository, at, parent, other) for other in sorted(names)]
    return [named for named in found if named]


@prepared
def _names_below() -> Any:
    c = t.names.c
    query = sa.select(c.name, c.kind, c.thing_id)
    query = query.where(c.repository_id == sa.bindparam("repository"), c.parent_id == sa.bindparam("parent"))
    query = query.where(c.line_id == sa.bindparam("line"), c.commit_index <= sa.bindparam("at"))
    return query.order_by(c.name, c.commit_index.desc())


def list_names(cx: Connection, repository: RepositoryId, at: Clock, parent: ThingId) -> list[Named]:
    """List the names in a namespace at a commit."""
    found: dict[str, Named | None] = {}
    for line, index in at.entry_positions:
        for row in _names_below(cx, {"repository": repository, "parent": parent, "line": line, "at": index}):
            named = Named(row.name, row.kind, ThingId(row.thing_id)) if row.thing_id else None
            found.setdefault(row.name, named)
    return sorted(n for n in found.values() if n)


@prepared
def _place() -> Any:
    c = t.names.c
    query = sa.select(c.repository_id, c.parent_id, c.name)
    query = query.where(c.thing_id == sa.bindparam("thing"), c.line_id == sa.bindparam("line"))
    return query.where(c.commit_index <= sa.bindparam("at")).order_by(c.commit_index.desc()).limit(1)


def _last_place(cx: Connection, at: Clock, thing: str) -> Any:
    """Find the last name given to a thing on the path to a commit."""
    return _newest(cx, _place, at, thing=thing)


def place_of(cx: Connection, at: Clock, thing: ThingId) -> tuple[ThingId, str] | None:
    """Find the namespace and own name of a thing at a commit; None if it has none there."""
    row = _last_place(cx, at, thing)
    if row is None:
        return None
    here = find_name(cx, row.repository_id, at, ThingId(row.parent_id), row.name)
    return (ThingId(row.parent_id), row.name) if here and here.thing_id == thing else None


def full_name(cx: Connection, at: Clock, thing: str) -> str | None:
    """Find the full name of a thing at a commit, with its namespaces."""
    parts: list[str] = []
    seen: set[str] = set()
    while thing != ROOT_NAMESPACE and (row := _last_place(cx, at, thing)) is not None:
        refuse_loop(seen, thing)
        parts.append(row.name)
        thing = row.parent_id
    return ".".join(reversed(parts)) or None


def refuse_loop(seen: set[str], thing: str) -> None:
    """Refuse a namespace that lies in itself: a walk up from it would never end."""
    if thing in seen:
        raise Corrupt(f"namespace {thing!r} lies in itself", hint="restore the catalogue from a backup")
    seen.add(thing)


@prepared
def _newest_entry() -> Any:
    c = t.entries.c
    query = sa.select(t.entries).where(c.thing_id == sa.bindparam("thing"), c.line_id == sa.bindparam("line"))
    return query.where(c.commit_index <= sa.bindparam("at")).order_by(c.commit_index.desc()).limit(1)


def find_entry(cx: Connection, at: Clock, thing: ThingId) -> Entry | None:
    """Find the newest entry of a thing at a commit."""
    row = _newest(cx, _newest_entry, at, thing=thing)
    return _entry(row) if row else None


def last_touch(cx: Connection, at: Clock, thing: ThingId) -> Position | None:
    """Find the commit that changed a thing last among the first parents of a commit; None if it is not there.

    Where two commits of a history have the same one, the thing is the same in both.
    """
    c = t.entries.c
    for line, index in at.positions:
        here = (c.thing_id == thing) & (c.line_id == line) & (c.commit_index <= index)
        found = cx.scalar(sa.select(sa.func.max(c.commit_index)).where(here, ~c.carried))
        if found is not None:
            return Position(line, found)
    return None


def find_entries(cx: Connection, at: Clock, things: Sequence[ThingId]) -> dict[ThingId, Entry]:
    """Find the newest entries of many things, each by an index look-up."""
    if len(things) <= _FEW:
        one_by_one = ((thing, find_entry(cx, at, thing)) for thing in things)
        return {thing: entry for thing, entry in one_by_one if entry}
    found: dict[ThingId, Entry] = {}
    for line, index in at.entry_positions:
        missing = [x for x in things if x not in found]
        for start in range(0, len(missing), IDS_PER_STATEMENT):
            for row in cx.execute(_newest_entries(missing[start : start + IDS_PER_STATEMENT], line, index)):
                found[ThingId(row.thing_id)] = _entry(row)
    return found


_FEW = 4
"""Up to this many things are looked up one by one; a statement for all is compiled anew for every count."""


def _newest_entries(things: Sequence[ThingId], line: LineId, index: int) -> sa.Select[tuple[object, ...]]:
    """Join the wanted ids to their newest entries, so that each costs one step in the index."""
    wanted = (
        sa.values(sa.column("id", t.entries.c.thing_id.type), name="wanted").data([(x,) for x in things]).cte("wanted")
    )
    newer = t.entries.alias("newer")
    newest = sa.select(newer.c.commit_index).where(newer.c.thing_id == wanted.c.id, newer.c.line_id == line)
    newest = newest.where(newer.c.commit_index <= index).order_by(newer.c.commit_index.desc()).limit(1)
    e = t.entries.c
    query = sa.select(t.entries).join(wanted, e.thing_id == wanted.c.id)
    return query.where(e.line_id == line, e.commit_index == newest.correlate(wanted).scalar_subquery())


def _on_stretch(table: sa.Table, *columns: Any) -> sa.Select[Any]:
    c = table.c
    inside = c.commit_index.between(sa.bindparam("low"), sa.bindparam("high"))
    return sa.select(*columns).where(c.line_id == sa.bindparam("line"), inside, ~c.carried).distinct()


@prepared
def _touched_things() -> Any:
    return _on_stretch(t.entries, t.entries.c.thing_id)


@prepared
def _touched_names() -> Any:
    return _on_stretch(t.names, t.names.c.parent_id, t.names.c.name)


def touched(cx: Connection, ranges: Iterable[tuple[LineId, int, int]]) -> tuple[set[str], set[tuple[str, str]]]:
    """List the things and names that the commits in these ranges of lines touched."""
    things: set[str] = set()
    names: set[tuple[str, str]] = set()
    for line, low, high in ranges:
        where = {"line": line, "low": low, "high": high}
        things.update(_touched_things(cx, where).scalars())
        names.update((r.parent_id, r.name) for r in _touched_names(cx, where))
    return things, names


def touched_between(cx: Connection, one: Clock, other: Clock) -> tuple[set[str], set[tuple[str, str]]]:
    """List the things and names that commits touched on either side of the last common first parent."""
    fork = one.fork(other)
    things, names = touched(cx, one.since(fork))
    more_things, more_names = touched(cx, other.since(fork))
    return things | more_things, names | more_names


def entries_of(cx: Connection, position: Position) -> list[Entry]:
    """List what one commit says of things."""
    return [_entry(row) for row in _entries_at(cx, {"line": position.line, "at": position.index})]


@prepared
def _entries_at() -> Any:
    e = t.entries.c
    here = (e.line_id == sa.bindparam("line")) & (e.commit_index == sa.bindparam("at"))
    return sa.select(t.entries).where(here, ~e.carried)


def entries_between(
    cx: Connection, line: LineId, low: int, high: int, things: Sequence[ThingId]
) -> list[tuple[int, Entry]]:
    """List what commits on a stretch of a line say of some things, with the commits' indexes."""
    e = t.entries.c
    query = sa.select(t.entries).where(e.thing_id.in_(things), e.line_id == line, ~e.carried)
    query = query.where(e.commit_index.between(low, high)).order_by(e.commit_index)
    return [(row.commit_index, _entry(row)) for row in cx.execute(query)]


def _entry(row: sa.Row[tuple[object, ...]]) -> Entry:
    described = row.attributes
    texts = [described.get(name, {}) for name in ("properties", "checks")]
    if not all(isinstance(value, str) for found in texts for value in found.values()):
        raise ValueError(f"the attributes of {row.thing_id} are not text")
    return Entry(
        ThingId(row.thing_id),
        row.kind,
        SchemaId(row.schema_id) if row.schema_id else None,
        row.row_count,
        tuple(row.operations),
        row.attributes,
        bool(row.dropped),
        bool(row.replaced),
    )


def ever_named(cx: Connection, repository: RepositoryId, at: Clock, parent: ThingId, name: str) -> list[str]:
    """Find the tables that ever had this name on the path to a commit, even before a checkpoint."""
    n = t.names.c
    found: list[str] = []
    for line, index in at.positions:
        query = sa.select(n.thing_id).where(n.repository_id == repository, n.parent_id == parent, n.name == name)
        query = query.where(n.kind == "table")
        found += cx.scalars(query.where(n.line_id == line, n.commit_index <= index, n.thing_id.is_not(None)).distinct())
    return found


def last_named(cx: Connection, repository: RepositoryId, at: Clock, parent: ThingId, name: str) -> ThingId | None:
    """Find the table that last had this name on the path to a commit, whether it still exists or not."""
    n = t.names.c
    for line, index in at.positions:
        query = sa.select(n.thing_id).where(n.repository_id == repository, n.parent_id == parent, n.name == name)
        query = query.where(n.kind == "table", n.thing_id.is_not(None), n.line_id == line, n.commit_index <= index)
        found = cx.scalar(query.order_by(n.commit_index.desc()).limit(1))
        if found:
            return ThingId(found)
    return None


def first_entry(cx: Connection, at: Clock, things: Sequence[ThingId]) -> Position | None:
    """Find the first commit on the path to another that says something of these things."""
    e = t.entries.c
    for line, index in reversed(at.positions):
        query = sa.select(e.commit_index).where(e.thing_id.in_(things), e.line_id == line, e.commit_index <= index)
        found = cx.scalar(query.where(~e.carried).order_by(e.commit_index).limit(1))
        if found is not None:
            return Position(line, found)
    return None
