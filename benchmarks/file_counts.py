"""A table of very many files: opening it, finding rows, small commits, diff and merge must not follow their number."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

import anabranch as ab
from anabranch.settings import FoldingSettings, ObjectSettings, Settings
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, side_by_side, tell

FILE_ROWS = 20
SMALL, LARGE = 1_000, 100_000
QUICK_SMALL, QUICK_LARGE = 50, 500
KEYS = 100


class Filed:
    """A repository with one table of so many files of 20 rows each."""

    def __init__(self, scale: Scale, files: int) -> None:
        self.rows = files * FILE_ROWS
        self.folder = scale.folder / f"files-{files}"
        # A fold costs what the files of a table cost, and is measured by `folds`.
        settings = Settings(
            objects=ObjectSettings(file_row_limit=FILE_ROWS, inline_limit_bytes=0),
            folding=FoldingSettings(commit_limit=0),
        )
        self.repo = ab.init(self.folder, engine="duck", settings=settings)
        rows = pa.table({"id": np.arange(self.rows), "v": np.zeros(self.rows, dtype=np.int64)})
        with _unsynced(), self.repo.commit("main", "load") as tx:
            tx.create_table("t", rows, key="id")
        self.repo.close()
        self.repo = ab.open(self.folder, engine="duck", settings=Settings(folding=FoldingSettings(commit_limit=0)))
        self.repo.branch("changed")
        self._change("changed", 0)

    def keys(self, seed: int, parity: int = 0) -> list[int]:
        """Random keys, even or odd ones."""
        return random.Random(seed).sample(range(parity, self.rows, 2), KEYS)

    def _change(self, branch: str, seed: int, parity: int = 0) -> None:
        with self.repo.commit(branch, "change") as tx:
            counts = tx.table("t").upsert([{"id": key, "v": seed + 1} for key in self.keys(seed, parity)])
        assert counts.updated == KEYS

    def open_cold(self, _number: int) -> None:
        with ab.open(self.folder, engine="duck") as repo:
            assert repo.table("t").count() == self.rows

    def open(self, _number: int) -> None:
        assert self.repo.table("t").count() == self.rows

    def get(self, number: int) -> None:
        assert self.repo.table("t").get(self.keys(number)[0]) is not None

    def where(self, number: int) -> None:
        low = self.keys(number)[0] // 2
        assert self.repo.table("t", where=f"id BETWEEN {low} AND {low + 39}").arrow().num_rows == 40

    def commit(self, number: int) -> None:
        self._change("main", 1000 + number)

    def diff(self, _number: int) -> None:
        assert self.repo.diff("main~", "main")["t"].counts()["updated"] == KEYS

    def branch_off(self, number: int) -> int:
        """Make two branches that changed other rows."""
        for parity, name in enumerate(("ours", "theirs")):
            self.repo.branch(f"{name}-{number}", at="main")
            self._change(f"{name}-{number}", 2000 + number, parity)
        return number

    def merge(self, number: int) -> None:
        self.repo.merge(f"theirs-{number}", into=f"ours-{number}")


@contextmanager
def _unsynced() -> Iterator[None]:
    """Write without waiting for the disk: the table is thrown away, and filling it is not measured."""
    real, os.fsync = os.fsync, lambda _handle: None
    try:
        yield
    finally:
        os.fsync = real


VERBS: Mapping[str, tuple[Callable[[Filed, int], None], int]] = {
    "open-cold": (Filed.open_cold, 1),
    "open": (Filed.open, 9),
    "get": (Filed.get, 9),
    "where": (Filed.where, 9),
    "commit": (Filed.commit, 5),
    "diff": (Filed.diff, 5),
    "merge": (Filed.merge, 3),
}


def run(_chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run every verb on a table of few files and on one of many, side by side, in CPU seconds."""
    small, large = (QUICK_SMALL, QUICK_LARGE) if scale.quick else (SMALL, LARGE)
    few, many = Filed(scale, small), Filed(scale, large)
    found: list[Measured] = []
    for name, (verb, rounds) in VERBS.items():
        tasks = {side: _task(verb, filed) for side, filed in (("few", few), ("many", many))}
        times = side_by_side(tasks, scale.rounds(rounds), patience=scale.patience, clock=time.process_time)
        size = f"{large:,} files for {small:,}"
        found += tell([compared(f"files-{name}", size, times["few"], times["many"], LIMITS["files-count"])])
    return found


def _task(verb: Callable[[Filed, int], None], filed: Filed) -> Task:
    prepare = filed.branch_off if verb is Filed.merge else int
    return Task(lambda number: verb(filed, number), prepare)
