"""Random histories of files against a dict of bytes: put, append, delete, move, branch, merge, revert, squash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import anabranch as ab

Model = dict[str, bytes]
PATHS = ("a", "b", "d/a", "d/b", "d/e/c", "log")


class History:
    """A repository, and what each branch is to hold."""

    def __init__(self, repo: ab.Repository, seed: int) -> None:
        self.repo, self.rng = repo, random.Random(seed)
        self.branches: dict[str, Model] = {"main": {}}
        self.undo: dict[str, Model] = {}

    def step(self) -> None:
        verbs = [self.write] * 6 + [self.branch, self.merge, self.merge, self.revert, self.squash]
        self.rng.choice(verbs)()

    def write(self) -> None:
        """A commit of some changes."""
        name = self.rng.choice(sorted(self.branches))
        model, before = self.branches[name], dict(self.branches[name])
        with self.repo.commit(name, "write") as tx:
            for _ in range(self.rng.randint(1, 4)):
                self.change(tx, model)
        if tx.commit is not None:
            self.undo[name] = before
        assert (tx.commit is None) == (model == before) or tx.commit is not None

    def change(self, tx: ab.Transaction, model: Model) -> None:
        path, content = self.rng.choice(PATHS), self.content()
        verb = self.rng.choice(["put", "append", "append", "delete", "move"])
        if verb == "put":
            tx.files.put(path, content)
            model[path] = content
        elif verb == "append":
            tx.files.append(path, content)
            model[path] = model.get(path, b"") + content
        elif path in model and verb == "delete":
            tx.files.delete(path)
            del model[path]
        elif path in model:
            free = [p for p in PATHS if p not in model]
            if free:
                tx.files.move(path, free[0])
                model[free[0]] = model.pop(path)

    def content(self) -> bytes:
        size = self.rng.choice([0, 3, 10, 10, 40_000, 200_000])
        return self.rng.randbytes(5).hex().encode() * (size // 10) + b"\n"

    def branch(self) -> None:
        if len(self.branches) < 5:
            source, name = self.rng.choice(sorted(self.branches)), f"b{len(self.branches)}"
            self.repo.branch(name, at=source)
            self.branches[name] = dict(self.branches[source])

    def merge(self, mode: str = "merge") -> None:
        """A merge under a rule, so that it always comes through; the sides tell what is to come of it."""
        if len(self.branches) < 2:
            return
        into, source = self.rng.sample(sorted(self.branches), 2)
        word = self.rng.choice(["ours", "theirs"])
        (base,) = [c.hash for c in self.repo.merge_base(into, source)][:1]
        old, mine, other = (self.state(ref) for ref in (base, into, source))
        self.repo.merge(source, into=into, rules={"files:**": word}, mode=mode)
        found = self.state(into)
        for path in {*old, *mine, *other}:
            sides = [s.get(path) for s in (old, mine, other)]
            assert found.get(path) in self.allowed(*sides, word), (path, sides, found.get(path))
        self.branches[into] = found
        self.undo.pop(into, None)

    def allowed(self, old: bytes | None, mine: bytes | None, other: bytes | None, word: str) -> list[bytes | None]:
        """What may become of a path: the side that changed it; of two that appended, one after the other."""
        if mine == old:
            return [other, mine]
        if other == old or mine == other:
            return [mine, other]
        both = [mine if word == "ours" else other]
        if mine is not None and other is not None:
            start = old if old is not None else b""
            both += [mine + other.removeprefix(start), mine]
        return [*both, mine, other]

    def squash(self) -> None:
        self.merge("squash")

    def revert(self) -> None:
        """Undo the last commit of a branch."""
        if self.undo:
            name = self.rng.choice(sorted(self.undo))
            self.repo.revert(name, on=name)
            self.branches[name] = self.undo.pop(name)

    def state(self, ref: str) -> Model:
        tree = self.repo.files(at=ref)
        found = {s.path: tree.read(s.path) for s in tree.walk()}
        assert {p: len(c) for p, c in found.items()} == {s.path: s.size for s in tree.walk()}
        return found

    def check(self) -> None:
        for name, model in self.branches.items():
            assert self.state(name) == model, name


def run(repo: ab.Repository, seed: int, steps: int, every: int) -> None:
    history = History(repo, seed)
    for n in range(steps):
        history.step()
        if n % every == every - 1:
            history.check()
    history.check()
    assert repo.verify().damages == ()


@pytest.mark.parametrize("seed", [1, 2])
def test_files_are_what_a_dict_of_bytes_says(tmp_path: Path, seed: int) -> None:
    run(ab.init(tmp_path / "store"), seed, 30, 6)


@pytest.mark.more
def test_files_are_what_a_dict_of_bytes_says_for_long(store_url: str, objects_root: str) -> None:
    objects = objects_root if "://" in store_url else None
    run(ab.init(store_url, objects=objects), 7, 5000, 50)
