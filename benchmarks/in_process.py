"""In the process, without a JVM: small commits against DuckDB finding the keys, a branch against one insert."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import anabranch as ab
from benchmarks import orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, Times, compared, side_by_side, tell

KEYS = 100
"""Rows that one commit changes."""
COMMITS = 60


class Bench:
    """Orders of one size in a repository of the in-process engine, and DuckDB beside it on the same files."""

    def __init__(self, scale: Scale, rows: int) -> None:
        self.scale, self.rows = scale, rows
        self.folder = scale.folder / f"process-{rows}"
        self.folder.mkdir()

    @property
    def size(self) -> str:
        return f"{self.rows:,} rows"

    @cached_property
    def repo(self) -> ab.Repository:
        """The orders on `main`; each kind of update has a branch of its own."""
        repo = ab.init(self.folder / "repo", engine="duck")
        path = orders.write_shuffled(self.folder / "incoming.parquet", self.rows)
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", pq.read_table(path), key="id")
        path.unlink()
        for name in ("by-where", "by-rows"):
            repo.branch(name)
        return repo

    @cached_property
    def duck(self) -> duckdb.DuckDBPyConnection:
        """A connection with as many threads as the engine has."""
        engine = self.repo._ctx.engines.duck()
        threads = engine._cursor().execute("SELECT current_setting('threads')").fetchall()[0][0]
        return duckdb.connect(config={"threads": threads})

    @cached_property
    def source(self) -> tuple[str, str, str]:
        """The snapshot's files as DuckDB reads them, and the columns id and price in them."""
        layers = self.repo.table("orders").layout()
        paths = [str(self.folder / "repo/.anabranch/objects" / layer["path"]) for layer in layers]
        schema = self.repo.table("orders").schema
        return f"read_parquet({paths})", schema.column("id").id, schema.column("price").id

    @cached_property
    def update_times(self) -> dict[str, Times]:
        """Both kinds of commit and their counterparts, in turns."""
        tasks = {
            "find-where": Task(self._find_where, self._keys),
            "update-where": Task(self._update_where, self._keys),
            "find-rows": Task(self._find_rows, self._keys),
            "update-rows": Task(self._update_rows, self._keys),
        }
        return side_by_side(tasks, COMMITS if not self.scale.quick else 5, warm_up=2, patience=self.scale.patience)

    def _keys(self, turn: int) -> list[int]:
        return orders.some_keys(self.rows, KEYS, turn)

    def _find_where(self, keys: list[int]) -> None:
        files, id_, price = self.source
        listed = ", ".join(map(str, keys))
        self._found(f"SELECT {id_}, {price} FROM {files} WHERE {id_} IN ({listed})")

    def _find_rows(self, keys: list[int]) -> None:
        files, id_, price = self.source
        self.duck.register("wanted", pa.table({"k": pa.array(keys, pa.int64())}))
        self._found(f"SELECT {id_}, {price} FROM {files} JOIN wanted ON {id_} = k")
        self.duck.unregister("wanted")

    def _found(self, text: str) -> None:
        assert self.duck.sql(text).to_arrow_table().num_rows == KEYS

    def _update_where(self, keys: list[int]) -> None:
        listed = ", ".join(map(str, keys))
        with self.repo.commit("by-where", "reprice") as tx:
            counts = tx.table("orders").update({"price": "price + 1"}, where=f"id IN ({listed})")
        assert counts.updated == KEYS

    def _update_rows(self, keys: list[int]) -> None:
        price = Decimal(-sum(keys)) / 100  # nowhere in the table, and another one each time
        with self.repo.commit("by-rows", "reprice") as tx:
            counts = tx.table("orders").upsert([{"id": key, "price": price} for key in keys])
        assert counts.updated == KEYS


def update_where(bench: Bench) -> list[Measured]:
    """Commit a new price for 100 random keys given by `where`, against DuckDB finding them."""
    times = bench.update_times
    found, made = times["find-where"], times["update-where"]
    return [compared("update-where", bench.size, found, made, LIMITS["update-where"])]


def update_rows(bench: Bench) -> list[Measured]:
    """Commit a new price for 100 random keys given as partial rows, against DuckDB joining them."""
    times = bench.update_times
    found, made = times["find-rows"], times["update-rows"]
    return [compared("update-rows", bench.size, found, made, LIMITS["update-rows"])]


def slowest_commit(bench: Bench) -> list[Measured]:
    """Compare the slowest of 60 commits with the median: nobody pays for all."""
    limit = LIMITS["slowest-commit"]
    return [
        Measured(f"slowest-commit {kind}", bench.size, times.median, times.worst, times.worst / times.median, limit)
        for kind, times in bench.update_times.items()
        if kind.startswith("update-")
    ]


def branch(bench: Bench) -> list[Measured]:
    """Make branches, against as many synced inserts in the same SQLite."""
    path = bench.folder / "repo/.anabranch/catalog.db"
    repo = bench.repo
    scratch = _scratch(str(path))

    def insert(number: int) -> None:
        scratch.execute("BEGIN IMMEDIATE")
        scratch.execute("INSERT INTO benchmark_scratch VALUES (?, ?)", (number, f"branch-{number}"))
        scratch.execute("COMMIT")

    tasks = {
        "baseline": _in_blocks(insert),
        "ours": _in_blocks(lambda number: repo.branch(f"b{number}")),
    }
    times = side_by_side(tasks, bench.scale.rounds(60), warm_up=2, patience=bench.scale.patience)
    scratch.execute("DROP TABLE benchmark_scratch")
    scratch.close()
    return [compared("branch", bench.size, times["baseline"], times["ours"], LIMITS["branch"])]


def _in_blocks(make: Callable[[int], object]) -> Task:
    """Ten at a time: SQLite forgets its pages when another connection has written, which nobody asked about."""

    def block(number: int) -> None:
        for n in range(10 * number, 10 * number + 10):
            make(n)

    return Task(block)


BENCHMARKS = {
    "update-where": update_where,
    "update-rows": update_rows,
    "slowest-commit": slowest_commit,
    "branch": branch,
}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run benchmarks in a process that never sees PySpark."""
    found: list[Measured] = []
    for rows in scale.rows:
        bench = Bench(scale, rows)
        for name in chosen:
            found += tell(BENCHMARKS[name](bench))
        bench.repo.close()
        shutil.rmtree(bench.folder)
    assert "pyspark" not in sys.modules, "small commits must not import PySpark"
    return found


def _scratch(path: str) -> sqlite3.Connection:
    """A connection of our own to the catalogue's file, as durable as the catalogue's, with one more table."""
    connection: Any = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE benchmark_scratch (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    return connection  # type: ignore[no-any-return]
