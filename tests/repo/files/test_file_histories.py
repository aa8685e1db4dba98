"""Random histories of files against a dict of bytes: put, append, delete, move, branch, merge, revert, squash.

The model knows each write by a number, so that it can tell what becomes of a file that two branches wrote to."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import anabranch as ab


class Write(NamedTuple):
    """A put or an append, with its bytes, which no other write has."""

    verb: str
    number: int
    content: bytes

    def __repr__(self) -> str:
        return f"{self.verb}{self.number}"


File = tuple[Write, ...]
Model = dict[str, File]
PATHS = ("a", "b", "d/a", "d/b", "d/e/c", "log")


def bytes_of(file: File | None) -> bytes | None:
    return None if file is None else b"".join(w.content for w in file)


class History:
    """A repository, what each branch is to hold, and what each commit held."""

    def __init__(self, repo: ab.Repository, seed: int) -> None:
        self.repo, self.rng, self.writes, self.steps = repo, random.Random(seed), 0, 0
        self.branches: dict[str, Model] = {"main": {}}
        self.commits: dict[str, Model] = {repo.show("main").hash: {}}
        self.undo: dict[str, Model] = {}

    def step(self) -> None:
        """A commit of some changes, each of which is a step, or another verb."""
        verbs = [self.write] * 6 + [self.branch, self.merge, self.merge, self.revert, self.squash]
        verb = self.rng.choice(verbs)
        verb()
        self.steps += verb != self.write

    def became(self, name: str, model: Model) -> None:
        self.branches[name] = model
        self.commits[self.repo.show(name).hash] = dict(model)

    # --- writing ---

    def write(self) -> None:
        """A commit of some changes; there is none exactly where nothing changed."""
        name = self.rng.choice(sorted(self.branches))
        model, before = dict(self.branches[name]), self.branches[name]
        with self.repo.commit(name, "write") as tx:
            for _ in range(self.rng.randint(1, 6)):
                self.change(tx, model)
        assert (tx.commit is None) == (model == before)
        if tx.commit is not None:
            self.became(name, model)
            self.undo[name] = before

    def change(self, tx: ab.Transaction, model: Model) -> None:
        path, verb = self.rng.choice(PATHS), self.rng.choice(["put", "append", "append", "delete", "move"])
        if verb in ("put", "append"):
            written = Write(verb[0], self.writes, self.content())
            (tx.files.put if verb == "put" else tx.files.append)(path, written.content)
            model[path] = (*(model.get(path, ()) if verb == "append" else ()), written)
        elif path in model and verb == "delete":
            tx.files.delete(path)
            del model[path]
        elif path in model:
            free = [p for p in PATHS if p not in model]
            if free:
                tx.files.move(path, free[0])
                model[free[0]] = model.pop(path)
        self.steps += 1

    def content(self) -> bytes:
        """Bytes that nobody wrote yet."""
        self.writes += 1
        size = self.rng.choice([0, 1, 1, 4_000, 20_000])
        return b"%d\n" % self.writes + self.rng.randbytes(5).hex().encode() * size + b"\n"

    def branch(self) -> None:
        """Make a branch; where there are five, in the place of another."""
        if len(self.branches) == 5:
            name = self.rng.choice(sorted(self.branches.keys() - {"main"}))
            self.repo.delete_branch(name, force=True)
            del self.branches[name]
            self.undo.pop(name, None)
        source = self.rng.choice(sorted(self.branches))
        name = next(n for n in ("b1", "b2", "b3", "b4") if n not in self.branches)
        self.repo.branch(name, at=source)
        self.branches[name] = self.branches[source]

    def revert(self) -> None:
        """Undo the last commit of a branch."""
        if self.undo:
            name = self.rng.choice(sorted(self.undo))
            self.repo.revert(name, on=name)
            self.became(name, self.undo.pop(name))

    # --- merging ---

    def merge(self, mode: str = "merge") -> None:
        """A merge under a rule, so that it always comes through."""
        if len(self.branches) < 2:
            return
        into, source = self.rng.sample(sorted(self.branches), 2)
        word = self.rng.choice(["ours", "theirs"])
        bases = [self.commits[c.hash] for c in self.repo.merge_base(into, source)]
        ours, theirs = self.branches[into], self.branches[source]
        self.repo.merge(source, into=into, rules={"files:**": word}, mode=mode)
        found, model = self.state(into), {}
        for path in {*ours, *theirs, *(p for base in bases for p in base)}:
            met = merged([b.get(path) for b in bases], ours.get(path), theirs.get(path), word)
            told = [file for file in met if bytes_of(file) == found.get(path)]
            sides = [b.get(path) for b in bases], ours.get(path), theirs.get(path)
            assert told, f"{mode} of {source} into {into}, {path}, {word}: {sides}, {(found.get(path) or b'')[:60]!r}"
            if told[0] is not None:
                model[path] = told[0]
        assert found.keys() == model.keys()
        self.became(into, model)
        self.undo.pop(into, None)

    def squash(self) -> None:
        self.merge("squash")

    # --- comparing ---

    def state(self, ref: str) -> Mapping[str, bytes]:
        """All files at a ref, read at once; their sizes are those of their bytes."""
        tree = self.repo.files(at=ref)
        found = {row["path"]: row["content"] for row in tree.arrow().to_pylist()}
        assert {p: len(c) for p, c in found.items()} == {s.path: s.size for s in tree.walk()}
        return found

    def check(self) -> None:
        """Every branch is as the model has it, read file by file."""
        for name, model in self.branches.items():
            tree = self.repo.files(at=name)
            assert {s.path: tree.read(s.path) for s in tree.walk()} == {p: bytes_of(f) for p, f in model.items()}, name


def merged(bases: Sequence[File | None], ours: File | None, theirs: File | None, word: str) -> list[File | None]:
    """What may become of a path: one thing, unless there are several bases (a criss-cross).

    They may hold different files there, or the same writes in different lists, since each was merged on its own:
    then the base is unknown, and the rule decides.
    """
    if len(bases) == 1:
        return [decided(bases[0], ours, theirs, word)]
    shared = tuple(w for w in ours or theirs or () if w in (theirs or ours or ())) or None
    return [decided(base, ours, theirs, word) for base in (shared, *bases)] + [ours, theirs]


def decided(base: File | None, ours: File | None, theirs: File | None, word: str) -> File | None:
    """The side that changed it; of two that appended, ours and what only theirs has; else what the rule says."""
    if theirs == base or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if base is not None and any(side is not None and set(side) == set(base) for side in (theirs, ours)):
        return ours if theirs is not None and set(theirs) == set(base) else theirs  # a merge's order is no change
    if ours is not None and theirs is not None and grew(base, ours) and grew(base, theirs):
        old = base or ()
        kept = [w for w in ours if w not in old or w in theirs]
        return (*kept, *(w for w in theirs if w not in old and w not in ours))
    return ours if word == "ours" else theirs


def grew(base: File | None, file: File) -> bool:
    """Whether a side appended, or undid an append; a file without a base, whether it began so."""
    return file[0].verb == "a" if base is None else any(w in base for w in file)


def run(repo: ab.Repository, seed: int, steps: int, every: int) -> None:
    history, checked = History(repo, seed), 0
    while history.steps < steps:
        history.step()
        if history.steps >= checked + every:
            history.check()
            checked = history.steps
    history.check()
    assert repo.verify().damages == ()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_files_are_what_a_dict_of_bytes_says(tmp_path: Path, seed: int) -> None:
    with ab.init(tmp_path / "store") as repo:
        run(repo, seed, 80, 40)


@pytest.mark.more
@pytest.mark.parametrize("seed", range(50))
def test_files_are_what_a_dict_of_bytes_says_for_long(store_url: str, objects_root: str, seed: int) -> None:
    """10,000 steps on each catalogue."""
    objects = objects_root if "://" in store_url else None
    with ab.init(store_url, objects=objects) as repo:
        run(repo, seed, 200, 100)
