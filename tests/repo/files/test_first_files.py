"""Two and more writers of files at once: each that is told that it published did, and rows are counted right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.commit import concurrent_commits
from tests.catalog import stores

store = stores.store

Work = Callable[[ab.Transaction], Any]


class Session:
    """A commit under way in one of several sessions."""

    def __init__(self, repo: ab.Repository, way: str, **options: Any) -> None:
        self.repo, self._way = repo, way
        if way == "open":
            self.tx: ab.Transaction = repo.start("main", message="open", **options)
        else:
            self._block = repo.commit("main", "block", **options)
            self.tx = self._block.__enter__()

    def finish(self) -> None:
        if isinstance(self.tx, ab.OpenCommit):
            self.tx.finish()
        else:
            self._block.__exit__(None, None, None)


def contents(repo: ab.Repository, at: str = "main") -> dict[str, bytes]:
    tree = repo.files(at=at)
    return {s.path: tree.read(s.path) for s in tree.walk()}


def check_sound(repo: ab.Repository) -> None:
    found = repo.verify(deep=True)
    assert found.damages == ()
    assert found.known == ()


@pytest.mark.parametrize("way", ["block", "open"])
@pytest.mark.parametrize("verb", ["put", "append"])
def test_two_writers_of_the_first_files_both_keep_theirs(store: stores.Store, way: str, verb: str) -> None:
    with store.init() as one, store.open(one.name) as other:
        sessions = [Session(one, way), Session(other, way)]
        for n, session in enumerate(sessions):
            getattr(session.tx.files, verb)(f"f{n}", f"{n}")
        for session in sessions:
            session.finish()
        assert contents(one) == {"f0": b"0", "f1": b"1"}
        check_sound(one)


@pytest.mark.parametrize("before", [0, 3])
def test_the_files_of_four_writers_are_counted_right(store: stores.Store, before: int) -> None:
    with store.init() as repo:
        expected = {f"old/{n}": b"old" for n in range(before)}
        if before:
            with repo.commit("main", "before") as tx:
                for path in expected:
                    tx.files.put(path, "old")
        sessions = [Session(repo, "block") for _ in range(4)]
        for n, session in enumerate(sessions):
            session.tx.files.put(f"new/{n}", "new")
            expected[f"new/{n}"] = b"new"
        if before:
            sessions[0].tx.files.delete("old/0")
            del expected["old/0"]
        for session in sessions:
            session.finish()
        assert contents(repo) == expected
        check_sound(repo)


def test_two_that_begin_one_file_by_appending_are_counted_as_one(store: stores.Store) -> None:
    with store.init() as repo:
        sessions = [Session(repo, "block"), Session(repo, "block")]
        for n, session in enumerate(sessions):
            session.tx.files.append("log", f"{n}\n")
        for session in sessions:
            session.finish()
        assert contents(repo) == {"log": b"0\n1\n"}
        check_sound(repo)


def test_a_strict_writer_of_files_is_refused_beside_another(store: stores.Store) -> None:
    with store.init() as repo:
        first, second = Session(repo, "block"), Session(repo, "block", strict=True)
        first.tx.files.put("a", "a")
        second.tx.files.put("b", "b")
        first.finish()
        with pytest.raises(ab.BranchMoved, match="others changed files"):
            second.finish()
        assert contents(repo) == {"a": b"a"}
        check_sound(repo)


def test_a_table_beside_files_is_counted_right_when_the_branch_moves_twice(store: stores.Store) -> None:
    """The head moves once by rows of the table, and again, while the commit is put on that head, by a file."""
    with store.init() as repo:
        with repo.commit("main", "before") as tx:
            tx.create_table("t", [{"id": 1}], key="id")
            tx.files.put("a", "a")
        slow, rows = Session(repo, "block"), Session(repo, "block")
        slow.tx.table("t").insert([{"id": 2}])
        slow.tx.files.put("b", "b")
        rows.tx.table("t").insert([{"id": 3}])
        rows.finish()
        with others_between(store, repo, lambda tx: tx.files.put("c", "c")):
            slow.finish()
        assert sorted(row["id"] for row in repo.table("t").rows()) == [1, 2, 3]
        assert contents(repo) == {"a": b"a", "b": b"b", "c": b"c"}
        assert repo.tables()[0].row_count == 3
        check_sound(repo)


@pytest.mark.parametrize("before", [False, True])
def test_first_files_that_are_carried_over_go_with_those_of_others(store: stores.Store, before: bool) -> None:
    """The open commit and another changed cells of one row, so it is refused first."""
    with store.init() as repo:
        with repo.commit("main", "a row") as tx:
            tx.create_table("t", [{"id": 1, "a": 1, "b": 1}], key="id")
            if before:
                tx.files.put("before", "before")
        opened, other = Session(repo, "open"), Session(repo, "block")
        for session, column in ((opened, "a"), (other, "b")):
            session.tx.table("t").update({column: 2}, where="id = 1")
            session.tx.files.put(f"of-{column}", column)
            session.tx.files.append("log", f"{column}\n")
        other.finish()
        with pytest.raises(ab.BranchMoved):
            opened.finish()
        assert isinstance(opened.tx, ab.OpenCommit)
        carried = repo.carry_over(opened.tx)
        carried.resolve("t", take="theirs")
        carried.finish()
        expected = {"of-a": b"a", "of-b": b"b", "log": b"b\na\n"}
        assert contents(repo) == expected | ({"before": b"before"} if before else {})
        check_sound(repo)


def test_first_files_of_merges_reverts_and_rebases_beside_others_are_counted_right(store: stores.Store) -> None:
    with store.init() as repo:
        for branch in ("one", "two", "three"):
            repo.branch(branch, at="main")
            with repo.commit(branch, f"first on {branch}") as tx:
                tx.files.put(f"{branch}/a", branch)
                tx.files.append("log", f"{branch}\n")
        block = Session(repo, "block")
        block.tx.files.put("block", "block")
        repo.merge("one", into="main")
        block.finish()
        late = Session(repo, "open")
        late.tx.files.append("log", "late\n")
        repo.merge("two", into="main", mode="squash")
        late.finish()
        repo.rebase("three", onto="main")
        repo.merge("three", into="main")
        early = Session(repo, "block")
        early.tx.files.put("early", "early")
        repo.revert("main", on="main")
        early.finish()
        assert contents(repo).keys() == {"block", "early", "log", "one/a", "two/a"}
        assert repo.files().row_count == 5
        check_sound(repo)


def test_rows_without_a_key_of_two_writers_are_counted_right(store: stores.Store) -> None:
    with store.init() as repo:
        with repo.commit("main", "a table") as tx:
            tx.create_table("log", schema={"line": "string"})
        sessions = [Session(repo, "block"), Session(repo, "open"), Session(repo, "block")]
        for n, session in enumerate(sessions):
            session.tx.table("log").insert([{"line": f"{n}"}] * (n + 1))
            session.tx.files.put(f"{n}", "x")
        for session in sessions:
            session.finish()
        assert repo.tables()[0].row_count == 6
        assert len(repo.table("log").rows()) == 6
        assert contents(repo).keys() == {"0", "1", "2"}
        check_sound(repo)


@contextmanager
def others_between(store: stores.Store, repo: ab.Repository, work: Work) -> Iterator[None]:
    """Let somebody commit once, right after a commit read the head that it is to be put on."""
    real = concurrent_commits.on_top

    def on_top(*given: Any) -> Any:
        concurrent_commits.on_top = real
        with store.open(repo.name) as other, other.commit("main", "between") as tx:
            work(tx)
        return real(*given)

    concurrent_commits.on_top = on_top
    try:
        yield
    finally:
        concurrent_commits.on_top = real


PROCESS = """
import sys
import anabranch as ab
with ab.open(sys.argv[1], repository=sys.argv[2]) as repo:
    print("ready", flush=True)
    sys.stdin.readline()
    with repo.commit("main", "first") as tx:
        tx.files.put(sys.argv[3], sys.argv[3])
    print(tx.commit.hash, flush=True)
"""


def test_four_processes_that_write_the_first_files_keep_all_of_them(store: stores.Store) -> None:
    with store.init() as repo:
        command = [sys.executable, "-c", PROCESS, store.url, repo.name]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        running = [subprocess.Popen([*command, f"f{n}"], **pipes) for n in range(4)]  # type: ignore[call-overload]
        for process in running:
            assert process.stdout.readline() == "ready\n"
        for process in running:
            process.stdin.write("\n")
            process.stdin.flush()
        acknowledged = [process.communicate()[0].strip() for process in running]
        assert all(acknowledged)
        assert contents(repo) == {f"f{n}": f"f{n}".encode() for n in range(4)}
        check_sound(repo)
