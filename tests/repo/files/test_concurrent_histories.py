"""Random histories of files by several sessions at once, beside a model: who is told that it published did.

Each session reads the head, changes files and a table, and publishes later, while others do. The model says for each
path what becomes of it, or that it conflicts; then nothing of the commit is there. Moves that meet have a test of
their own (`test_moves_that_meet.py`)."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import anabranch as ab
from tests.catalog import stores
from tests.repo.files.test_file_histories import PATHS, File, Model, Write, bytes_of, decided, merged

store = stores.store

SMALL = ab.Settings(
    objects=ab.ObjectSettings(inline_limit_bytes=3000, file_row_limit=50),
    folding=ab.FoldingSettings(commit_limit=4, rewrite_row_limit=100),
)
CONFLICT: File = (Write("conflict", -1, b""),)


@dataclass
class State:
    """What a commit holds: its files, and the keys of its table."""

    files: Model = field(default_factory=dict)
    rows: frozenset[int] = frozenset()


@dataclass
class Work:
    """A commit under way."""

    way: str
    tx: ab.Transaction
    block: Any | None
    base: State
    own: State
    strict: bool
    moved: set[str] = field(default_factory=set)
    """What others changed since, even if it was changed back."""

    def finish(self) -> ab.Commit | None:
        if isinstance(self.tx, ab.OpenCommit):
            return self.tx.finish()
        assert self.block is not None
        self.block.__exit__(None, None, None)
        return self.tx.commit


class History:
    """A repository, open in several sessions, and what its branches are to hold."""

    def __init__(self, sessions: list[ab.Repository], seed: int) -> None:
        self.sessions, self.rng = sessions, random.Random(seed)
        self.work: dict[int, Work] = {}
        self.head, self.dev = State(), State()
        self.commits: dict[str, Model] = {}
        self.writes = self.steps = self.refused = 0
        self.undo: State | None = None
        with sessions[0].commit("main", "a table") as tx:
            tx.create_table("t", schema={"id": "int"}, key="id")
        sessions[0].branch("dev")
        self.note("main", self.head)
        self.note("dev", self.dev)

    def note(self, branch: str, state: State) -> None:
        self.commits[self.sessions[0].show(branch).hash] = dict(state.files)

    def step(self) -> None:
        number = self.rng.randrange(len(self.sessions))
        verbs = [self.change, self.change, self.finish] if number in self.work else [self.begin]
        verb = self.rng.choice([*verbs, *verbs, self.upkeep])
        if self.rng.random() < 0.05:
            verb = self.rng.choice([self.revert, self.merge, self.on_dev])
        verb(number)
        self.steps += 1

    # --- sessions ---

    def begin(self, number: int) -> None:
        repo, strict = self.sessions[number], self.rng.random() < 0.1
        own = State(dict(self.head.files), self.head.rows)
        if self.rng.random() < 0.5:
            opened = repo.start("main", message=f"open {number}", strict=strict)
            self.work[number] = Work("open", opened, None, self.head, own, strict)
        else:
            block = repo.commit("main", f"block {number}", strict=strict)
            self.work[number] = Work("block", block.__enter__(), block, self.head, own, strict)

    def change(self, number: int) -> None:
        work = self.work[number]
        self.change_file(work.tx, work.own.files)
        if self.rng.random() < 0.2:
            self.writes += 1
            work.tx.table("t").insert([{"id": self.writes}])
            work.own.rows |= {self.writes}

    def change_file(self, tx: ab.Transaction, model: Model) -> None:
        path, verb = self.rng.choice(PATHS), self.rng.choice(["put", "append", "append", "delete"])
        if verb in ("put", "append"):
            self.writes += 1
            content = b"%d\n" % self.writes * self.rng.choice([1, 1, 1000, 8000])
            written = Write(verb[0], self.writes, content)
            (tx.files.put if verb == "put" else tx.files.append)(path, content)
            model[path] = (*(model.get(path, ()) if verb == "append" else ()), written)
        elif path in model and verb == "delete":
            tx.files.delete(path)
            del model[path]

    def finish(self, number: int) -> None:
        work = self.work.pop(number)
        expected = self.expected(work)
        if expected is None:
            self.refused += 1
            with pytest.raises(ab.BranchMoved):
                work.finish()
            if isinstance(work.tx, ab.OpenCommit):
                work.tx.abort()
        else:
            made = work.finish()
            assert (made is None) == (work.own == work.base)
            if made is not None:
                self.undo = self.head
                self.move_on(expected)
        self.check(self.sessions[0], "main", self.head)

    def move_on(self, head: State) -> None:
        """Let main show another state."""
        for work in self.work.values():
            work.moved |= self.wrote(self.head, head)
        self.head = head
        self.note("main", head)

    def expected(self, work: Work) -> State | None:
        """What the head is to hold then; None if the commit is to be refused."""
        base, own, head = work.base, work.own, self.head
        if own == base:
            return head
        if work.strict and self.wrote(base, own) & work.moved:
            return None
        files = dict(head.files)
        for path in base.files.keys() | own.files.keys():
            old, mine, other = (state.files.get(path) for state in (base, own, head))
            if mine == old:
                continue
            became = mine if other == old else self.merged(old, other, mine)
            if became == CONFLICT:
                return None
            if became is None:
                files.pop(path, None)
            else:
                files[path] = became
        return State(files, head.rows | (own.rows - base.rows))

    def merged(self, base: File | None, head: File | None, own: File | None) -> File | None:
        became = decided(base, head, own, "conflict")
        is_one_of = became in (head, own) and head != own
        return CONFLICT if is_one_of and not self.unites(base, head, own) else became

    def unites(self, base: File | None, head: File | None, own: File | None) -> bool:
        """Whether a side that is left as it is came of a merge, and not of a rule."""
        return decided(base, head, own, "ours") == decided(base, head, own, "theirs")

    @staticmethod
    def wrote(before: State, after: State) -> set[str]:
        found = {"files"} if before.files != after.files else set()
        return found | ({"t"} if before.rows != after.rows else set())

    def give_up(self, number: int) -> None:
        work = self.work.pop(number)
        if isinstance(work.tx, ab.OpenCommit):
            work.tx.abort()
        else:
            work.block.__exit__(ValueError, ValueError(), None)

    # --- beside them ---

    def upkeep(self, number: int) -> None:
        if self.rng.random() < 0.2:
            self.sessions[number].gc()

    def revert(self, number: int) -> None:
        """Undo the last commit of main, whoever made it."""
        if self.undo is not None:
            self.sessions[number].revert("main", on="main")
            self.move_on(self.undo)
            self.undo = None

    def on_dev(self, number: int) -> None:
        files = dict(self.dev.files)
        with self.sessions[number].commit("dev", "on dev") as tx:
            for _ in range(3):
                self.change_file(tx, files)
        self.dev = State(files, self.dev.rows)
        self.note("dev", self.dev)

    def merge(self, number: int) -> None:
        """Merge dev into main; ours counts where both changed a file."""
        repo = self.sessions[number]
        bases = [self.commits[c.hash] for c in repo.merge_base("main", "dev")]
        repo.merge("dev", into="main", rules={"files:**": "ours"})
        found, files = contents(repo, "main"), dict[str, File]()
        ours, theirs = self.head.files, self.dev.files
        for path in {*ours, *theirs, *(p for base in bases for p in base)}:
            sides = [b.get(path) for b in bases], ours.get(path), theirs.get(path)
            told = [file for file in merged(*sides, "ours") if bytes_of(file) == found.get(path)]
            assert told, (path, sides, (found.get(path) or b"")[:40], len(found.get(path) or b""))
            if told[0] is not None:
                files[path] = told[0]
        for number in [n for n, work in self.work.items() if work.strict]:
            self.give_up(number)  # The merge may say something of files though all of them are ours.
        self.move_on(State(files, self.head.rows | self.dev.rows))
        self.undo = None

    # --- comparing ---

    def check(self, repo: ab.Repository, branch: str, state: State) -> None:
        found = contents(repo, branch)
        assert found == {path: bytes_of(file) for path, file in state.files.items()}
        assert repo.files(at=branch).row_count == len(found)
        assert {row["id"] for row in repo.table("t", at=branch).rows()} == state.rows
        assert [t.row_count for t in repo.tables(branch)] == [len(state.rows)]

    def check_all(self) -> None:
        for repo in self.sessions:
            self.check(repo, "main", self.head)
            self.check(repo, "dev", self.dev)
        found = self.sessions[0].verify(deep=True)
        assert found.damages == ()
        assert found.known == ()


def contents(repo: ab.Repository, branch: str) -> Mapping[str, bytes]:
    return {row["path"]: row["content"] for row in repo.files(at=branch).arrow().to_pylist()}


def run(store: stores.Store, seed: int, steps: int) -> History:
    first = store.init(settings=SMALL)
    sessions = [first, *(store.open(first.name, settings=SMALL) for _ in range(2))]
    history = History(sessions, seed)
    while history.steps < steps:
        history.step()
    for number in sorted(history.work):
        history.finish(number)
    history.check_all()
    for repo in sessions:
        repo.close()
    return history


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_files_of_several_sessions_are_what_a_model_says(store: stores.Store, seed: int) -> None:
    assert run(store, seed, 120).refused


@pytest.mark.more
@pytest.mark.parametrize("seed", range(3, 28))
def test_files_of_several_sessions_are_what_a_model_says_for_long(store: stores.Store, seed: int) -> None:
    """10,000 steps, half of them on each catalogue."""
    run(store, seed, 200)


PROCESS = """
import random, sys
import anabranch as ab
url, name, number, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rng = random.Random(number)
with ab.open(url, repository=name) as repo:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(count):
        verb, path = rng.choice([("put", f"own/{number}-{n}"), ("append", "log"), ("put", "shared")])
        try:
            with repo.commit("main", "one of many") as tx:
                getattr(tx.files, verb)(path, f"{number}-{n}\\n")
        except ab.BranchMoved:
            continue
        print(path, f"{number}-{n}", flush=True)
"""


def race(store: stores.Store, repo: ab.Repository, count: int) -> None:
    """Let four processes write at once, and compare what they were told with what is there."""
    command = [sys.executable, "-c", PROCESS, store.url, repo.name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*command, f"{n}", f"{count}"], **pipes) for n in range(4)]  # type: ignore[call-overload]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [line.split() for process in running for line in process.communicate()[0].splitlines()]
    assert all(process.returncode == 0 for process in running)
    tree = repo.files()
    by_path: dict[str, list[str]] = {}
    for path, written in told:
        by_path.setdefault(path, []).append(written)
    assert {s.path for s in tree.walk()} == by_path.keys()
    assert sorted(tree.lines("log") if "log" in by_path else ()) == sorted(by_path.get("log", ()))
    assert all(tree.read(path) == f"{by_path[path][0]}\n".encode() for path in by_path if path.startswith("own/"))
    assert "shared" not in by_path or tree.read("shared").decode().strip() in by_path["shared"]
    assert tree.row_count == len(by_path)
    found = repo.verify(deep=True)
    assert (found.damages, found.known) == ((), ())


@pytest.mark.long
def test_four_processes_lose_nothing_that_they_were_told_is_published(store: stores.Store) -> None:
    with store.init() as repo:
        race(store, repo, 5)


@pytest.mark.more
def test_four_processes_lose_nothing_for_long(store: stores.Store) -> None:
    with store.init() as repo:
        race(store, repo, 60)
