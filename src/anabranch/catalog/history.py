"""Read history: clocks, commits, refs, ancestry. Every look-up is an indexed query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import looked_up, prepared
from anabranch.errors import Corrupt
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import CommitHead
from anabranch.model.ids import CommitId, LineId, RepositoryId
from anabranch.plan.history import Edge, Step


def to_datetime(micros: int) -> datetime:
    """Convert the catalogue's time to an aware datetime."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)


def to_micros(moment: datetime) -> int:
    """Convert an aware datetime to the catalogue's time."""
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


_head = looked_up("ana_commits", "id hash generation finished_at", line_id="line", commit_index="at")
_by_id = looked_up("ana_commits", "line_id commit_index", repository_id="repository", id="id")
_origin = looked_up("ana_lines", "parent_line parent_index parent_generation", id="line")


@prepared
def _lines_to() -> Any:
    """The lines that lead to a commit.

    Each is read as it is reached: a join afterwards would make PostgreSQL, which guesses 100 rows, scan all lines.
    Generations must fall on the way, so that the walk ends even if lines are damaged.
    """
    line, above = t.lines.alias("line"), t.lines.alias("above")
    up = (
        sa.select(line.c.id, sa.bindparam("at", type_=line.c.tip.type).label("at"), sa.literal(0).label("hop"))
        .add_columns(line.c.depth, line.c.parent_line, line.c.parent_index, line.c.parent_generation)
        .where(line.c.id == sa.bindparam("line"))
        .cte("up", recursive=True)
    )
    up = up.union_all(
        sa.select(above.c.id, up.c.parent_index, up.c.hop + 1)
        .add_columns(above.c.depth, above.c.parent_line, above.c.parent_index, above.c.parent_generation)
        .join(up, above.c.id == up.c.parent_line)
        .where(sa.or_(above.c.parent_line.is_(None), above.c.parent_generation < up.c.parent_generation))
    )
    return sa.select(up.c.id, up.c.at, up.c.depth, up.c.parent_line).order_by(up.c.hop)


def clock(cx: Connection, position: Position) -> Clock:
    """Derive the clock of a commit from the lines."""
    rows = _lines_to(cx, {"line": position.line, "at": position.index}).all()
    if not rows or rows[-1].parent_line is not None:
        last = rows[-1].parent_line if rows else position.line
        raise Corrupt(f"line {last!r} is missing, or springs from itself", hint="restore the catalogue from a backup")
    whole = next((i + 1 for i, row in enumerate(rows) if row.depth == 0), len(rows))
    return Clock(tuple(Position(LineId(r.id), r.at) for r in rows), whole)


def head(cx: Connection, position: Position) -> CommitHead | None:
    """Read what publishing needs to know of a commit; None if it doesn't exist."""
    row = _head(cx, {"line": position.line, "at": position.index}).first()
    return CommitHead(position, CommitId(row.id), row.hash, row.generation, row.finished_at) if row else None


def known_head(cx: Connection, position: Position) -> CommitHead:
    """The same of a commit that something refers to, so it does exist."""
    found = head(cx, position)
    assert found is not None
    return found


def by_hash(cx: Connection, repository: RepositoryId, prefix: str) -> list[Position]:
    """Find the commits whose hash starts with this prefix, at most two."""
    rows = _by_hash(cx, {"repository": repository, "low": prefix, "high": prefix + "g"})
    return [Position(LineId(r.line_id), r.commit_index) for r in rows]


def by_id(cx: Connection, repository: RepositoryId, id_: CommitId) -> Position | None:
    """Find a commit by its id; None if it doesn't exist."""
    row = _by_id(cx, {"repository": repository, "id": id_}).first()
    return Position(LineId(row.line_id), row.commit_index) if row else None


@prepared
def _by_hash() -> Any:
    c = t.commits.c
    query = sa.select(c.line_id, c.commit_index).where(c.repository_id == sa.bindparam("repository"))
    return query.where(c.hash >= sa.bindparam("low"), c.hash < sa.bindparam("high")).limit(2)


def parent(cx: Connection, position: Position, number: int) -> Position | None:
    """Find the n-th parent, counted from 1."""
    if number == 1:
        return clock(cx, position).back(1)
    c = t.merge_edges.c
    found = cx.execute(
        sa.select(c.parent_line, c.parent_index).where(
            c.line_id == position.line, c.commit_index == position.index, c.number == number - 1
        )
    ).first()
    return Position(LineId(found.parent_line), found.parent_index) if found else None


_PAGE = 256


@prepared
def _edges_below() -> Any:
    """A page of a line's edges from an edge on, highest commit first."""
    m = t.merge_edges.c
    at, number = sa.bindparam("at", type_=m.commit_index.type), sa.bindparam("number", type_=m.number.type)
    query = sa.select(m.commit_index, m.number, m.generation, m.parent_line, m.parent_index, m.parent_generation)
    query = query.where(m.line_id == sa.bindparam("line"), m.commit_index <= at)
    query = query.where(sa.or_(m.commit_index < at, m.number > number))
    return query.order_by(m.commit_index.desc(), m.number).limit(_PAGE)


@dataclass(frozen=True)
class Lines:
    """Supplies the ancestor search with the next steps down from a commit, a page of a line at a time."""

    cx: Connection
    _generations: dict[Position, int] = field(default_factory=dict, repr=False, compare=False)
    _clocks: dict[Position, Clock] = field(default_factory=dict, repr=False, compare=False)

    def generation(self, position: Position) -> int:
        if position not in self._generations:
            found = head(self.cx, position)
            self._generations[position] = found.generation if found else -1
        return self._generations[position]

    def below(self, position: Position) -> Iterator[Step]:
        """Yield the parents met on the way down a line, highest commit first."""
        last = (position.index, 0)
        while True:
            rows = _edges_below(self.cx, {"line": position.line, "at": last[0], "number": last[1]}).all()
            for row in rows:
                parent = Position(LineId(row.parent_line), row.parent_index)
                yield Step(row.commit_index, row.generation, parent, row.parent_generation)
            if len(rows) < _PAGE:
                break
            last = (rows[-1].commit_index, rows[-1].number)
        above = _origin(self.cx, {"line": position.line}).one()
        if above.parent_line is not None:
            parent = Position(LineId(above.parent_line), above.parent_index)
            yield Step(0, above.parent_generation + 1, parent, above.parent_generation)

    def clock(self, position: Position) -> Clock:
        if position not in self._clocks:
            self._clocks[position] = clock(self.cx, position)
        return self._clocks[position]

    def edges(self, at: Clock, above: int) -> Iterator[Edge]:
        """Yield the edges to further parents on a clock from commits above a generation, oldest first."""
        c = t.merge_edges.c
        for line, index in reversed(at.positions):
            query = sa.select(c.commit_index, c.number, c.parent_line, c.parent_index).where(c.line_id == line)
            query = query.where(c.commit_index <= index, c.generation > above).order_by(c.commit_index, c.number)
            for row in self.cx.execute(query):
                parent = Position(LineId(row.parent_line), row.parent_index)
                yield Edge(Position(line, row.commit_index), row.number, parent)


@dataclass(frozen=True)
class LogFilter:
    """Which commits `log` shows."""

    thing_ids: tuple[str, ...] | None = None
    author: str | None = None
    since: int | None = None
    until: int | None = None
    words: str | None = None
    """Text that the message contains."""


@dataclass(frozen=True)
class LogRow:
    """One commit on the way down a line; `shown` says whether the filter lets it through."""

    position: Position
    finished_at: int
    generation: int
    shown: bool
    further_parents: tuple[Position, ...] = ()


@prepared
def _page() -> Any:
    return _page_of(sa.true())


def _page_of(shown: sa.ColumnElement[bool]) -> sa.Select[Any]:
    c = t.commits.c
    query = sa.select(c.commit_index, c.finished_at, c.generation, c.is_merge, shown.label("shown"))
    query = query.where(c.line_id == sa.bindparam("line"), c.commit_index <= sa.bindparam("at"))
    return query.order_by(c.commit_index.desc()).limit(sa.bindparam("most", type_=sa.Integer))


def _filtered_page(wanted: LogFilter) -> sa.Select[Any]:
    c, e = t.commits.c, t.entries.c
    conditions = []
    if wanted.author is not None:
        conditions.append(c.author == wanted.author)
    if wanted.since is not None:
        conditions.append(c.finished_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(c.finished_at <= wanted.until)
    if wanted.words:
        conditions.append(sa.func.replace(c.message, wanted.words, "") != c.message)  # LIKE may ignore case
    if wanted.thing_ids is not None:
        here = (e.line_id == c.line_id) & (e.commit_index == c.commit_index)
        conditions.append(sa.exists().where(here & e.thing_id.in_(wanted.thing_ids) & ~e.carried))
    shown = sa.and_(sa.true(), *conditions)
    query = _page_of(shown)
    return query.where(sa.or_(shown, c.is_merge, c.commit_index == 0)) if conditions else query


def log_page(cx: Connection, top: Position, wanted: LogFilter, limit: int) -> list[LogRow]:
    """Read down a line from a position: the commits the filter shows, merges, and the line's first commit."""
    asked = {"line": top.line, "at": top.index, "most": limit}
    found: Any = _page(cx, asked) if wanted == LogFilter() else cx.execute(_filtered_page(wanted), asked)
    rows = found.all()
    merges = [r.commit_index for r in rows if r.is_merge]
    further = _further_parents(cx, top.line, merges[-1], merges[0]) if merges else {}
    return [
        LogRow(at, r.finished_at, r.generation, bool(r.shown), tuple(further.get(at, ())))
        for r in rows
        for at in (Position(top.line, r.commit_index),)
    ]


@prepared
def _parents_after_the_first() -> Any:
    c = t.merge_edges.c
    query = sa.select(c.commit_index, c.parent_line, c.parent_index).where(c.line_id == sa.bindparam("line"))
    return query.where(c.commit_index.between(sa.bindparam("low"), sa.bindparam("high"))).order_by(c.number)


def _further_parents(cx: Connection, line: LineId, low: int, high: int) -> dict[Position, list[Position]]:
    """Read the further parents of merge commits on a stretch of a line."""
    found = dict[Position, list[Position]]()
    for row in _parents_after_the_first(cx, {"line": line, "low": low, "high": high}):
        merge = Position(line, row.commit_index)
        found.setdefault(merge, []).append(Position(LineId(row.parent_line), row.parent_index))
    return found


def further_parents(cx: Connection, position: Position) -> list[Position]:
    """Read the further parents of a merge commit."""
    return _further_parents(cx, position.line, position.index, position.index).get(position, [])


def origin(cx: Connection, line: LineId) -> Position | None:
    """Find the commit that a line springs from."""
    row = _origin(cx, {"line": line}).one()
    return Position(LineId(row.parent_line), row.parent_index) if row.parent_line else None
