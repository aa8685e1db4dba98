"""Reading history: clocks, commits, refs, ancestry. Every look-up is an indexed query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Connection, and_, bindparam, exists, func, literal, or_, select, true

from anabranch.catalog import tables as t
from anabranch.catalog.store import Prepared
from anabranch.errors import Corrupt
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import CommitHead
from anabranch.model.ids import CommitId, LineId, RepositoryId
from anabranch.plan.history import Edge, Step


def to_datetime(micros: int) -> datetime:
    """Turn the catalogue's time into an aware datetime."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)


def to_micros(moment: datetime) -> int:
    """Turn an aware datetime into the catalogue's time."""
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


_line, _above = t.lines.alias("line"), t.lines.alias("above")
_up = (
    select(_line.c.id, bindparam("at", type_=t.lines.c.tip.type).label("at"), literal(0).label("hop"))
    .add_columns(_line.c.depth, _line.c.parent_line, _line.c.parent_index, _line.c.parent_generation)
    .where(_line.c.id == bindparam("line"))
    .cte("up", recursive=True)
)
_up = _up.union_all(
    select(_above.c.id, _up.c.parent_index, _up.c.hop + 1)
    .add_columns(_above.c.depth, _above.c.parent_line, _above.c.parent_index, _above.c.parent_generation)
    .join(_up, _above.c.id == _up.c.parent_line)
    .where(or_(_above.c.parent_line.is_(None), _above.c.parent_generation < _up.c.parent_generation))
)
_CLOCK = Prepared(select(_up.c.id, _up.c.at, _up.c.depth, _up.c.parent_line).order_by(_up.c.hop))
"""The lines that lead to a commit. Each is looked up once, where it is reached: PostgreSQL reads all lines for a join
with what it takes for a hundred. Generations fall on the way, so that it ends whatever the lines say."""


def clock(cx: Connection, position: Position) -> Clock:
    """Derive the clock of a commit from the lines."""
    rows = _CLOCK(cx, {"line": position.line, "at": position.index}).all()
    if not rows or rows[-1].parent_line is not None:
        last = rows[-1].parent_line if rows else position.line
        raise Corrupt(f"line {last!r} is missing, or springs from itself", hint="restore the catalogue from a backup")
    whole = next((i + 1 for i, row in enumerate(rows) if row.depth == 0), len(rows))
    return Clock(tuple(Position(LineId(r.id), r.at) for r in rows), whole)


_HEAD = Prepared(
    select(t.commits.c.id, t.commits.c.hash, t.commits.c.generation, t.commits.c.finished_at).where(
        t.commits.c.line_id == bindparam("line"), t.commits.c.commit_index == bindparam("at")
    )
)


def head(cx: Connection, position: Position) -> CommitHead | None:
    """Read what publishing needs to know of a commit; None if there is none."""
    row = _HEAD(cx, {"line": position.line, "at": position.index}).first()
    return CommitHead(position, CommitId(row.id), row.hash, row.generation, row.finished_at) if row else None


def by_hash(cx: Connection, repository: RepositoryId, prefix: str) -> list[Position]:
    """Find the commits whose hash starts with this prefix, two at most."""
    c = t.commits.c
    query = select(c.line_id, c.commit_index).where(
        c.repository_id == repository, c.hash >= prefix, c.hash < prefix + "g"
    )
    return [Position(LineId(r.line_id), r.commit_index) for r in cx.execute(query.limit(2))]


def parent(cx: Connection, position: Position, number: int) -> Position | None:
    """Find the n-th parent, counted from 1."""
    if number == 1:
        return clock(cx, position).back(1)
    c = t.merge_edges.c
    found = cx.execute(
        select(c.parent_line, c.parent_index).where(
            c.line_id == position.line, c.commit_index == position.index, c.number == number - 1
        )
    ).first()
    return Position(LineId(found.parent_line), found.parent_index) if found else None


_PAGE = 256
_m, _l = t.merge_edges.c, t.lines.c
_at, _number = bindparam("at", type_=_m.commit_index.type), bindparam("number", type_=_m.number.type)
_EDGES_BELOW = Prepared(
    select(_m.commit_index, _m.number, _m.generation, _m.parent_line, _m.parent_index, _m.parent_generation)
    .where(_m.line_id == bindparam("line"), _m.commit_index <= _at)
    .where(or_(_m.commit_index < _at, _m.number > _number))
    .order_by(_m.commit_index.desc(), _m.number)
    .limit(_PAGE)
)
"""A page of the edges of a line from an edge on, highest commit first."""
_ORIGIN = Prepared(select(_l.parent_line, _l.parent_index, _l.parent_generation).where(_l.id == bindparam("line")))


@dataclass(frozen=True)
class Lines:
    """Answers what the search for ancestors asks: the next steps down from a commit, a page of a line at a time."""

    cx: Connection
    _generations: dict[Position, int] = field(default_factory=dict, repr=False, compare=False)
    _clocks: dict[Position, Clock] = field(default_factory=dict, repr=False, compare=False)

    def generation(self, position: Position) -> int:
        if position not in self._generations:
            found = head(self.cx, position)
            self._generations[position] = found.generation if found else -1
        return self._generations[position]

    def below(self, position: Position) -> Iterator[Step]:
        """Yield the parents met while going down the line, highest commit first."""
        last = (position.index, 0)
        while True:
            rows = _EDGES_BELOW(self.cx, {"line": position.line, "at": last[0], "number": last[1]}).all()
            for row in rows:
                parent = Position(LineId(row.parent_line), row.parent_index)
                yield Step(row.commit_index, row.generation, parent, row.parent_generation)
            if len(rows) < _PAGE:
                break
            last = (rows[-1].commit_index, rows[-1].number)
        above = _ORIGIN(self.cx, {"line": position.line}).one()
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
            query = select(c.commit_index, c.number, c.parent_line, c.parent_index).where(c.line_id == line)
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
    """A text that the message contains."""


@dataclass(frozen=True)
class LogRow:
    """One commit on the way down a line; `shown` tells whether the filter lets it through."""

    position: Position
    finished_at: int
    generation: int
    shown: bool
    further_parents: tuple[Position, ...] = ()


def log_page(cx: Connection, top: Position, wanted: LogFilter, limit: int) -> list[LogRow]:
    """Read down a line from a position: the commits that the filter shows, those with more parents, and the first."""
    c = t.commits.c
    conditions = []
    if wanted.author is not None:
        conditions.append(c.author == wanted.author)
    if wanted.since is not None:
        conditions.append(c.finished_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(c.finished_at <= wanted.until)
    if wanted.words:
        conditions.append(func.replace(c.message, wanted.words, "") != c.message)  # LIKE has its own idea of case
    if wanted.thing_ids is not None:
        e = t.entries.c
        touched = (
            (e.line_id == c.line_id)
            & (e.commit_index == c.commit_index)
            & e.thing_id.in_(wanted.thing_ids)
            & ~e.carried
        )
        conditions.append(exists().where(touched))
    shown = and_(true(), *conditions)
    query = select(c.commit_index, c.finished_at, c.generation, c.is_merge, shown.label("shown"))
    query = query.where(c.line_id == top.line, c.commit_index <= top.index)
    if conditions:
        query = query.where(or_(shown, c.is_merge, c.commit_index == 0))
    rows = cx.execute(query.order_by(c.commit_index.desc()).limit(limit)).all()
    merges = [r.commit_index for r in rows if r.is_merge]
    further = _further_parents(cx, top.line, merges[-1], merges[0]) if merges else {}
    return [
        LogRow(at, r.finished_at, r.generation, bool(r.shown), tuple(further.get(at, ())))
        for r in rows
        for at in (Position(top.line, r.commit_index),)
    ]


def _further_parents(cx: Connection, line: LineId, low: int, high: int) -> dict[Position, list[Position]]:
    """Read the parents of merge commits after the first, on a stretch of a line."""
    c, found = t.merge_edges.c, dict[Position, list[Position]]()
    query = select(c.commit_index, c.parent_line, c.parent_index).where(c.line_id == line)
    for row in cx.execute(query.where(c.commit_index.between(low, high)).order_by(c.number)):
        merge = Position(line, row.commit_index)
        found.setdefault(merge, []).append(Position(LineId(row.parent_line), row.parent_index))
    return found


def further_parents(cx: Connection, position: Position) -> list[Position]:
    """Read the parents of a merge commit after the first."""
    return _further_parents(cx, position.line, position.index, position.index).get(position, [])


def origin(cx: Connection, line: LineId) -> Position | None:
    """Find the commit that a line springs from."""
    c = t.lines.c
    row = cx.execute(select(c.parent_line, c.parent_index).where(c.id == line)).one()
    return Position(LineId(row.parent_line), row.parent_index) if row.parent_line else None
