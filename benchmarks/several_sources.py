"""One merge of many sources, beside one of four, in CPU seconds: of rows of their own, and of appends to one file."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import anabranch as ab
from anabranch.repo.commit.transaction import Transaction
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale

FEW, SOURCES, QUICK_SOURCES = 4, (64, 1000), (8, 16)
ROWS_EACH = 10


def run(names: Sequence[str], scale: Scale) -> list[Measured]:
    """Merge 4, 64 and 1,000 sources; the last against the one before it, as many times as it has more sources."""
    assert "nway" in names
    some, many = QUICK_SOURCES if scale.quick else SOURCES
    few, middle = _few_and_some(scale, some, _with_rows)
    few_appends, some_appends = _few_and_some(scale, some, _with_appends)
    last = _with_rows(scale, many)
    beside = f"{some} sources beside {FEW}"
    return [
        Measured("nway", beside, few, middle, middle / few, LIMITS["nway"]),
        Measured("nway in seconds", f"{some} sources beside 1 s", 1.0, middle, middle, LIMITS["nway seconds"]),
        Measured(
            "nway growth",
            f"{many} sources beside {some}, for each",
            middle / some,
            last / many,
            (last / many) / (middle / some),
            LIMITS["nway growth"],
        ),
        Measured("nway appends", beside, few_appends, some_appends, some_appends / few_appends, LIMITS["nway appends"]),
    ]


def _few_and_some(scale: Scale, some: int, merge: Callable[[Scale, int], float]) -> tuple[float, float]:
    merge(scale, FEW)  # the first merge of a process pays for what it loads
    return min(merge(scale, FEW) for _ in range(3)), merge(scale, some)


def _with_rows(scale: Scale, sources: int) -> float:
    """CPU seconds of a merge of sources that inserted rows of their own."""
    with _store(scale, sources) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "a": 0} for n in range(1000)], key="id")
        taken = _merged(
            repo,
            sources,
            lambda tx, n: tx.table("t").insert([{"id": 1000 * (n + 1) + k, "a": n} for k in range(ROWS_EACH)]),
        )
        assert repo.table("t").count() == 1000 + sources * ROWS_EACH
    return taken


def _with_appends(scale: Scale, sources: int) -> float:
    """CPU seconds of a merge of sources that all appended to one versioned file."""
    with _store(scale, sources) as repo:
        with repo.commit("main", "load") as tx:
            tx.files.append("log", "first\n")
        taken = _merged(repo, sources, lambda tx, n: tx.files.append("log", f"{n}\n"))
        assert list(repo.files().lines("log")) == ["first", *map(str, range(sources))]
    return taken


@contextmanager
def _store(scale: Scale, sources: int) -> Iterator[ab.Repository]:
    """A store that is gone after."""
    folder = scale.folder / f"nway-{sources}"
    with ab.init(folder, engine="duck") as repo:
        yield repo
    shutil.rmtree(folder)


def _merged(repo: ab.Repository, sources: int, write: Callable[[Transaction, int], object]) -> float:
    """CPU seconds of one merge into a branch whose sources sprang from it."""
    names = [f"shard{n}" for n in range(sources)]
    for n, name in enumerate(names):
        repo.branch(name, at="main")
        with repo.commit(name, "what a source wrote") as tx:
            write(tx, n)
    before = time.process_time()
    repo.merge(names, into="main")
    return time.process_time() - before
