"""A thousand small commits on one table: what each costs on the way, and what a scan costs at the end."""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import anabranch as ab
from benchmarks import on_spark, orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, run_each, side_by_side

COMMITS, BLOCK, KEYS = 1000, 100, 100
LOOSE = ab.Settings().folding.commit_limit - 1
"""Commits that follow, which nothing folds any more: a scan meets as many of them as there may be."""
FEW = ["status", "price", "quantity"]


def in_process(scale: Scale, rows: int) -> Iterator[Measured]:
    """Load, commit and scan with the in-process engine."""
    with _repository(scale, rows, engine="duck") as repo:
        path = orders.write_shuffled(scale.folder / "incoming.parquet", rows)
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", pq.read_table(path), key="id")
        yield from _commits(scale, repo, rows)
        with repo.commit("main", "fresh") as tx:
            tx.create_table("fresh", repo.table("orders").arrow(), key="id")
            tx.create_table("tiny", [{"id": 1}], key="id")
        _tell_layout(repo)
        opened = partial(_Opened, scale, rows, engine="duck")
        for name, read in _READS.items():
            again = {t: Task(lambda _, t=t, read=read: read(repo, t)) for t in ("fresh", "orders")}
            yield _scan(scale, rows, f"fold-scan in process, {name}", again)
            first = {t: Task(lambda new, t=t, read=read: read(new, t), opened()) for t in again}
            yield _scan(scale, rows, f"fold-scan in process, {name}, first read", first)


_READS: dict[str, Callable[[ab.Repository, str], object]] = {
    "all columns": lambda repo, table: repo.table(table).arrow(),
    "3 columns": lambda repo, table: repo.table(table, columns=FEW).arrow(),
    "SQL": lambda repo, table: repo.sql(f"SELECT status, sum(price * quantity) FROM {table} GROUP BY status").rows(),
}


class _Opened:
    """Opens the repository anew each time, as a process does that has just begun; its engine is there already."""

    def __init__(self, scale: Scale, rows: int, **options: Any) -> None:
        self._folder, self._options, self._last = _folder(scale, rows), options, None

    def __call__(self, _number: int) -> ab.Repository:
        if self._last is not None:
            self._last.close()
        self._last: ab.Repository | None = ab.open(self._folder, **self._options)
        self._last.table("tiny").arrow()
        return self._last


def through_spark(scale: Scale, rows: int) -> Iterator[Measured]:
    """Load and scan with Spark; small commits run in the process."""
    with on_spark.open_session(scale.folder) as session, _repository(scale, rows, spark=session) as repo:
        path = orders.write_shuffled(scale.folder / "incoming.parquet", rows)
        on_spark.load_table(repo, session.read.schema(orders.SCHEMA).parquet(str(path)))
        yield from _commits(scale, repo, rows)
        with repo.commit("main", "fresh") as tx:
            tx.create_table("fresh", repo.table("orders").spark(), key="id")
            tx.create_table("tiny", [{"id": 1}], key="id")
        _tell_layout(repo)
        assert on_spark.revenue(repo.table("fresh").spark()) == on_spark.revenue(repo.table("orders").spark())
        reads = {t: Task(lambda _, t=t: on_spark.revenue(repo.table(t).spark())) for t in ("fresh", "orders")}
        yield _scan(scale, rows, "fold-scan on Spark", reads)
        opened = partial(_Opened, scale, rows, spark=session)
        first = {t: Task(lambda new, t=t: on_spark.revenue(new.table(t).spark()), opened()) for t in reads}
        yield _scan(scale, rows, "fold-scan on Spark, first read", first)


def _commits(scale: Scale, repo: ab.Repository, rows: int) -> Iterator[Measured]:
    """Commit, and beside every tenth time the first change of an untouched table, on a branch of its own."""
    spent: list[float] = []
    first: list[float] = []
    repo.branch("start")
    write = _Writer(rows)
    count = BLOCK // 5 if scale.quick else COMMITS
    for number in range(count):
        change = write.next(number)
        if number % 10 == 0:
            repo.branch(f"aside-{number}", at="start")
            first.append(_time(lambda b=f"aside-{number}", n=number: write.run(repo, b, _update(rows, n))))
        spent.append(_time(lambda c=change: write.run(repo, "main", c)))
    curve = [statistics.median(spent[i : i + BLOCK]) for i in range(0, count, BLOCK)]
    beside = [statistics.median(first[i : i + BLOCK // 10]) for i in range(0, len(first), BLOCK // 10)]
    for number, (ours, theirs) in enumerate(zip(curve, beside, strict=True)):
        size = f"{rows:,} rows, commits {number * BLOCK}-{number * BLOCK + BLOCK - 1}"
        yield Measured("fold-commit", size, theirs, ours, ours / theirs, LIMITS["fold-commit"])
    middle = statistics.median(spent)
    limit = LIMITS["fold-slowest"]
    yield Measured("fold-commit slowest", f"{rows:,} rows", middle, max(spent), max(spent) / middle, limit)
    for number in range(count, count + LOOSE):
        write.run(repo, "main", write.next(number))


Change = Callable[[Any], object]


class _Writer:
    """Small changes: mostly new prices of 100 random keys, every tenth time 100 rows come or go."""

    def __init__(self, rows: int) -> None:
        self.rows = self.next_key = rows

    def next(self, number: int) -> Change:
        if number % 20 == 9:
            fresh = range(self.next_key, self.next_key + KEYS)
            self.next_key += KEYS
            return lambda table: table.insert([_row(key) for key in fresh])
        if number % 20 == 19:
            low = random.Random(number).randrange(self.rows)
            return lambda table: table.delete(where=f"id BETWEEN {low} AND {low + KEYS - 1}")
        return _update(self.rows, number)

    def run(self, repo: ab.Repository, branch: str, change: Change) -> None:
        with repo.commit(branch, "change") as tx:
            change(tx.table("orders"))


def _update(rows: int, number: int) -> Change:
    keys = ", ".join(map(str, orders.some_keys(rows, KEYS, number)))
    return lambda table: table.update({"price": "price + 1"}, where=f"id IN ({keys})")


def _row(key: int) -> dict[str, Any]:
    price = Decimal(key % 9973) / 100
    return {"id": key, "customer": key % 1000, "status": "new", "price": price, "quantity": 1, "note": str(key)}


def _scan(scale: Scale, rows: int, name: str, reads: dict[str, Task]) -> Measured:
    times = side_by_side(reads, scale.rounds(20), warm_up=scale.rounds(3), patience=scale.patience)
    return compared(name, f"{rows:,} rows", times["fresh"], times["orders"], LIMITS["fold-scan"])


def _tell_layout(repo: ab.Repository) -> None:
    layers = repo.table("orders").layout()
    kinds = {(x["view"], x["kind"]) for x in layers}
    counts = {f"{v} {k}": sum((x["view"], x["kind"]) == (v, k) for x in layers) for v, k in sorted(kinds, key=str)}
    print(f"layers at the end: {counts}", file=sys.stderr, flush=True)


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _folder(scale: Scale, rows: int) -> Path:
    return scale.folder / f"folds-{rows}"


@contextmanager
def _repository(scale: Scale, rows: int, **options: Any) -> Iterator[ab.Repository]:
    folder = _folder(scale, rows)
    repo = ab.init(folder, **options)
    try:
        yield repo
    finally:
        repo.close()
        shutil.rmtree(folder)


BENCHMARKS = {"fold-process": in_process, "fold-spark": through_spark}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run benchmarks one after another; the in-process one sees no session."""
    return run_each(BENCHMARKS, chosen, scale)
