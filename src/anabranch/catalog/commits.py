"""Read whole commits as users see them, with a few statements per stretch of a line, not per commit.

history.py and refs find which commits are meant.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anabranch.catalog.entries import refuse_loop
from anabranch.catalog.history import to_datetime
from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import Prepared, prepared
from anabranch.errors import Corrupt
from anabranch.model.clock import Position
from anabranch.model.commits import Commit
from anabranch.model.ids import ROOT_NAMESPACE, LineId, RepositoryId
from anabranch.settings import IDS_PER_STATEMENT, LINE_GAP_COMMITS, LINE_RUNS_PER_STATEMENT

_BACKUP = "restore the catalogue from a backup"
_LATER_LINE = re.compile(r"^(?P<branch>.+)\.[0-9]+$")


class LineRun(NamedTuple):
    """A stretch of a line, both ends included."""

    line: str
    low: int
    high: int


def describe(cx: Connection, positions: Iterable[Position]) -> list[Commit]:
    """Read whole commits, in the order of the positions."""
    wanted = list(positions)
    runs = list(_runs(wanted))
    lines = LineNumbers(cx, {p.line for p in wanted})
    rows = {(r.line_id, r.commit_index): r for r in _read(cx, _COMMITS, runs)}
    if gone := [p for p in wanted if (p.line, p.index) not in rows]:
        raise Corrupt(f"commit {gone[0].index} of line {gone[0].line!r} is missing", hint=_BACKUP)
    parents = _further_parents(cx, runs) if any(rows[p.line, p.index].is_merge for p in wanted) else {}
    for position in wanted:
        first = lines.before(position)
        parents[position] = ([first] if first else []) + parents.get(position, [])
    missing = {p for found in parents.values() for p in found if (p.line, p.index) not in rows}
    hashes = {key: row.hash for key, row in rows.items()} | _hashes(cx, missing)
    sources: dict[Position, list[str]] = defaultdict(list)
    for row in _read(cx, _PROVENANCE, runs):
        sources[Position(row.line_id, row.commit_index)].append(row.commit_hash or row.source)
    facts: dict[Position, dict[str, Any]] = defaultdict(dict)
    for row in _read(cx, _FACTS, runs):
        facts[Position(row.line_id, row.commit_index)][row.key] = row.value
    tables = _touched_tables(cx, runs, set(wanted), lines)
    return [
        Commit(
            (row := rows[p.line, p.index]).hash,
            lines.commit_id(p),
            row.author,
            row.message,
            to_datetime(row.started_at),
            to_datetime(row.finished_at),
            tuple(hashes[x.line, x.index] for x in parents[p] if (x.line, x.index) in hashes),
            tuple(sorted(tables.get(p, ()))),
            tuple(sources.get(p, ())),
            facts.get(p, {}),
        )
        for p in wanted
    ]


def _lines_above(one: bool) -> Any:
    """One or several lines and those they spring from, up to where look-ups of entries end."""
    c, b, above = t.lines.c, t.branches.c, t.lines.alias("above")
    wanted = c.id == sa.bindparam("line") if one else c.id.in_(sa.bindparam("lines", expanding=True))
    first = sa.select(c.id, c.parent_line, c.depth).where(wanted)
    way = first.cte("way", recursive=True)
    up = sa.select(above.c.id, above.c.parent_line, above.c.depth).join(way, above.c.id == way.c.parent_line)
    way = way.union(up.where(way.c.depth > 0))
    described = sa.select(c.id, c.repository_id, c.name, c.parent_line, c.parent_index, c.start, c.depth)
    described = described.add_columns(b.name.label("branch")).join(way, way.c.id == c.id)
    return described.outerjoin(t.branches, b.id == c.branch_id)


_LINE_ABOVE, _LINES_ABOVE = Prepared(_lines_above, True), Prepared(_lines_above, False)


@prepared
def _lines_named() -> Any:
    c = t.lines.c
    named = c.name.in_(sa.bindparam("names", expanding=True))
    return sa.select(c.name).where(c.repository_id.in_(sa.bindparam("repositories", expanding=True)), named)


@dataclass
class LineNumbers:
    """The lines of some commits, and those above that may hold entries of their states, read at once."""

    cx: Connection
    asked: Iterable[str]
    _rows: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = set(self.asked)
        self._rows |= {row.id: row for part in _parts(wanted) for row in self._read(part)}
        above = {r.parent_line for r in self._rows.values() if r.parent_line and r.depth}
        if lost := (wanted | above) - set(self._rows):
            raise _lost(lost)
        self._branches = self._named_after()

    def _read(self, lines: Sequence[str]) -> Sequence[Any]:
        one = len(lines) == 1
        rows = _LINE_ABOVE(self.cx, {"line": lines[0]}) if one else _LINES_ABOVE(self.cx, {"lines": lines})
        found: list[Any] = rows.all()
        return found

    def _named_after(self) -> dict[str, str]:
        """The branch each line began on, by its current name or the one it had when deleted."""
        gone = [r for r in self._rows.values() if r.branch is None and _LATER_LINE.match(r.name)]
        stems = {_LATER_LINE.sub(r"\g<branch>", r.name): r.repository_id for r in gone}
        known, repositories = set[str](), list(set(stems.values()))
        for part in _parts(stems):
            known |= set(_lines_named(self.cx, {"repositories": repositories, "names": part}).scalars())
        later = {r.id: stem for r in gone if (stem := _LATER_LINE.sub(r"\g<branch>", r.name)) in known}
        return {id_: later.get(id_) or r.branch or r.name for id_, r in self._rows.items()}

    @property
    def known(self) -> list[str]:
        return list(self._rows)

    def start(self, line: str) -> int:
        """The number of a line's first commit: how many first parents it has."""
        return int(self._rows[line].start)

    def number(self, position: Position) -> int:
        """How many first parents a commit has: its number on any branch that has it as a first parent."""
        return self.start(position.line) + position.index

    def commit_id(self, position: Position) -> str:
        """The id of a commit: the branch it was made on and its number there, such as `main/7`."""
        return f"{self._branches[position.line]}/{self.number(position)}"

    def before(self, position: Position) -> Position | None:
        """The first parent."""
        if position.index:
            return Position(position.line, position.index - 1)
        row = self._rows[position.line]
        return Position(LineId(row.parent_line), row.parent_index) if row.parent_line else None

    def places(self, position: Position) -> Iterator[Position]:
        """Where an entry of a commit's state may be, as `Clock.entry_positions`."""
        at: Position | None = position
        for _ in self._rows:
            if at is None:
                return
            yield at
            if self._rows[at.line].depth == 0:
                return
            at = self.before(Position(at.line, 0))


def commit_id(cx: Connection, position: Position) -> str:
    """Read the id of a commit, such as `main/7`."""
    return LineNumbers(cx, [position.line]).commit_id(position)


def by_number(cx: Connection, repository: RepositoryId, branch: str, number: int) -> Position | None:
    """Find a commit by its number on a branch that no longer exists: the newest made on a branch of that name."""
    c = t.lines.c
    later = (c.name > f"{branch}.") & (c.name < f"{branch}/")  # `dev.2`, `dev.3` …
    query = sa.select(c.id, c.name, c.tip).where(c.repository_id == repository, sa.or_(c.name == branch, later))
    rows = [r for r in cx.execute(query) if r.name == branch or _LATER_LINE.match(r.name)]
    lines = LineNumbers(cx, [r.id for r in rows])
    inside = [r for r in rows if lines.start(r.id) <= number <= lines.start(r.id) + r.tip]
    newest = max(inside, key=lambda r: (len(r.name), r.name), default=None)
    return Position(newest.id, number - lines.start(newest.id)) if newest else None


def _parts(found: Iterable[Any], size: int = IDS_PER_STATEMENT) -> Iterator[list[Any]]:
    every = list(found)
    yield from (every[start : start + size] for start in range(0, len(every), size))


def _lost(lines: Iterable[str]) -> Corrupt:
    missing = ", ".join(map(repr, sorted(lines)))
    return Corrupt(f"line {missing} is missing, or springs from itself", hint=_BACKUP)


def _runs(positions: Iterable[Position]) -> Iterator[LineRun]:
    """Join the positions on each line into stretches."""
    by_line: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        by_line[position.line].append(position.index)
    for line, indexes in by_line.items():
        ordered = sorted(indexes)
        low = ordered[0]
        for index, following in zip(ordered, [*ordered[1:], None], strict=True):
            if following is None or following - index > LINE_GAP_COMMITS:
                yield LineRun(line, low, index)
                low = following or 0


def _on_runs(table: str, columns: str, count: int) -> Any:
    """Select columns of a table for all commits on a number of stretches."""
    types: dict[str, Any] = {"line": t.commits.c.line_id.type, "low": sa.BigInteger(), "high": sa.BigInteger()}
    rows = [tuple(sa.bindparam(f"{name}_{i}", type_=kind) for name, kind in types.items()) for i in range(count)]
    runs = sa.values(*(sa.column(name, kind) for name, kind in types.items()), name="runs").data(rows).cte("runs")
    read = t.metadata.tables[table]
    inside = (read.c.line_id == runs.c.line) & read.c.commit_index.between(runs.c.low, runs.c.high)
    wanted = (read.c.line_id, read.c.commit_index, *(read.c[name] for name in columns.split()))
    return sa.select(*wanted).select_from(runs).join(read, inside)


_Reading = Mapping[int, Prepared]


def _reading(table: str, columns: str) -> _Reading:
    return {count: Prepared(_on_runs, table, columns, count) for count in (1, LINE_RUNS_PER_STATEMENT)}


_COMMITS = _reading("ana_commits", "hash author message started_at finished_at is_merge")
_HASHES = _reading("ana_commits", "hash")
_EDGES = _reading("ana_merge_edges", "number parent_line parent_index")
_PROVENANCE = _reading("ana_provenance", "number commit_hash source")
_FACTS = _reading("ana_facts", "key value")
_ENTRIES = _reading("ana_entries", "thing_id kind carried dropped")


def _read(cx: Connection, reading: _Reading, runs: Sequence[LineRun]) -> list[Any]:
    """Read what lies on some stretches, ordered by number if there is one."""
    found: list[Any] = []
    for part in _parts(runs, LINE_RUNS_PER_STATEMENT):
        count = 1 if len(part) == 1 else LINE_RUNS_PER_STATEMENT
        padded = [*part, *[LineRun("", 0, -1)] * (count - len(part))]
        given = {f"{name}_{i}": value for i, run in enumerate(padded) for name, value in run._asdict().items()}
        found += reading[count](cx, given).all()
    return sorted(found, key=lambda row: row.number) if found and "number" in found[0]._fields else found


def _further_parents(cx: Connection, runs: Sequence[LineRun]) -> dict[Position, list[Position]]:
    found: dict[Position, list[Position]] = defaultdict(list)
    for row in _read(cx, _EDGES, runs):
        found[Position(row.line_id, row.commit_index)].append(Position(LineId(row.parent_line), row.parent_index))
    return found


def _hashes(cx: Connection, positions: Iterable[Position]) -> dict[tuple[str, int], str]:
    return {(r.line_id, r.commit_index): r.hash for r in _read(cx, _HASHES, list(_runs(positions)))}


def _touched_tables(
    cx: Connection, runs: Sequence[LineRun], wanted: set[Position], lines: LineNumbers
) -> dict[Position, list[str]]:
    """Name the tables that commits changed, as they were called there; a dropped one by its last name."""
    touched = [
        (position, row)
        for row in _read(cx, _ENTRIES, runs)
        if row.kind == "table" and not row.carried
        if (position := Position(row.line_id, row.commit_index)) in wanted
    ]
    names = _Names(cx, lines, {row.thing_id for _, row in touched})
    found: dict[Position, list[str]] = defaultdict(list)
    for position, row in touched:
        at = lines.before(position) if row.dropped else position
        found[position].append(names.full_name(at or position, row.thing_id) or row.thing_id)
    return found


def _names(on_lines: bool) -> Any:
    """The names that some things ever had, on some lines or on any."""
    c = t.names.c
    query = sa.select(c.thing_id, c.line_id, c.commit_index, c.parent_id, c.name)
    query = query.where(c.thing_id.in_(sa.bindparam("things", expanding=True)))
    return query.where(c.line_id.in_(sa.bindparam("lines", expanding=True))) if on_lines else query


_NAMES = {on_lines: Prepared(_names, on_lines) for on_lines in (False, True)}


class _Names:
    """Every name that some tables and their namespaces ever had, with the commits that gave it."""

    def __init__(self, cx: Connection, lines: LineNumbers, things: set[str]) -> None:
        self._lines, self._cx = lines, cx
        self._given: dict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
        known: set[str] = set()
        while things:
            rows = [row for part in _parts(things) for row in self._read(part)]
            for row in rows:
                self._given[row.thing_id, row.line_id].append((row.commit_index, row.parent_id, row.name))
            known |= things
            things = {row.parent_id for row in rows} - known - {ROOT_NAMESPACE}
        for given in self._given.values():
            given.sort()

    def _read(self, things: Sequence[str]) -> Sequence[Any]:
        some = len(self._lines.known) <= IDS_PER_STATEMENT
        asked = {"things": things} | ({"lines": self._lines.known} if some else {})
        found: list[Any] = _NAMES[some](self._cx, asked).all()
        return found

    def full_name(self, at: Position, thing: str) -> str | None:
        """The full name of a thing at a commit, with its namespaces."""
        parts: list[str] = []
        seen: set[str] = set()
        while thing != ROOT_NAMESPACE and (found := self._last(at, thing)) is not None:
            refuse_loop(seen, thing)
            parts.append(found[1])
            thing = found[0]
        return ".".join(reversed(parts)) or None

    def _last(self, at: Position, thing: str) -> tuple[str, str] | None:
        for place in self._lines.places(at):
            given = self._given.get((thing, place.line), [])
            until = bisect_right(given, place.index, key=lambda row: row[0])
            if until:
                return given[until - 1][1:]
        return None
