"""Random histories of jobs beside a model: runs in all modes, edits of others before and while they run, reverts.

The model keeps each commit's rows and files, a file as its parts. What a job made before is the sum of what its own
commits changed, and each row and file is merged by itself, in Python.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import anabranch as ab

Row = dict[str, int]
Rows = dict[Any, Row]
Part = tuple[int, str, str]
"""A number that no other part has, `p` or `a`, and the text."""
Files = dict[str, tuple[Part, ...]]
PATHS = ("x/one.txt", "x/two.txt", "log.txt")
NUMBERS = itertools.count(1)


class Conflict(Exception):
    """The model finds a conflict that no rule decides."""


@dataclass(frozen=True)
class State:
    """What a branch shows."""

    rows: Rows = field(default_factory=dict)
    """By key; in a table without one, by a number that the model gives each row."""
    files: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """A commit: the state after it, and whether the job made it."""

    state: State
    hash: str
    is_job: bool = False
    reverts: int | None = None
    """The place of the commit that it reverts."""


def text(parts: tuple[Part, ...]) -> str:
    return "".join(part[2] for part in parts)


# --- what the job made before ---


@dataclass
class MadeModel:
    """What the job's own commits made."""

    rows: Rows = field(default_factory=dict)
    files: Files = field(default_factory=dict)


def made_before(history: list[Done]) -> MadeModel:
    """Fold what the job's commits changed, but for reverted ones."""
    gone: set[int] = set()
    for n in range(len(history) - 1, -1, -1):
        target = history[n].reverts
        if target is not None and n not in gone:
            gone.add(target)
    made, own = MadeModel(), set[int]()
    for n, done in enumerate(history):
        if not done.is_job or n in gone:
            continue
        before, after = history[n - 1].state, done.state
        for key in before.rows.keys() | after.rows.keys():
            old, new = before.rows.get(key), after.rows.get(key)
            if new is None:
                made.rows.pop(key, None) if old is not None else None
            elif old is None or (new != old and key not in made.rows):
                made.rows[key] = dict(new)
            else:
                made.rows.get(key, {}).update({c: v for c, v in new.items() if v != old[c]})
        for path in before.files.keys() | after.files.keys():
            then, now = before.files.get(path, ()), after.files.get(path, ())
            if then != now:
                own |= {p[0] for p in now} - {p[0] for p in then}
                kept = tuple(p for p in now if p[0] in own)
                made.files.pop(path, None)
                if kept:
                    made.files[path] = kept
    return made


# --- merging ---


def merge_row(base: Row | None, ours: Row | None, theirs: Row | None, rule: str) -> Row | None:
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        return _ruled(ours, theirs, rule)
    merged = {}
    for c in theirs:
        b = base[c] if base else None
        if ours[c] == theirs[c] or (base and theirs[c] == b):
            merged[c] = ours[c]
        elif base and ours[c] == b:
            merged[c] = theirs[c]
        else:
            merged[c] = _ruled(ours[c], theirs[c], rule)
    return merged


def _ruled(ours: Any, theirs: Any, rule: str) -> Any:
    if rule == "conflict":
        raise Conflict
    return ours if rule == "ours" else theirs


def merge_parts(
    base: tuple[Part, ...], ours: tuple[Part, ...], theirs: tuple[Part, ...], rule: str
) -> tuple[Part, ...]:
    """Merge a file; no parts is no file."""
    if theirs == base:
        return ours
    if ours == base:
        return theirs
    old, mine = {p[0] for p in base}, {p[0] for p in ours}
    if all(p[1] == "a" for p in (*base, *theirs)) and old <= mine:
        return (*(p for p in ours if p[0] not in old), *theirs)
    if ours and theirs and text(ours) == text(theirs):
        return ours
    if not ours and not theirs:
        return ()
    return _ruled(ours, theirs, rule)


@dataclass(frozen=True)
class Output:
    """What the job makes in a run."""

    rows: tuple[tuple[int, int, int], ...] = ()
    """Key, a and b; without a key, a and b are a row, and the first only tells rows apart."""
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By path: `p` or `a`, and the text."""


def merge_job(history: list[Done], ours: State, output: Output, mode: str, rule: str, *, keyed: bool) -> State:
    """The state after the job is merged."""
    before = made_before(history)
    if mode == "append":
        before = MadeModel()
    old_rows = dict(before.rows)
    new_rows: Rows = {}
    for key, a, b in output.rows:
        row = {"a": a, "b": b}
        if keyed:
            new_rows[key] = row
        else:
            same = next((n for n, r in old_rows.items() if r == row and n not in new_rows), None)
            new_rows[next(NUMBERS) if same is None else same] = row
    rows = {}
    for key in old_rows.keys() | ours.rows.keys() | new_rows.keys():
        mine, made = ours.rows.get(key), new_rows.get(key)
        if mode == "append" and mine is not None and made is not None:
            merged = _ruled(mine, made, rule)
        else:
            merged = merge_row(old_rows.get(key), mine, made, rule)
        if merged is not None:
            rows[key] = dict(merged)
    files = {}
    paths = before.files.keys() | output.files.keys()
    for path in paths | ours.files.keys():
        mine = ours.files.get(path, ())
        if path not in paths:
            files[path] = mine
            continue
        old, made = before.files.get(path, ()), output.files.get(path)
        new: tuple[Part, ...] = ((next(NUMBERS), *made),) if made else ()
        if old and made and text(old) == made[1]:
            new = old
        if mode == "append" and made and made[0] == "p" and mine:
            merged = _ruled(mine, new, rule)
        else:
            merged = merge_parts(old, mine, new, rule)
        if merged:
            files[path] = merged
    return State(rows, files)


def replace_job(parent: State, ours: State, output: Output, rule: str, *, keyed: bool) -> State:
    """The state after the job took the place of what was there at the parent."""
    rows: Rows = {}
    unused = dict(ours.rows)
    for key, a, b in output.rows:
        row = {"a": a, "b": b}
        same = next((n for n, r in unused.items() if r == row), None)
        if not keyed and same is not None:
            del unused[same]
        rows[key if keyed else next(NUMBERS) if same is None else same] = row
    if ours.rows != parent.rows:
        rows = _ruled(ours.rows, rows, rule)
    files = dict(ours.files)
    for path, (_, content) in output.files.items():
        mine = ours.files.get(path, ())
        new = mine if mine and text(mine) == content else ((next(NUMBERS), "p", content),)
        if mine != parent.files.get(path, ()) and new != mine:
            new = _ruled(mine, new, rule)
        files.pop(path, None)
        if new:
            files[path] = new
    return State(deepcopy(rows), files)


# --- histories ---


class JobHistory:
    """One history: a store, a second session on it, and the model."""

    def __init__(self, repo: ab.Repository, other: ab.Repository, seed: int, *, keyed: bool) -> None:
        self.repo, self.other, self.keyed = repo, other, keyed
        self.random = random.Random(seed)
        with repo.commit("main", "begin") as tx:
            tx.create_table("seen", [{"n": n} for n in range(4)], key="n")
            key = {"key": "id"} if keyed else {}
            columns = "id INT, a INT, b INT" if keyed else "a INT, b INT"
            tx.create_table("out", schema=columns, **key)
        assert tx.commit is not None
        self.history = [Done(State(), tx.commit.hash)]
        self.output = Output()
        self.conflicts = self.runs = 0

    @property
    def state(self) -> State:
        return self.history[-1].state

    def step(self) -> None:
        """Do one thing, and compare what the branch shows."""
        roll = self.random.random()
        if roll < 0.3:
            self._edit(self.repo if self.random.random() < 0.5 else self.other)
        elif (roll < 0.4 and self.history[-1].is_job) or (roll < 0.44 and self.history[-1].reverts is not None):
            self._revert()
        elif roll < 0.46 and len(self.history) > 3:
            del self.history[-self.random.randint(1, 2) :]
            self.repo.reset("main", self.history[-1].hash)
        else:
            self._run()
        self.compare()

    def compare(self) -> None:
        found = self.repo.table("out").rows()
        if self.keyed:
            assert {r["id"]: {"a": r["a"], "b": r["b"]} for r in found} == self.state.rows
        else:
            shown = sorted((r["a"], r["b"]) for r in found)
            assert shown == sorted((r["a"], r["b"]) for r in self.state.rows.values())
        tree = self.repo.files()
        shown_files = {path: tree.read(path).decode() for path in PATHS if path in tree}
        assert shown_files == {path: text(parts) for path, parts in self.state.files.items()}

    # --- edits of others ---

    def _edit(self, session: ab.Repository) -> None:
        """Change a row or a file, in one commit."""
        rows, files = deepcopy(self.state.rows), dict(self.state.files)
        with session.commit("main", "edit") as tx:
            for _ in range(self.random.randint(1, 2)):
                if self.random.random() < 0.6:
                    self._edit_row(tx.table("out"), rows)
                else:
                    self._edit_file(tx.files, files)
        if tx.commit is not None:
            state = State(rows, files)
            self.history.append(Done(state, tx.commit.hash))

    def _edit_row(self, table: Any, rows: Rows) -> None:
        pick, value = self.random.random(), self.random.randint(0, 9)
        if pick < 0.35 or not rows:
            key = self.random.randint(0, 9) if self.keyed else next(NUMBERS)
            row = {"a": value, "b": self.random.randint(0, 9)}
            if key not in rows:
                table.insert([{"id": key, **row} if self.keyed else row])
                rows[key] = row
            return
        key = self.random.choice(sorted(rows))
        where = f"id = {key}" if self.keyed else f"a = {rows[key]['a']} AND b = {rows[key]['b']}"
        met = [key] if self.keyed else [n for n, r in rows.items() if r == rows[key]]
        if pick < 0.8:
            column = self.random.choice("ab")
            table.update({column: str(value)}, where=where)
            for n in met:
                rows[n] = {**rows[n], column: value}
        else:
            table.delete(where)
            for n in met:
                del rows[n]

    def _edit_file(self, tree: Any, files: Files) -> None:
        path, pick = self.random.choice(PATHS), self.random.random()
        content = f"u{next(NUMBERS)}\n"
        if pick < 0.5:
            tree.append(path, content)
            files[path] = (*files.get(path, ()), (next(NUMBERS), "a", content))
        elif pick < 0.8:
            tree.put(path, content)
            files[path] = ((next(NUMBERS), "p", content),)
        elif path in files:
            tree.delete(path)
            del files[path]

    # --- the job ---

    def _revert(self) -> None:
        done = self.history[-1]
        made = self.repo.revert(done.hash, message=self.random.choice((None, "out with it")))
        if made is not None:
            state = self.history[-2].state
            self.history.append(Done(state, made.hash, reverts=len(self.history) - 1))

    def _next_output(self) -> Output:
        """What the job makes this time: mostly as before."""
        rows = {key: (a, b) for key, a, b in self.output.rows}
        files = dict(self.output.files)
        for _ in range(self.random.randint(0, 3)):
            key = self.random.randint(0, 9)
            if key in rows and self.random.random() < 0.4:
                del rows[key]
            else:
                # Without a key, rows of the job differ, so that it is sure which one goes.
                rows[key] = (self.random.randint(0, 9), self.random.randint(0, 9) if self.keyed else 100 + key)
        if self.random.random() < 0.5:
            path = self.random.choice(PATHS)
            if path in files and self.random.random() < 0.3:
                del files[path]
            else:
                verb = "a" if path == "log.txt" else self.random.choice("pa")
                files[path] = (verb, f"j{next(NUMBERS)}\nj\n")
        return Output(tuple((key, *row) for key, row in sorted(rows.items())), files)

    def _run(self) -> None:
        self.output = output = self._next_output()
        mode = self.random.choices(("own", "append", "replace"), (7, 2, 2))[0]
        meanwhile: Callable[[], None] | None = None
        if self.random.random() < 0.4:
            meanwhile = self._meanwhile
        parent = len(self.history)
        rules: dict[str, str] = {}
        for rule in ("conflict", self.random.choice(("ours", "theirs"))):
            rules = {} if rule == "conflict" else {"*": rule}
            ran: list[int] = []
            try:
                done = self._job(parent, mode, rules, meanwhile, ran)
            except ab.MergeConflict:
                done = None
            meanwhile = None
            ours = self.state
            try:
                if mode == "replace":
                    state = replace_job(self.history[parent - 1].state, ours, output, rule, keyed=self.keyed)
                else:
                    state = merge_job(self.history, ours, output, mode, rule, keyed=self.keyed)
            except Conflict:
                assert done is None, "the model finds a conflict"
                assert self.repo.show("main").hash == self.history[-1].hash
                self.conflicts += 1
                continue
            assert done is not None, "the model finds no conflict"
            assert rule == "conflict" or not ran, "no shard runs again"
            self.runs += 1
            self.history.append(Done(state, done.commit.hash, is_job=True))
            return

    def _meanwhile(self) -> None:
        self._edit(self.other)

    def _job(
        self, number: int, mode: str, rules: dict[str, str], meanwhile: Callable[[], None] | None, ran: list[int]
    ) -> Any:
        keyed, output = self.keyed, self.output

        def make(shard: Any) -> Iterator[dict[str, Any]]:
            ran.append(shard.number)
            if meanwhile is not None and shard.number == 1:
                meanwhile()
            for path, (verb, content) in output.files.items():
                one, two = content.splitlines(keepends=True)
                if verb == "a":
                    shard.append(path, (one if shard.number == 0 else two).encode())
                elif shard.number == 0:
                    shard.put(path, content.encode())
            for key, a, b in output.rows:
                if key % 2 == shard.number:
                    yield {**({"id": key} if keyed else {}), "a": a, "b": b}

        options: dict[str, Any] = {"table": "out", "shards": 2, "local": True, "mode": mode, "rules": rules}
        options |= {"key": "id"} if keyed else {}
        job = self.repo.job(make, inputs={"seen": "seen"}, version="1", params={"n": number}, **options)
        return job.run(force=True)
