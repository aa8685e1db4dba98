"""Random histories of several sessions on one store, compared with a model of what each was told.

Each session opens the store by itself, in a thread or a process, and takes random steps: on tables with and without a
key, their columns, files, facts, jobs, pipelines, merges, reverts, open commits, resets, gc and verify. Another kind
of step is a method and a line in `STEPS`. By hand: `python -m tests.repo.concurrent_histories 0:20`.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.model.facts import JOB, PIPELINE
from tests.catalog.processes import Child
from tests.repo.concurrent_model import (
    Change,
    Compared,
    FileChanged,
    FileGrew,
    JobMade,
    Journal,
    Made,
    Model,
    Row,
    RowsChanged,
    Seen,
    TableChanged,
    TableModel,
    Wrong,
    list_files,
    read_file,
    read_table,
    table_model,
)

BRANCHES = ("main", "main", "main", "dev")
TABLES = ("keyed", "keyed", "keyless", "wide", "altered")
PATHS = ("a", "b", "d/a", "d/b", "d/e/c", "log", "log")
VALUES = (None, 0, 1, 2, 3)
MAKE = "make"
FACTS: tuple[Any, ...] = (None, 5, -1, 2**70, "5", True, [1, None], {"rows": 7})


@dataclass(frozen=True)
class Place:
    """A store, and how a session opens it."""

    url: str
    repository: str
    objects: str | None = None
    is_small: bool = False
    """Whether objects are files of a few rows that manifests list, and tables are folded all the time."""
    collects_at_once: bool = False
    """Whether gc leaves nothing its time of grace."""

    @property
    def settings(self) -> ab.Settings:
        if not self.is_small:
            return ab.Settings()
        objects = ab.ObjectSettings(manifest_object_limit=2, file_row_limit=5, inline_limit_bytes=0)
        folding = ab.FoldingSettings(commit_limit=3, row_limit=40, rewrite_row_limit=20)
        return ab.Settings(objects=objects, folding=folding)

    def open(self) -> ab.Repository:
        return ab.open(self.url, repository=self.repository, engine="duck", author="ann", settings=self.settings)

    def init(self) -> ab.Repository:
        more = {} if self.objects is None else {"objects": self.objects}
        options: dict[str, Any] = {"engine": "duck", "author": "ann", "settings": self.settings, **more}
        return ab.init(self.url, repository=self.repository, **options)


def make(repo: ab.Repository) -> str:
    """Make what the sessions work on; return the commit."""
    with repo.commit("main", MAKE) as tx:
        tx.create_table("keyed", [{"id": n, "a": n, "b": 0} for n in range(8)], key="id")
        tx.create_table("keyless", [{"id": n, "a": n} for n in range(8)])
        tx.create_table("wide", [{"id": n, "a": n, "b": 0} for n in range(60)], key="id")
        tx.create_table("altered", [{"id": n, "a": n} for n in range(4)], key="id")
    assert tx.commit is not None
    repo.branch("dev")
    return tx.commit.hash


def doubled(shard: Any) -> Iterator[Row]:
    """The function of a job over the table `keyed`."""
    yield from (twice(row) for row in shard.rows("keyed"))


def twice(row: Row) -> Row:
    """What the job makes of a row."""
    return {"id": row["id"], "twice": 2 * (row["a"] or 0)}


@dp.materialized_view(key="id", frames="rows")
def computed(keyed: list[Row]) -> list[Row]:
    """The table of a pipeline over the table `keyed`."""
    return [twice(row) for row in keyed]


@dataclass
class Opened:
    """An open commit, and what its tables and files were when it was begun."""

    commit: ab.OpenCommit
    branch: str
    label: str
    work: Work


@dataclass
class Work:
    """What a commit is doing, as the session reads it inside the commit."""

    tx: Any
    random: random.Random
    new_id: Callable[[], int]
    before: dict[str, TableModel | None] = field(default_factory=dict)
    now: dict[str, TableModel | None] = field(default_factory=dict)
    files_before: dict[str, bytes | None] = field(default_factory=dict)
    files_now: dict[str, bytes | None] = field(default_factory=dict)
    only_grown: dict[str, bytes] = field(default_factory=dict)
    """The bytes appended to files to which nothing else was done."""
    whole: set[str] = field(default_factory=set)
    """The tables that were changed as a whole."""

    # --- tables ---

    def table(self, name: str) -> TableModel | None:
        if name not in self.before:
            there = any(kind == "table" and n == name for n, kind, _ in self.tx.all_names())
            self.before[name] = self.now[name] = self._read(name) if there else None
        return self.now[name]

    def _read(self, name: str) -> TableModel:
        table = self.tx.table(name)
        return table_model(table.schema.names, table.rows())

    def change_table(self, name: str) -> str:
        """Run one statement on a table, and read that it did what it says."""
        there = self.table(name)
        if there is None:
            return f"no {name}"
        verbs = [self._insert, self._update, self._update, self._update_some, self._delete]
        verbs += [self._overwrite] if self.random.random() < 0.1 else []
        verbs += [self._alter, self._alter] if name == "altered" else []
        verbs += [self._upsert, self._upsert] if name != "keyless" else []
        verb = self.random.choice(verbs)
        expected = verb(self.tx.table(name), there, name)
        found = self._read(name)
        if found != expected:
            raise Wrong(f"{verb.__name__} on {name!r} inside a commit: {found}, expected {expected}")
        self.now[name] = found
        return f"{verb.__name__[1:]} {name}"

    def _row(self, table: TableModel, id_: int) -> Row:
        return {c: id_ if c == "id" else self.random.choice(VALUES) for c in table.columns}

    def _some_id(self, table: TableModel) -> int:
        return self.random.choice([*table.rows, 0])

    def _plain(self, table: TableModel) -> str:
        return self.random.choice([c for c in table.columns if c != "id"])

    def _insert(self, writer: Any, table: TableModel, name: str) -> TableModel:
        rows = [self._row(table, self.new_id()) for _ in range(self.random.choice([1, 1, 2, 12]))]
        writer.insert(rows)
        return TableModel(table.columns, {**table.rows, **{row["id"]: row for row in rows}})

    def _upsert(self, writer: Any, table: TableModel, name: str) -> TableModel:
        row = self._row(table, self._some_id(table))
        writer.upsert([row])
        return TableModel(table.columns, {**table.rows, row["id"]: row})

    def _update(self, writer: Any, table: TableModel, name: str) -> TableModel:
        id_, column, value = self._some_id(table), self._plain(table), self.random.choice(VALUES)
        writer.update({column: value}, where=f"id = {id_}")
        changed = {id_: {**table.rows[id_], column: value}} if id_ in table.rows else {}
        return TableModel(table.columns, {**table.rows, **changed})

    def _update_some(self, writer: Any, table: TableModel, name: str) -> TableModel:
        low, column = self._some_id(table), self._plain(table)
        high = low + self.random.choice([0, 2, 10])
        writer.update({column: f"{column} + 1"}, where=f"id BETWEEN {low} AND {high}")
        met = {i: row for i, row in table.rows.items() if low <= i <= high and row[column] is not None}
        changed = {i: {**row, column: row[column] + 1} for i, row in met.items()}
        return TableModel(table.columns, {**table.rows, **changed})

    def _delete(self, writer: Any, table: TableModel, name: str) -> TableModel:
        id_ = self._some_id(table)
        writer.delete(where=f"id = {id_}")
        return TableModel(table.columns, {i: row for i, row in table.rows.items() if i != id_})

    def _overwrite(self, writer: Any, table: TableModel, name: str) -> TableModel:
        self.whole.add(name)
        kept = dict(list(table.rows.items())[:6])
        made = self._row(table, self.new_id())
        writer.overwrite([*kept.values(), made])
        return TableModel(table.columns, {**kept, made["id"]: made})

    def _alter(self, writer: Any, table: TableModel, name: str) -> TableModel:
        self.whole.add(name)
        names = [c for c in table.columns if c not in ("id", "a")]
        made = f"c{self.new_id()}"
        verb = self.random.choice(["add", "add", "drop", "rename"]) if names else "add"
        if verb == "add" and len(names) < 3:
            default = self.random.choice([None, 7])
            writer.add_column(made, "int", default=default)
            return TableModel((*table.columns, made), {i: {**r, made: default} for i, r in table.rows.items()})
        old = self.random.choice(names)
        if verb == "rename":
            writer.rename_column(old, made)
            rows = {i: {made if c == old else c: v for c, v in r.items()} for i, r in table.rows.items()}
            return TableModel(tuple(made if c == old else c for c in table.columns), rows)
        writer.drop_column(old)
        rows = {i: {c: v for c, v in r.items() if c != old} for i, r in table.rows.items()}
        return TableModel(tuple(c for c in table.columns if c != old), rows)

    # --- files ---

    def file(self, path: str) -> bytes | None:
        if path not in self.files_before:
            try:
                found: bytes | None = self.tx.files.read(path)
            except ab.NotFound:
                found = None
            self.files_before[path] = self.files_now[path] = found
        return self.files_now[path]

    def change_file(self) -> str:
        """Change one file."""
        path, verb = self.random.choice(PATHS), self.random.choice(["put", "append", "append", "delete", "move"])
        there = self.file(path)
        content = f"{self.new_id()}\n".encode() * self.random.choice([1, 1, 3, 2000])
        if verb == "append":
            self.tx.files.append(path, content)
            if path in self.only_grown or path not in self._touched():
                self.only_grown[path] = self.only_grown.get(path, b"") + content
            self.files_now[path] = (there or b"") + content
            return f"append {path}"
        if verb == "put":
            self.tx.files.put(path, content)
            self._set(path, content)
        elif there is not None and verb == "delete":
            self.tx.files.delete(path)
            self._set(path, None)
        elif there is not None:
            free = [p for p in PATHS if self.file(p) is None]
            if not free:
                return "nothing"
            target = self.random.choice(free)
            self.tx.files.move(path, target)
            self._set(path, None)
            self._set(target, there)
        return f"{verb} {path}"

    def _touched(self) -> set[str]:
        return {p for p, c in self.files_now.items() if c != self.files_before[p]}

    def _set(self, path: str, content: bytes | None) -> None:
        self.files_now[path] = content
        self.only_grown.pop(path, None)

    # --- what became of it ---

    def changes(self) -> tuple[Change, ...]:
        found: list[Change] = []
        for name, after in self.now.items():
            before = self.before[name]
            if before == after:
                continue
            if name in self.whole or before is None or after is None:
                found.append(TableChanged(name, before, after))
                continue
            ids = [i for i in {**before.rows, **after.rows} if before.rows.get(i) != after.rows.get(i)]
            found.append(RowsChanged(name, {i: (before.rows.get(i), after.rows.get(i)) for i in ids}))
        for path in sorted(self._touched()):
            if path in self.only_grown:
                found.append(FileGrew(path, self.only_grown[path]))
            else:
                found.append(FileChanged(path, self.files_before[path], self.files_now[path]))
        return tuple(found)

    def seen(self, commit: str, label: str) -> Iterator[Seen]:
        """What was read of the commit that this one began from."""
        yield from (Seen(commit, label, table=name, found=found) for name, found in self.before.items())
        yield from (Seen(commit, label, file=path, found=found) for path, found in self.files_before.items())


class Session:
    """One of several sessions that work on a store."""

    def __init__(self, place: Place, number: int, seed: int) -> None:
        self.place, self.number = place, number
        self.random = random.Random(f"{seed}/{number}")
        self.journal = Journal()
        self.opened: list[Opened] = []
        self.ids = 1000 * (number + 1)
        self.label = ""

    def run(self, steps: int) -> Journal:
        """Take some steps."""
        names = [name for name, weight in STEPS.items() for _ in range(weight)]
        with self.place.open() as repo:
            self.repo = repo
            for n in range(steps):
                name = self.random.choice(names)
                self.label = f"session {self.number}, step {n} ({name})"
                self.journal.steps.append(name)
                try:
                    getattr(self, name)()
                except Exception as error:
                    error.add_note(f"{self.label}: {self.journal.steps[-1]}")
                    raise
            for one in self.opened:
                one.commit.abort()
        return self.journal

    def new_id(self) -> int:
        """A number that no other session uses."""
        self.ids += 1
        return self.ids

    @contextmanager
    def may_be_refused(self, *errors: type[ab.AnabranchError]) -> Iterator[None]:
        """A block that others may make impossible: then nothing of it was published, and nothing is noted."""
        allowed = (*errors, *((ab.Unavailable,) if self.place.collects_at_once else ()))
        try:
            yield
        except allowed as error:
            said = f"{self.journal.steps[-1].partition(':')[0]}: {type(error).__name__}"
            self.journal.refused[said] = self.journal.refused.get(said, 0) + 1
            self.journal.steps[-1] += f" => {type(error).__name__}: {error.message}"

    def note(self, text: str) -> None:
        """Describe the step for messages."""
        self.journal.steps[-1] += f": {text}"

    def branch(self) -> str:
        return self.random.choice(BRANCHES)

    def past(self, branch: str, limit: int) -> list[ab.Commit]:
        """The newest commits of a branch, back to the one that made the tables."""
        return [c for c in self.repo.log(branch, limit=limit) if c.parents]

    def facts(self) -> dict[str, Any]:
        return {"said": self.random.choice(FACTS), "step": self.label} if self.random.random() < 0.5 else {}

    def some_work(self, work: Work) -> None:
        """Run a few statements."""
        for _ in range(self.random.randint(1, 3)):
            self.note(
                work.change_table(self.random.choice(TABLES)) if self.random.random() < 0.6 else work.change_file()
            )

    def published(self, commit: Any, branch: str, **said: Any) -> None:
        self.note(commit.hash[:10])
        self.journal.made.append(Made(commit.hash, branch, self.label, **said))

    # --- steps ---

    def commit(self) -> None:
        branch, facts = self.branch(), self.facts()
        with self.may_be_refused(ab.BranchMoved):
            with self.repo.commit(branch, self.label, facts=facts) as tx:
                work = Work(tx, self.random, self.new_id)
                self.some_work(work)
            self.journal.seen += work.seen(tx._start.parent.hash, self.label)
            changes = work.changes()
            if tx.commit is not None:
                self.published(tx.commit, branch, changes=changes, facts=facts)
            elif changes:
                raise Wrong(f"nothing was published, and the commit changed {changes}")

    def retried(self) -> None:
        """Add to a row, again and again until it comes through."""
        branch = self.branch()
        done: list[Work] = []

        def write(tx: Any) -> None:
            done[:] = [Work(tx, self.random, self.new_id)]
            done[0].change_table("keyed")

        with self.may_be_refused(ab.BranchMoved):
            commit = self.repo.commit(branch, self.label, retry=5)(write)
            if commit is not None:
                self.published(commit, branch, changes=done[0].changes())

    def open(self) -> None:
        branch, facts = self.branch(), self.facts()
        commit = self.repo.start(branch, message=self.label, facts=facts)
        found = Opened(commit, branch, self.label, Work(commit, self.random, self.new_id))
        self.opened.append(found)
        self.some_work(found.work)
        self.journal.seen += found.work.seen(commit._start.parent.hash, self.label)

    def go_on(self) -> None:
        """Write more to an open commit, and finish or abort it."""
        if not self.opened:
            return
        opened = self.opened.pop(self.random.randrange(len(self.opened)))
        if self.random.random() < 0.2:
            opened.commit.abort()
            return
        self.some_work(opened.work)
        with self.may_be_refused(ab.BranchMoved):
            try:
                commit = opened.commit.finish()
            except ab.BranchMoved:
                opened.commit.abort()
                raise
            if commit is not None:
                facts = dict(opened.commit._start.facts)
                self.published(commit, opened.branch, changes=opened.work.changes(), facts=facts)

    def merge(self) -> None:
        into, source = self.random.sample(["main", "dev"], 2)
        rule, mode = self.random.choice([None, "ours", "theirs"]), self.random.choice(["merge", "merge", "squash"])
        at = self.repo.show(source).hash
        self.note(f"{at[:10]} into {into}, {rule}, {mode}")
        with self.may_be_refused(ab.BranchMoved, ab.MergeConflict):
            rules = {"*": rule} if rule else {}
            done = self.repo.merge(at, into=into, message=self.label, rules=rules, mode=mode)  # type: ignore[arg-type]
            if done.commit is not None and not done.fast_forward and not done.up_to_date:
                self.published(done.commit, into, merged=(at, ""), rule=rule)

    def open_merge(self) -> None:
        """Merge in two steps: give all conflicts of rows and files to one side, then finish."""
        into, source = self.random.sample(["main", "dev"], 2)
        at, side = self.repo.show(source).hash, self.random.choice(["ours", "theirs"])
        self.note(f"{at[:10]} into {into}, {side}")
        kept = self.repo.start_merge(at, into=into, message=self.label)
        with self.may_be_refused(ab.BranchMoved, ab.MergeConflict, ab.InvalidRequest, ab.NotFound):
            try:
                for table in [name for name, found in kept.conflicts.items() if found.count()]:
                    kept.resolve(table, take=side)  # type: ignore[arg-type]
                done = kept.finish()
            except ab.AnabranchError:
                kept.abort()
                raise
            if done.commit is not None and not done.fast_forward and not done.up_to_date:
                self.published(done.commit, into, merged=(at, ""), rule=side)

    def revert(self) -> None:
        branch, three_way = self.branch(), self.random.random() < 0.5
        found = [c for c in self.past(branch, 6) if len(c.parents) == 1 and c.message != MAKE]
        if not found:
            return
        undone = self.random.choice(found)
        self.note(f"{undone.hash[:10]} on {branch}, three_way={three_way}")
        with self.may_be_refused(ab.BranchMoved, ab.MergeConflict, ab.InvalidRequest):
            commit = self.repo.revert(undone.hash, on=branch, three_way=three_way, message=self.label)
            if isinstance(commit, ab.Commit):
                self.published(commit, branch, merged=(undone.parents[0], undone.hash))

    def reset(self) -> None:
        to = self.random.choice(self.past("dev", 5)).hash
        self.note(to[:10])
        with self.may_be_refused(ab.BranchMoved):
            self.repo.reset("dev", to=to)

    def read(self) -> None:
        branch = self.branch()
        commit = self.random.choice(self.past(branch, 3)).hash
        self.note(commit[:10])
        for table in {self.random.choice(TABLES) for _ in range(2)}:
            self.journal.seen.append(Seen(commit, self.label, table=table, found=read_table(self.repo, commit, table)))
        path = self.random.choice(PATHS)
        self.journal.seen.append(Seen(commit, self.label, file=path, found=read_file(self.repo, commit, path)))
        self.journal.seen.append(Seen(commit, self.label, found=list_files(self.repo, commit)))

    def compare(self) -> None:
        found = [self.random.choice(self.past(self.branch(), 8)).hash for _ in range(2)]
        table = self.random.choice(TABLES[:-1])
        counts = self.repo.diff(*found)[table].counts()
        self.journal.seen.append(Compared(found[0], found[1], self.label, table, counts))

    def job(self) -> None:
        """Make a table of another, in two shards; only jobs of that name write to it, and only one at a time."""
        name = self.random.choice(["made", "made_too"])
        self.note(name)
        asked: dict[str, Any] = {"name": name, "output": "main", "table": name, "key": "id", "shards": 2}
        with self.may_be_refused(ab.BranchMoved, ab.MergeConflict, ab.AlreadyExists, ab.Unavailable):
            done = self.repo.job(doubled, inputs={"keyed": "keyed"}, local=True, **asked).run()
            if done.commit is not None and not done.reused:
                fact = JOB.value(done.commit.facts)
                assert fact is not None
                made = JobMade(name, "keyed", fact["inputs"]["keyed"]["commit"], twice)
                self.published(done.commit, "main", job=made)

    def pipeline(self) -> None:
        """Run a pipeline of one table, which nothing but its runs writes to; one run at a time."""
        with self.may_be_refused(ab.BranchMoved, ab.MergeConflict, ab.AlreadyExists, ab.Unavailable):
            done = dp.run(self.repo, dp.pipeline("sums", computed))
            if done.commit is not None:
                fact = PIPELINE.value(done.commit.facts)
                assert fact is not None
                made = JobMade("computed", "keyed", fact["inputs"]["keyed"], twice, is_whole=True)
                self.published(done.commit, "main", job=made)

    def collect(self) -> None:
        grace = 0 if self.place.collects_at_once else "1h"
        self.repo.gc(grace=grace)

    def verify(self) -> None:
        self.repo.verify().raise_damages()

    def optimize(self) -> None:
        table, branch = self.random.choice(TABLES), self.branch()
        self.note(f"{table} on {branch}")
        self.repo.optimize(table, on=branch)


STEPS = {
    "commit": 14,
    "retried": 4,
    "open": 2,
    "go_on": 2,
    "merge": 3,
    "open_merge": 1,
    "revert": 3,
    "reset": 1,
    "read": 4,
    "compare": 1,
    "job": 1,
    "pipeline": 1,
    "collect": 1,
    "verify": 1,
    "optimize": 1,
}
"""How often each step is taken, by the method that takes it."""


def run_session(place: Place, number: int, seed: int, steps: int) -> Journal:
    """Take the steps of one session."""
    return Session(place, number, seed).run(steps)


def in_threads(calls: Sequence[tuple[Place, int, int, int]]) -> list[Journal]:
    """Run sessions at once, each in a thread of its own."""
    found: dict[int, Journal | BaseException] = {}

    def work(call: tuple[Place, int, int, int]) -> None:
        try:
            found[call[1]] = run_session(*call)
        except BaseException as error:
            found[call[1]] = error

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found.values():
        if isinstance(one, BaseException):
            raise one
    return [one for one in found.values() if isinstance(one, Journal)]


def in_processes(calls: Sequence[tuple[Place, int, int, int]]) -> list[Journal]:
    """Run sessions at once, each in a process of its own."""
    children = [Child(run_session, *call) for call in calls]
    return [child.result() for child in children]


def play(
    place: Place, seed: int, *, sessions: int = 2, steps: int = 25, apart: bool = False, deep: bool = True
) -> tuple[list[Journal], int]:
    """Let sessions work on a new repository, and compare all of it with the model; return what they noted.

    Also returns how many tables and files the model had to take over.
    """
    with place.init() as repo:
        first = make(repo)
        calls = [(place, number, seed, steps) for number in range(sessions)]
        journals = (in_processes if apart else in_threads)(calls)
        with place.open() as fresh:
            model = Model(fresh, first, journals)
            try:
                model.check()
                fresh.verify(deep=deep).raise_damages()
            except Exception as error:
                for journal in journals:
                    error.add_note("\n".join(journal.steps))
                    error.add_note("\n".join(f"{m.commit[:10]} {m}"[:600] for m in journal.made))
                raise
    return journals, model.adopted


def _failures(seeds: Sequence[int], options: Mapping[str, Any]) -> Iterator[int]:
    """Play histories in folders; that of one that fails is kept, to look at."""
    for seed in seeds:
        folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        place = Place(folder, "main", is_small=bool(seed % 2))
        try:
            journals, adopted = play(place, seed, **options)
        except Exception:
            traceback.print_exc()
            print(f"=> seed {seed}, kept in {folder}", flush=True)
            yield seed
            continue
        shutil.rmtree(folder)
        made = sum(len(j.made) for j in journals)
        refused = {k: sum(j.refused.get(k, 0) for j in journals) for j in journals for k in j.refused}
        print(f"seed {seed}: {made} commits, {adopted} taken over, refused: {refused}", flush=True)


if __name__ == "__main__":
    low, _, high = sys.argv[1].partition(":")
    chosen = {k: int(v) for k, _, v in (a.partition("=") for a in sys.argv[2:])}
    failed = list(_failures(range(int(low), int(high)), chosen))
    print(f"{len(failed)} failed: {failed}")
    sys.exit(bool(failed))
