"""A branch that others commit to without a pause: merges, and the verbs that are merges, come through all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

import anabranch as ab

WRITERS = 2
COMMITS = 400
"""How many commits a writer makes at most, if nobody stops it."""
SOURCES = 3


class Writer(Thread):
    """Commits to a row of its own, again and again; what it may not do is kept."""

    def __init__(self, place: dict[str, Any], branch: str, row: int, stopped: Event, gives_way: bool) -> None:
        super().__init__()
        self.place, self.branch, self.row, self.stopped, self.gives_way = place, branch, row, stopped, gives_way
        self.ready, self.done, self.failed = Event(), 0, list[BaseException]()

    def run(self) -> None:
        try:
            with ab.open(**self.place) as repo:
                while not self.stopped.is_set() and self.done < COMMITS:
                    self._commit(repo)
                    self.ready.set()
        except BaseException as error:
            self.failed.append(error)
        finally:
            self.ready.set()

    def _commit(self, repo: ab.Repository) -> None:
        try:
            with repo.commit(self.branch, "beside") as tx:
                tx.table("busy").update({"n": "n + 1"}, where=f"id = {self.row}")
            self.done += 1
        except ab.BranchMoved:
            if not self.gives_way:
                raise


@contextmanager
def busy(
    repo: ab.Repository, place: dict[str, Any], branch: str = "main", *, gives_way: bool = False
) -> Iterator[None]:
    """A branch that moves all the time; in the end, every commit that a writer made is there."""
    before = counts(repo, branch)
    stopped = Event()
    writers = [Writer(place, branch, row, stopped, gives_way) for row in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        assert all(writer.ready.wait(120) for writer in writers)
        yield
    finally:
        stopped.set()
        for writer in writers:
            writer.join(120)
    assert [writer.failed for writer in writers] == [[] for _ in writers]
    assert counts(repo, branch) == {w.row: before[w.row] + w.done for w in writers}


def counts(repo: ab.Repository, at: str) -> dict[int, int]:
    return {row["id"]: row["n"] for row in repo.table("busy", at=at).rows()}


def put(repo: ab.Repository, branch: str, id_: int, **values: Any) -> ab.Commit:
    with repo.commit(branch, f"row {id_}") as tx:
        tx.table("t").upsert([{"id": id_, **values}])
    assert tx.commit
    return tx.commit


@pytest.fixture
def place(store_url: str) -> dict[str, Any]:
    return {"store": store_url, "engine": "duck", "author": "ann"}


@pytest.fixture
def repo(place: dict[str, Any], objects_root: str) -> Iterator[ab.Repository]:
    """Two tables, and branches with a row each in the one that nobody else writes to."""
    objects = {"objects": objects_root} if "://" in place["store"] else {}
    with ab.init(**place, **objects) as made:
        with made.commit("main", "make") as tx:
            tx.create_table("t", [{"id": 0, "a": 0}], key="id")
            tx.create_table("busy", [{"id": n, "n": 0} for n in range(WRITERS)], key="id")
        for n in range(1, SOURCES + 1):
            made.branch(f"b{n}", at="main")
            put(made, f"b{n}", n, a=n)
        yield made


def rows(repo: ab.Repository, at: str = "main") -> dict[int, int]:
    return {row["id"]: row["a"] for row in repo.table("t", at=at).rows()}


def outcomes(*acts: Callable[[], Any]) -> dict[str, int]:
    """How many acts came through, and how many had to give way."""
    found = {"done": 0, "moved": 0}
    for act in acts:
        try:
            act()
            found["done"] += 1
        except ab.BranchMoved:
            found["moved"] += 1
    return found


ALL = {0: 0, **{n: n for n in range(1, SOURCES + 1)}}
BRANCHES = [f"b{n}" for n in range(1, SOURCES + 1)]


@pytest.mark.parametrize("mode", ["merge", "squash", "replay"])
def test_merges_come_through_on_a_busy_branch(repo: ab.Repository, place: dict[str, Any], mode: Any) -> None:
    with busy(repo, place):
        found = outcomes(*(lambda b=b: repo.merge(b, into="main", mode=mode) for b in BRANCHES))
    assert (found, rows(repo)) == ({"done": SOURCES, "moved": 0}, ALL)


@pytest.mark.long
def test_open_merges_are_finished_on_a_busy_branch(repo: ab.Repository, place: dict[str, Any]) -> None:
    put(repo, "main", 1, a=10)
    open_ = [repo.start_merge(b, into="main") for b in BRANCHES]
    open_[0].resolve("t", take="theirs")
    with busy(repo, place):
        found = outcomes(*(merge.finish for merge in open_))
    assert (found, rows(repo), repo.open_merges()) == ({"done": SOURCES, "moved": 0}, ALL, [])


@pytest.mark.long
def test_picks_reverts_and_restores_come_through_on_a_busy_branch(repo: ab.Repository, place: dict[str, Any]) -> None:
    before = repo.show("main").hash
    with busy(repo, place):
        found = outcomes(
            lambda: repo.cherry_pick("b1", on="main"),
            lambda: repo.cherry_pick("b2", on="main"),
            lambda: repo.revert(next(c.hash for c in repo.log("main") if c.message == "row 1"), on="main"),
            lambda: put(repo, "main", 3, a=3),
            lambda: repo.restore("t", to=before, on="main"),
        )
    assert (found, rows(repo)) == ({"done": 5, "moved": 0}, {0: 0})


def test_a_busy_branch_is_rebased(repo: ab.Repository, place: dict[str, Any]) -> None:
    repo.branch("busy", at="main")
    put(repo, "main", 1, a=1)
    with busy(repo, place, "busy", gives_way=True):  # a commit that was begun before has no place any more
        found = outcomes(lambda: repo.rebase("busy", onto="main"))
    assert (found, rows(repo, "busy")) == ({"done": 1, "moved": 0}, {0: 0, 1: 1})


def test_a_merge_that_meets_the_writers_rows_comes_through_or_says_where(
    repo: ab.Repository, place: dict[str, Any]
) -> None:
    repo.branch("meeting", at="main")
    with repo.commit("meeting", "meet") as tx:
        tx.table("busy").update({"n": "n + 100"}, where="id = 0")
        tx.table("busy").insert([{"id": 9, "n": 9}])
    with busy(repo, place), pytest.raises(ab.MergeConflict) as caught:
        repo.merge("meeting", into="main")
    assert [(c["key"], c["column"]) for c in caught.value.conflicts["busy"].rows()] == [({"id": 0}, "n")]
