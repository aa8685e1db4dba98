"""Verbs that only ask the catalogue, and a small commit: their cost must not follow the size of the history."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import anabranch as ab
from anabranch.repo.branches.refs import resolve
from benchmarks.catalogue import Size, fill
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, side_by_side, tell

SMALL = Size(commits=100, branches=10, tables=10)
LARGE = {"commits": 100_000, "branches": 10_000, "tables": 10_000}
QUICK = {"commits": 500, "branches": 100, "tables": 100}
CATALOGUES = ("sqlite", "postgresql")


@dataclass(frozen=True)
class Filled:
    """A repository with a history of some size, and ways to name one commit of it."""

    repo: ab.Repository
    size: Size
    refs: Mapping[str, str]


def branch(filled: Filled, number: int) -> None:
    """Make a branch."""
    filled.repo.branch(f"made-{number}")


def commit(filled: Filled, number: int) -> None:
    """Commit a few rows of a small table."""
    with filled.repo.commit("main", "few rows") as tx:
        counts = tx.table("small").upsert([{"id": key, "price": 10 + number} for key in range(5)])
    assert counts.updated == 5


def table(filled: Filled, _number: int) -> None:
    """Look a table up."""
    assert filled.repo.table("n0.t7").count() == 1


def log(filled: Filled, _number: int) -> None:
    """Show the newest commits."""
    assert len(filled.repo.log(limit=20)) == 20


def ls(filled: Filled, _number: int) -> None:
    """List the tables of one namespace."""
    assert len(filled.repo.tables(namespace="n0")) == 10


def ls_all(filled: Filled, _number: int) -> None:
    """List all tables."""
    assert len(filled.repo.tables()) >= filled.size.tables


def _resolver(kind: str) -> Callable[[Filled, int], None]:
    def resolve_ref(filled: Filled, _number: int) -> None:
        with filled.repo._ctx.catalog.read() as cx:
            resolve(filled.repo._ctx, cx, filled.refs[kind])

    return resolve_ref


KINDS = ("name", "tag", "main~50", "hash", "main/7", "time")
VERBS: Mapping[str, Callable[[Filled, int], None]] = {
    "branch": branch,
    "commit": commit,
    "table": table,
    "log": log,
    "ls": ls,
    **{f"ref {kind}": _resolver(kind) for kind in KINDS},
}


def compare(small: Filled, large: Filled, label: str, scale: Scale) -> Iterator[Measured]:
    """Time each verb on both histories, in turns."""
    for name, verb in VERBS.items():
        tasks = {key: _task(verb, filled) for key, filled in (("small", small), ("large", large))}
        times = side_by_side(tasks, scale.rounds(41), warm_up=scale.rounds(3))
        yield compared(f"flat {name}", label, times["small"], times["large"], LIMITS["flat"])


def compare_listing(small: Filled, large: Filled, label: str, scale: Scale) -> Measured:
    """List all tables; what counts is the time for one."""
    tasks = {key: _task(ls_all, f) for key, f in (("small", small), ("large", large))}
    times = side_by_side(tasks, scale.rounds(7), warm_up=1)
    each = [times[key].median / len(f.repo.tables()) for key, f in (("small", small), ("large", large))]
    return Measured("flat ls, all: one table", label, each[0], each[1], each[1] / each[0], LIMITS["flat"])


def _task(verb: Callable[[Filled, int], None], filled: Filled) -> Task:
    return Task(lambda number: verb(filled, number))


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Compare a small history with large ones, one dimension at a time, on each kind of catalogue."""
    found: list[Measured] = []
    for catalogue in CATALOGUES:
        with ExitStack() as stack:
            places = _places(catalogue, scale.folder, stack)
            for name in (n for n in chosen if n in LARGE):
                most = QUICK[name] if scale.quick else LARGE[name]
                small = stack.enter_context(_opened(places, SMALL))
                large = stack.enter_context(_opened(places, replace(SMALL, **{name: most})))
                least = getattr(SMALL, name)
                label = f"{least:,} → {most:,} {name}, {catalogue}"
                found += tell(list(compare(small.filled, large.filled, label, scale)))
                if name == "tables":
                    found.append(compare_listing(small.filled, large.filled, label, scale))
    assert "pyspark" not in sys.modules, "verbs that only ask the catalogue must not import PySpark"
    return found


class _opened:
    """A new repository with a history, closed at the end."""

    def __init__(self, places: Iterator[tuple[str, str | None]], size: Size) -> None:
        store, objects = next(places)
        self._closing = closing(ab.init(store, objects=objects, repository="bench", engine="duck"))
        self._size = size

    def __enter__(self) -> _opened:
        repo = self._closing.__enter__()
        fill(repo, self._size)
        self.filled = Filled(repo, self._size, _refs(repo))
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.__exit__(None, None, None)


def _refs(repo: ab.Repository) -> dict[str, str]:
    """Name a commit in every way that a ref can; the time is an early one, long ago in a long history."""
    then = repo.show("main/7").finished_at.isoformat()
    prefix = repo.show("main~30").hash[:12]
    return dict(zip(KINDS, ("main", "v1", "main~50", prefix, "main/7", f"main@{{{then}}}"), strict=True))


def _places(catalogue: str, folder: Path, stack: ExitStack) -> Iterator[tuple[str, str | None]]:
    """Name new stores on one kind of catalogue."""
    if catalogue == "sqlite":
        return ((str(folder / f"flat-{number}"), None) for number in range(100))
    from tests.postgres import PostgresServer

    server = stack.enter_context(PostgresServer())
    return ((server.create_database(), str(folder / f"flat-objects-{number}")) for number in range(100))


BENCHMARKS = tuple(LARGE)
