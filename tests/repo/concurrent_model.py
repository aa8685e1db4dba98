"""A model of a repository that several sessions write to: what each commit must show.

A session notes what it published and what it read, by the hash of the commit. Afterwards the model walks the commits
from the first on: the state of a commit is that of its first parent, changed as the session was told that it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

import anabranch as ab
from anabranch.model.facts import OWN

Row = dict[str, Any]


class Wrong(AssertionError):
    """The repository shows something else than the model."""


@dataclass(frozen=True)
class TableModel:
    """The rows of a table by their id, which is unique in tables without a key, too."""

    columns: tuple[str, ...]
    rows: Mapping[int, Row]


@dataclass(frozen=True)
class State:
    """All that a commit shows."""

    tables: Mapping[str, TableModel] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def with_table(self, name: str, table: TableModel | None) -> State:
        rest = {n: t for n, t in self.tables.items() if n != name}
        return replace(self, tables=rest if table is None else {**rest, name: table})

    def with_file(self, path: str, content: bytes | None) -> State:
        rest = {p: c for p, c in self.files.items() if p != path}
        return replace(self, files=rest if content is None else {**rest, path: content})


# --- what a commit did ---


@dataclass(frozen=True)
class RowsChanged:
    """Rows of a table that a commit changed, each as the session read it before and after."""

    table: str
    rows: Mapping[int, tuple[Row | None, Row | None]]

    def apply(self, state: State) -> State:
        there = state.tables.get(self.table)
        if there is None:
            raise Wrong(f"rows of {self.table!r} were written, which is not there")
        rows = dict(there.rows)
        for id_, (before, after) in self.rows.items():
            if rows.get(id_) != before:
                raise Wrong(f"row {id_} of {self.table!r} was {rows.get(id_)} when it was changed from {before}")
            rows.pop(id_, None)
            if after is not None:
                rows[id_] = after
        return state.with_table(self.table, replace(there, rows=rows))


@dataclass(frozen=True)
class TableChanged:
    """A table that a commit changed as a whole: it was made, dropped, overwritten, or got other columns."""

    table: str
    before: TableModel | None
    after: TableModel | None

    def apply(self, state: State) -> State:
        if state.tables.get(self.table) != self.before:
            raise Wrong(f"{self.table!r} was {state.tables.get(self.table)} when it was changed from {self.before}")
        return state.with_table(self.table, self.after)


@dataclass(frozen=True)
class FileChanged:
    """A file that was put, deleted or moved."""

    path: str
    before: bytes | None
    after: bytes | None

    def apply(self, state: State) -> State:
        is_deleted_twice = self.after is None and self.path not in state.files
        if state.files.get(self.path) != self.before and not is_deleted_twice:
            found, expected = _short(state.files.get(self.path)), _short(self.before)
            raise Wrong(f"{self.path!r} was {found} when it was changed from {expected}")
        return state.with_file(self.path, self.after)


@dataclass(frozen=True)
class FileGrew:
    """Bytes that were appended to a file, whatever others appended before."""

    path: str
    added: bytes

    def apply(self, state: State) -> State:
        return state.with_file(self.path, state.files.get(self.path, b"") + self.added)


@dataclass(frozen=True)
class JobMade:
    """A table that a job or pipeline makes from another; it is taken over, and must have what was made of its input."""

    table: str
    source: str
    at: str
    """The commit that the input was read at."""
    made: Callable[[Row], Row]
    is_whole: bool = False
    """Whether the table has no other rows."""

    def check(self, found: TableModel | None, read: State) -> TableModel:
        there = read.tables.get(self.source)
        made = [self.made(row) for row in there.rows.values()] if there else []
        wrong = [row for row in made if found is None or found.rows.get(row["id"]) != row]
        if found is None or wrong:
            raise Wrong(f"the job made {wrong} from {self.source!r} at {self.at[:10]}, {self.table!r} has {found}")
        if self.is_whole and len(found.rows) != len(made):
            raise Wrong(f"only {made} was made from {self.source!r} at {self.at[:10]}, {self.table!r} has {found}")
        return found


Change = RowsChanged | TableChanged | FileChanged | FileGrew


@dataclass(frozen=True)
class Made:
    """A commit that a session was told it published."""

    commit: str
    branch: str
    label: str
    """Which step of which session made it, for messages."""
    changes: tuple[Change, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    job: JobMade | None = None
    merged: tuple[str, str] | None = None
    """For a merge or revert: the commit whose change since another, the second, was made again; the second is `` if it
    is the nearest common ancestor."""
    rule: str | None = None
    """Which side wins where a merge met changes of the same cell."""


@dataclass(frozen=True)
class Seen:
    """What a session read at a commit: a table, a file, or the names of all files."""

    commit: str
    label: str
    table: str | None = None
    file: str | None = None
    found: Any = None
    """A TableModel, bytes, or a list of paths; None if there was no such table or file."""


@dataclass(frozen=True)
class Compared:
    """What a session was told about the rows that differ between two commits."""

    before: str
    after: str
    label: str
    table: str
    counts: Mapping[str, int]


@dataclass
class Journal:
    """All that one session noted."""

    made: list[Made] = field(default_factory=list)
    seen: list[Seen | Compared] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    """How often what a step asked for was refused, by step and kind of error."""


# --- merging ---

_UNKNOWN = object()


def _merged_row(base: Row | None, ours: Row | None, theirs: Row | None, rule: str | None) -> Any:
    """The row after a merge; unknown where it should be a conflict."""
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        return {"ours": ours, "theirs": theirs}[rule] if rule else _UNKNOWN
    found = {}
    for column in ours:
        was, mine, other = ((r or {}).get(column, _UNKNOWN) for r in (base, ours, theirs))
        if mine == other or other == was:
            found[column] = mine
        elif mine == was:
            found[column] = other
        elif rule:
            found[column] = mine if rule == "ours" else other
        else:
            return _UNKNOWN
    return found


def _merged_table(base: TableModel | None, ours: Any, theirs: Any, rule: str | None) -> Any:
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if base is None or ours is None or theirs is None or not base.columns == ours.columns == theirs.columns:
        return _UNKNOWN  # Merges of columns have a model of their own, merge_oracle.py.
    ids = {**base.rows, **ours.rows, **theirs.rows}
    rows = {i: _merged_row(base.rows.get(i), ours.rows.get(i), theirs.rows.get(i), rule) for i in ids}
    if _UNKNOWN in rows.values():
        raise Wrong("a merge was published in which rows are in conflict")
    return TableModel(ours.columns, {i: row for i, row in rows.items() if row is not None})


def _merged_file(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> Any:
    if theirs == base or ours == theirs:
        return ours
    return theirs if ours == base else _UNKNOWN  # Merges of files have a model in test_file_histories.py.


# --- the walk over all commits ---


class Model:
    """What every commit of a repository must show."""

    def __init__(self, repo: ab.Repository, first: str, journals: Sequence[Journal]) -> None:
        self.repo, self.first = repo, first
        self.made: dict[str, Made] = {}
        for made in (m for journal in journals for m in journal.made):
            if made.commit in self.made:
                raise Wrong(f"{made.label} and {self.made[made.commit].label} both published {made.commit}")
            self.made[made.commit] = made
        self.journals = journals
        self.parents: dict[str, tuple[str, ...]] = {}
        self.above: dict[str, frozenset[str]] = {}
        """All ancestors of each commit, itself included."""
        self.states: dict[str, State] = {}
        self.adopted = 0
        """How many tables and files were taken as the repository shows them: the model does not know them."""

    def check(self) -> None:
        """Compare everything that the sessions noted with what the commits must show."""
        self._walk()
        self._check_moves()
        for journal in self.journals:
            for seen in journal.seen:
                self._check_seen(seen) if isinstance(seen, Seen) else self._check_compared(seen)
        for commit in self._heads():
            self._check_commit(commit)

    def _heads(self) -> dict[str, None]:
        """The commits that branches show, but for those of runs that met others' changes and published nothing."""
        return dict.fromkeys(b.commit for b in self.repo.branches() if not b.name.startswith("run/"))

    def _walk(self) -> None:
        """Find the state of every commit, parents before children."""
        commits = {c.hash: c for c in self.repo.log([*self.made, *self._heads()])}
        todo = list(commits)
        while todo:
            commit = commits[todo[-1]]
            waiting = [p for p in commit.parents if p not in self.states]
            if commit.hash in self.states or waiting:
                todo = todo[:-1] if commit.hash in self.states else [*todo, *waiting]
                continue
            self.parents[commit.hash] = commit.parents
            above = (self.above[p] for p in commit.parents)
            self.above[commit.hash] = frozenset((commit.hash,)).union(*above)
            self.states[commit.hash] = self._state(commit)

    def _state(self, commit: ab.Commit) -> State:
        if not commit.parents:
            return State()
        if commit.hash == self.first:
            return self._as_shown(commit.hash)
        made = self.made.get(commit.hash)
        if made is None:
            raise Wrong(f"nobody was told that {commit!r} was published")
        facts = {name: value for name, value in commit.facts.items() if name not in OWN}
        if facts != dict(made.facts):
            raise Wrong(f"{made.label}: the facts are {commit.facts}, {made.facts} were given")
        state = self.states[commit.parents[0]]
        try:
            for change in made.changes:
                state = change.apply(state)
            if made.job is not None:
                found = made.job.check(self._table(commit.hash, made.job.table), self.states[made.job.at])
                state = state.with_table(made.job.table, found)
            return self._merge(commit, made, state) if made.merged else state
        except Wrong as error:
            raise Wrong(f"{made.label}, {commit!r}: {error}") from None

    def _merge(self, commit: ab.Commit, made: Made, ours: State) -> State:
        assert made.merged is not None
        source, since = made.merged
        bases = [since] if since else self._merge_bases(commit.parents[0], source)
        base, theirs = self.states[bases[0]], self.states[source]
        is_known = len(bases) == 1
        for name in sorted({*base.tables, *ours.tables, *theirs.tables}):
            sides = (s.tables.get(name) for s in (base, ours, theirs))
            found = _merged_table(*sides, rule=made.rule) if is_known else _UNKNOWN
            ours = ours.with_table(name, self._table(commit.hash, name) if found is _UNKNOWN else found)
        for path in sorted({*base.files, *ours.files, *theirs.files}):
            sides = (s.files.get(path) for s in (base, ours, theirs))  # type: ignore[misc]
            found = _merged_file(*sides) if is_known else _UNKNOWN  # type: ignore[arg-type]
            ours = ours.with_file(path, self._file(commit.hash, path) if found is _UNKNOWN else found)
        return ours

    def _merge_bases(self, one: str, other: str) -> list[str]:
        shared = self.above[one] & self.above[other]
        return [c for c in shared if not any(c in self.above[d] for d in shared if d != c)]

    # --- what the repository shows ---

    def _table(self, commit: str, name: str) -> TableModel | None:
        self.adopted += 1
        return read_table(self.repo, commit, name)

    def _file(self, commit: str, path: str) -> bytes | None:
        self.adopted += 1
        return read_file(self.repo, commit, path)

    def _as_shown(self, commit: str) -> State:
        tables = {t.name: read_table(self.repo, commit, t.name) for t in self.repo.tables(at=commit)}
        files = {p: read_file(self.repo, commit, p) for p in list_files(self.repo, commit)}
        return State({n: t for n, t in tables.items() if t}, {p: c for p, c in files.items() if c is not None})

    # --- checks ---

    def _check_moves(self) -> None:
        """Each branch moved from where it was, and to everything that somebody was told was published on it."""
        there = {b.name for b in self.repo.branches()}
        shown: dict[str, set[str | None]] = {}
        for name in there:
            moves = self.repo.reflog(name)
            for later, earlier in pairwise(moves):
                if later.before != earlier.after:
                    raise Wrong(f"branch {name!r} moved from {later.before}, it was at {earlier.after}")
            shown[name] = {m.after for m in moves}
        lost = [m for m in self.made.values() if m.branch in there and m.commit not in shown[m.branch]]
        if lost:
            raise Wrong(
                f"{lost[0].label} was told that it published {lost[0].commit}, and {lost[0].branch!r} never was there"
            )

    def _check_seen(self, seen: Seen) -> None:
        state = self.states.get(seen.commit)
        if state is None:
            raise Wrong(f"{seen.label} read at {seen.commit}, which is not there")
        if seen.table is not None:
            _expect(seen.found, state.tables.get(seen.table), f"{seen.label}: {seen.table!r} at {seen.commit[:10]}")
        elif seen.file is not None:
            _expect(seen.found, state.files.get(seen.file), f"{seen.label}: {seen.file!r} at {seen.commit[:10]}")
        else:
            _expect(seen.found, sorted(state.files), f"{seen.label}: the files at {seen.commit[:10]}")

    def _check_compared(self, seen: Compared) -> None:
        sides = [self.states[c].tables.get(seen.table) for c in (seen.before, seen.after)]
        if any(s is None for s in sides) or sides[0].columns != sides[1].columns:  # type: ignore[union-attr]
            return
        old, new = (dict(s.rows) for s in sides if s is not None)
        expected = {
            "inserted": len(new.keys() - old.keys()),
            "updated": sum(old[i] != new[i] for i in old.keys() & new.keys()),
            "deleted": len(old.keys() - new.keys()),
        }
        found = {word: seen.counts[word] for word in expected}
        _expect(found, expected, f"{seen.label}: the difference of {seen.table!r} from {seen.before} to {seen.after}")

    def _check_commit(self, commit: str) -> None:
        shown, expected = self._as_shown(commit), self.states[commit]
        for name in sorted({*shown.tables, *expected.tables}):
            _expect(shown.tables.get(name), expected.tables.get(name), f"{name!r} at {commit[:10]}")
        for path in sorted({*shown.files, *expected.files}):
            _expect(shown.files.get(path), expected.files.get(path), f"{path!r} at {commit[:10]}")


def _expect(found: Any, expected: Any, what: str) -> None:
    if found == expected:
        return
    if isinstance(found, TableModel) and isinstance(expected, TableModel) and found.columns == expected.columns:
        ids = sorted({*found.rows, *expected.rows})
        pairs = {i: (found.rows.get(i), expected.rows.get(i)) for i in ids}
        raise Wrong(f"{what}: found and expected are { ({i: p for i, p in pairs.items() if p[0] != p[1]}) }")
    raise Wrong(f"{what}: {_short(found)}, expected {_short(expected)}")


def _short(value: Any) -> str:
    """A value for messages; of long content, which lines are repeated how often."""
    if not isinstance(value, bytes):
        return repr(value)
    return ", ".join(f"{line.decode()} x {len(list(same))}" for line, same in groupby(value.splitlines()))


def table_model(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> TableModel:
    """The model of a table that was read."""
    listed = [dict(row) for row in rows]
    by_id = {row["id"]: row for row in listed}
    if len(by_id) < len(listed):
        raise Wrong(f"a row is there twice: {listed}")
    return TableModel(tuple(columns), by_id)


def read_table(repo: ab.Repository, commit: str, name: str) -> TableModel | None:
    """Read a table at a commit; None if there is none."""
    try:
        table = repo.table(name, at=commit)
        return table_model(table.schema.names, table.rows())
    except ab.NotFound:
        return None


def read_file(repo: ab.Repository, commit: str, path: str) -> bytes | None:
    """Read a file at a commit; None if there is none."""
    try:
        return repo.files(commit).read(path)
    except ab.NotFound:
        return None


def list_files(repo: ab.Repository, commit: str) -> list[str]:
    """List the paths of all files at a commit."""
    return sorted(found.path for found in repo.files(commit).walk() if not found.is_folder)
