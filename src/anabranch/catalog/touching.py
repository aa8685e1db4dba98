"""The commits that touched a table, with the objects of their changes; and which commits link an object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from anabranch.catalog import tables as t
from anabranch.catalog.commits import LineNumbers
from anabranch.catalog.history import to_datetime
from anabranch.catalog.manifests import changed, changed_id, in_order, linking
from anabranch.model.clock import Position
from anabranch.model.ids import LineId, ObjectId, RepositoryId, SchemaId, ThingId
from anabranch.settings import IDS_PER_STATEMENT


@dataclass(frozen=True)
class Touch:
    """What one commit did to a table."""

    position: Position
    thing_id: ThingId
    schema_id: SchemaId | None
    """The schema afterwards; None if the table was dropped."""
    replaced: bool
    """Whether it gave the table another key, so that no key relates its rows to those before."""
    operations: tuple[str, ...]
    objects: tuple[tuple[int, ObjectId], ...]
    """Its objects, each with its step; those of one step change a key at most once."""

    @property
    def dropped(self) -> bool:
        return self.schema_id is None


@dataclass(frozen=True)
class CommitFacts:
    """A commit as result rows show it."""

    hash: str
    id: str
    author: str
    message: str
    finished_at: datetime


def touches(cx: Connection, ranges: Iterable[tuple[LineId, int, int]], things: Sequence[ThingId]) -> list[Touch]:
    """List the commits in ranges of lines that touched a table, in the order of the ranges."""
    found: list[Touch] = []
    for line, low, high in ranges:
        linked = _linked(cx, line, low, high, things)
        e = t.entries.c
        described = (e.commit_index, e.thing_id, e.schema_id, e.replaced, e.dropped, e.operations)
        query = select(*described).where(e.line_id == line)
        query = query.where(e.commit_index.between(low, high), e.thing_id.in_(things), ~e.carried)
        by_index: dict[int, Touch] = {}
        for row in cx.execute(query.order_by(e.commit_index, e.dropped)):
            schema = SchemaId(row.schema_id) if row.schema_id and not row.dropped else None
            by_index.setdefault(
                row.commit_index,  # If two tables became one, or one replaced the other, the one that stays is listed.
                Touch(
                    Position(line, row.commit_index),
                    ThingId(row.thing_id),
                    schema,
                    bool(row.replaced),
                    tuple(row.operations),
                    tuple(linked.get(row.commit_index, ())),
                ),
            )
        found += by_index.values()
    return found


def touches_at(cx: Connection, positions: Sequence[Position], things: Sequence[ThingId]) -> list[Touch]:
    """Read what some commits did to a table, in their order; meant for most commits of a stretch of history."""
    ranges: dict[LineId, tuple[int, int]] = {}
    for line, index in positions:
        low, high = ranges.get(line, (index, index))
        ranges[line] = (min(low, index), max(high, index))
    found = {f.position: f for f in touches(cx, [(line, *ends) for line, ends in ranges.items()], things)}
    return [found[p] for p in positions if p in found]


def _linked(
    cx: Connection, line: LineId, low: int, high: int, things: Sequence[ThingId]
) -> dict[int, list[tuple[int, ObjectId]]]:
    c = t.changes.c
    query = select(c.commit_index, c.step, changed_id()).select_from(changed())
    query = query.where(c.thing_id.in_(things), c.line_id == line)
    query = query.where(c.commit_index.between(low, high)).order_by(c.commit_index, *in_order())
    found: dict[int, list[tuple[int, ObjectId]]] = {}
    for row in cx.execute(query):
        found.setdefault(row.commit_index, []).append((row.step, ObjectId(row.object_id)))
    return found


def links(cx: Connection, objects: Sequence[ObjectId]) -> dict[ObjectId, list[Position]]:
    """Find the commits that link objects as part of a change."""
    c, found = t.changes.c, dict[ObjectId, list[Position]]()
    for start in range(0, len(objects), IDS_PER_STATEMENT):
        for query in linking(objects[start : start + IDS_PER_STATEMENT], c.line_id, c.commit_index):
            for row in cx.execute(query.distinct()):
                found.setdefault(ObjectId(row.object_id), []).append(Position(LineId(row.line_id), row.commit_index))
    return found


@dataclass(frozen=True)
class MergeEdge:
    """How a merge relates a table to a further parent."""

    number: int
    by_changes: bool
    """Whether changes tell the difference; otherwise states must be compared."""
    exceptions: ObjectId | None
    """The rows that both sides touched, if any."""


def references(cx: Connection, merge: Position, things: Sequence[ThingId]) -> list[MergeEdge]:
    """Find how a merge relates a table to its further parents; none for one that its first parent did not touch."""
    r = t.change_references.c
    query = select(r.parent_number, r.base_line, r.exceptions_id)
    query = query.where(r.line_id == merge.line, r.commit_index == merge.index, r.thing_id.in_(things))
    return [
        MergeEdge(row.parent_number, bool(row.base_line), ObjectId(row.exceptions_id) if row.exceptions_id else None)
        for row in cx.execute(query.order_by(r.parent_number))
    ]


def commit_facts(cx: Connection, positions: Iterable[Position]) -> dict[Position, CommitFacts]:
    """Read what result rows say of commits, a line at a time."""
    wanted: dict[LineId, list[int]] = {}
    for line, index in dict.fromkeys(positions):
        wanted.setdefault(line, []).append(index)
    found: dict[Position, CommitFacts] = {}
    c = t.commits.c
    query, numbers = select(t.commits), LineNumbers(cx, wanted)
    for line, indexes in wanted.items():
        for start in range(0, len(indexes), IDS_PER_STATEMENT):
            inside = c.commit_index.in_(indexes[start : start + IDS_PER_STATEMENT])
            for row in cx.execute(query.where(c.line_id == line, inside)):
                at = Position(line, row.commit_index)
                found[at] = CommitFacts(
                    row.hash, numbers.commit_id(at), row.author, row.message, to_datetime(row.finished_at)
                )
    return found


def is_merge(cx: Connection, position: Position) -> bool:
    """Whether a commit has several parents."""
    c = t.commits.c
    return bool(cx.scalar(select(c.is_merge).where(c.line_id == position.line, c.commit_index == position.index)))


def tables_of(cx: Connection, repository: RepositoryId) -> list[ThingId]:
    """List all tables that any commit of a repository mentions."""
    e, own = t.entries.c, select(t.lines.c.id).where(t.lines.c.repository_id == repository)
    query = select(e.thing_id).where(e.kind == "table", e.line_id.in_(own)).distinct().order_by(e.thing_id)
    return [ThingId(x) for x in cx.scalars(query)]


def positions_naming(cx: Connection, repository: RepositoryId, thing: ThingId) -> list[Position]:
    """List the commits that mention a table or have a view of it, line by line."""
    own = select(t.lines.c.id).where(t.lines.c.repository_id == repository)
    e, v = t.entries.c, t.views.c
    said = select(e.line_id, e.commit_index).where(e.thing_id == thing, ~e.carried, e.line_id.in_(own))
    viewed = select(v.line_id, v.commit_index).where(v.thing_id == thing, v.line_id.in_(own))
    return sorted(Position(LineId(line), index) for line, index in cx.execute(said.union(viewed)))
