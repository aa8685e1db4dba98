"""A process killed at every durable step of put, append and checkout: whole files, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.model.local_paths import MANIFEST
from tests.catalog import processes, stores
from tests.catalog.stores import Store
from tests.repo.commit.test_crash import SMALL_FILES, assert_sound, crashes

store = stores.store


@pytest.fixture
def repo(store: Store) -> Iterator[ab.Repository]:
    with store.init(settings=SMALL_FILES) as made:
        yield made


def write_files(repo: ab.Repository, number: int) -> None:
    with repo.commit("main", f"write {number}") as tx:
        tx.files.put(f"d/{number}-small", b"x" * 10)
        tx.files.put(f"d/{number}-large", os.urandom(40_000))
        tx.files.append("log", f"{number} {'x' * 700}\n")


@pytest.mark.more
def test_a_commit_of_files_is_there_whole_or_not_at_all(store: Store, repo: ab.Repository) -> None:
    for number in crashes(store, repo, write_files, statement=6, sync=2):
        done = [int(c.message.split()[1]) for c in reversed(repo.log("main")) if c.message.startswith("write")]
        tree = repo.files()
        assert [int(line.split()[0]) for line in tree.lines("log")] == done if done else "log" not in tree
        assert {s.path: s.size for s in tree.glob("d/*")} == {
            f"d/{n}-{kind}": size for n in done for kind, size in (("small", 10), ("large", 40_000))
        }
        assert all(len(tree.read(s.path)) == s.size for s in tree.walk())
        assert_sound(repo, number)


FILES = {"a": b"a" * 10, "d/b": b"b" * 300_000, "d/e/c": b"", "z": b"z"}


def check_out_and_die(place: str, folder: str, chosen: int) -> None:
    """Die before the rename of that number, which is what makes a file be there."""
    real, left = Path.replace, [chosen]

    def replace(self: Path, target: str | Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            processes.die()
        return real(self, target)

    Path.replace = replace  # type: ignore[method-assign, assignment]
    with ab.open(place) as repo:
        repo.checkout(folder, "main")


def test_a_checkout_that_is_killed_leaves_whole_files_and_the_next_goes_on(tmp_path: Path) -> None:
    place, work = tmp_path / "store", tmp_path / "work"
    with ab.init(place) as repo:
        with repo.commit("main", "files") as tx:
            for path, content in FILES.items():
                tx.files.append(path, content)
        for chosen in range(1, len(FILES) + 3):
            assert processes.Child(check_out_and_die, str(place), str(work), chosen).join() == -9
            there = {p for p in FILES if (work / p).exists()}
            assert len(there) >= chosen - 2, "the first rename is that of a manifest, and the last"
            assert all((work / p).read_bytes() == FILES[p] for p in there)
        repo.checkout(work, "main")
        assert not repo.folder(work).status()
        found = {p.relative_to(work).as_posix() for p in work.rglob("*") if p.is_file()}
        assert found == {*FILES, MANIFEST}
