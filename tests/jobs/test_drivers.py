"""Two drivers of one job: one works, and the other is refused in clear words; on both catalogues."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from anabranch.jobs.dealt import files


@pytest.fixture
def repo(store_url: str, objects_root: str) -> Iterator[ab.Repository]:
    with ab.init(store_url, objects=objects_root, author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.files.put("raw/0.txt", "line")
        yield made


def test_two_drivers_of_one_job_are_one_and_a_refusal(repo: ab.Repository, store_url: str) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(shard: Any) -> Iterator[dict[str, Any]]:
        began.set()
        assert go_on.wait(30)
        yield {"id": 1}

    options: dict[str, Any] = {"inputs": {"docs": files("raw/*")}, "table": "out", "shards": 1, "local": True}
    options["version"] = "1"
    first = threading.Thread(target=lambda: repo.job(slow, **options).run())
    first.start()
    try:
        assert began.wait(30)
        with ab.open(store_url) as other, pytest.raises(ab.Unavailable, match="job slow on main is run by"):
            other.job(slow, **options).run()
    finally:
        go_on.set()
        first.join()
    assert repo.table("out").rows() == [{"id": 1}]


def test_drivers_that_start_at_once_are_refused_clearly(store_url: str, repo: ab.Repository) -> None:
    """Two take the lease that nobody had, at the same moment."""
    refused: list[BaseException] = []
    options: dict[str, Any] = {"inputs": {"docs": files("raw/*")}, "table": "out", "shards": 1, "local": True}
    options["version"] = "1"
    barrier = threading.Barrier(4)

    def drive() -> None:
        with ab.open(store_url) as own:
            barrier.wait()
            try:
                own.job(quick, inputs={"docs": files("raw/*")}, table="out", shards=1, local=True, version="1").run()
            except BaseException as error:
                refused.append(error)

    def quick(shard: Any) -> Iterator[dict[str, Any]]:
        yield {"id": 1}

    for _ in range(5):
        drivers = [threading.Thread(target=drive) for _ in range(4)]
        for driver in drivers:
            driver.start()
        for driver in drivers:
            driver.join()
    assert all(isinstance(e, ab.Unavailable) and "is run by" in str(e) for e in refused), refused
    assert repo.table("out").rows() == [{"id": 1}]
