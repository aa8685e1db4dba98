"""A job publishes on a branch that others commit to all the time: nothing of theirs and nothing of its own is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab

WRITERS, RUNS = 2, 4


@pytest.fixture
def repo(store_url: str, objects_root: str) -> Iterator[ab.Repository]:
    with ab.init(store_url, objects=objects_root, author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.create_table("seen", [{"n": 0}], key="n")
            tx.create_table("out", schema="id INT, a INT", key="id")
            tx.files.put("log.txt", "first\n")
        yield made


class OtherWriter(threading.Thread):
    """Somebody who inserts rows, appends lines and puts files, and remembers what was acknowledged."""

    def __init__(self, store_url: str, number: int, stop: threading.Event) -> None:
        super().__init__()
        self.store_url, self.number, self.stop = store_url, number, stop
        self.done: list[int] = []
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            with ab.open(self.store_url) as repo:
                for n in range(1000 * (self.number + 1), 1000 * (self.number + 2)):
                    if self.stop.is_set():
                        return
                    with repo.commit("main", f"by {self.number}") as tx:
                        tx.table("out").insert([{"id": n, "a": n}])
                        tx.files.append("log.txt", f"{n}\n")
                        tx.files.put(f"theirs/{n}", str(n))
                    self.done.append(n)
        except BaseException as error:
            self.failed = error


@pytest.mark.parametrize("mode", ["own", "append"])
def test_nothing_is_lost_on_a_busy_output(repo: ab.Repository, store_url: str, mode: str) -> None:
    stop = threading.Event()
    others = [OtherWriter(store_url, number, stop) for number in range(WRITERS)]
    for other in others:
        other.start()
    try:
        for n in range(RUNS):
            _run(repo, n, mode)
    finally:
        stop.set()
        for other in others:
            other.join()
    assert [other.failed for other in others] == [None] * WRITERS
    acknowledged = sorted(n for other in others for n in other.done)
    made = {(0, 0), *((n, n) for n in range(1, RUNS))} if mode == "append" else {(0, RUNS - 1), (RUNS - 1, RUNS - 1)}
    assert {(r["id"], r["a"]) for r in repo.table("out").rows()} == {*((n, n) for n in acknowledged), *made}
    tree = repo.files()
    lines = tree.read("log.txt").decode().splitlines()
    own = [line for line in lines if line.startswith("job")]
    assert own == ([f"job {n}" for n in range(RUNS)] if mode == "append" else [f"job {RUNS - 1}"])
    assert sorted(line for line in lines if line not in own) == sorted(["first", *map(str, acknowledged)])
    assert sorted(f.path for f in tree.glob("theirs/*")) == sorted(f"theirs/{n}" for n in acknowledged)
    assert [b.name for b in repo.branches()] == ["main"]
    assert repo.verify().damages == ()


def _run(repo: ab.Repository, n: int, mode: str) -> None:
    def make(shard: Any) -> Iterator[dict[str, Any]]:
        shard.append("log.txt", f"job {n}\n")
        if mode == "own" or n == 0:
            yield {"id": 0, "a": n}
        if n:
            yield {"id": n, "a": n}

    options: dict[str, Any] = {"table": "out", "key": "id", "shards": 1, "local": True, "mode": mode}
    repo.job(make, inputs={"seen": "seen"}, version=str(n), **options).run()
