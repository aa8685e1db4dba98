"""On Spark: reading and loading a table, against plain Parquet in the same session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import anabranch as ab
from benchmarks import orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, Times, compared, side_by_side, tell
from tests.connect import start_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Bench:
    """Orders of one size: shuffled as they come, as plain Parquet, clustered by key, and in a repository."""

    def __init__(self, session: SparkSession, scale: Scale, rows: int) -> None:
        self.session, self.scale, self.rows = session, scale, rows
        self.folder = scale.folder / f"spark-{rows}"
        self.folder.mkdir()

    @property
    def size(self) -> str:
        return f"{self.rows:,} rows"

    @cached_property
    def incoming(self) -> DataFrame:
        """The rows as somebody hands them over: read from Parquet, in no order."""
        path = orders.write_shuffled(self.folder / "incoming.parquet", self.rows)
        return self.session.read.schema(orders.SCHEMA).parquet(str(path))

    @cached_property
    def plain(self) -> str:
        path = str(self.folder / "plain")
        self.incoming.write.parquet(path)
        return path

    @cached_property
    def clustered(self) -> str:
        path = str(self.folder / "clustered")
        self.incoming.repartitionByRange("id").sortWithinPartitions("id").write.parquet(path)
        return path

    @cached_property
    def repo(self) -> ab.Repository:
        """A repository with the orders on `main`, and a price changed in 0.1 % of them on `changed`."""
        repo = ab.init(self.folder / "repo", spark=self.session)
        load_table(repo, self.incoming)
        repo.branch("changed")
        keys = orders.some_keys(self.rows, max(1, self.rows // 1000), turn=0)
        with repo.commit("changed", "reprice") as tx:
            tx.table("orders").upsert([{"id": key, "price": Decimal("-1.00")} for key in keys])
        return repo

    @cached_property
    def scan_times(self) -> dict[str, Times]:
        """One query over all of them, in turns; the JVM needs some rounds until it is at full speed."""
        frames: dict[str, Callable[[], DataFrame]] = {
            "plain": lambda: _read(self, self.plain),
            "clustered": lambda: _read(self, self.clustered),
            "untouched": lambda: self.repo.table("orders").spark(),
            "changed": lambda: self.repo.table("orders", at="changed").spark(),
        }
        answers = {name: revenue(frame()) for name, frame in frames.items()}
        assert answers["plain"] == answers["clustered"] == answers["untouched"] != answers["changed"]
        tasks = {name: _query(frame) for name, frame in frames.items()}
        return side_by_side(tasks, self.scale.rounds(20), warm_up=self.scale.rounds(10), patience=self.scale.patience)


def load(bench: Bench) -> list[Measured]:
    """Load a keyed table in one commit, checked and clustered, against writing the DataFrame as it is."""
    tasks = {
        "baseline": Task(lambda path: bench.incoming.write.parquet(str(path)), lambda n: _fresh(bench, f"write-{n}")),
        "ours": Task(
            lambda repo: load_table(repo, bench.incoming),
            lambda n: ab.init(_fresh(bench, f"load-{n}"), spark=bench.session),
        ),
    }
    assert bench.incoming.columns == list(orders.COLUMNS)
    times = side_by_side(tasks, bench.scale.rounds(5), warm_up=bench.scale.rounds(2), patience=bench.scale.patience)
    return [compared("load", bench.size, times["baseline"], times["ours"], LIMITS["load"])]


def load_driver(bench: Bench) -> list[Measured]:
    """What a load costs this process, the driver's, in CPU seconds, against a load of a fifth of the rows."""
    fifth = bench.rows // 5
    rows = {"baseline": bench.incoming.where(f"id < {fifth}"), "ours": bench.incoming}
    sealed = ab.Settings(spark=ab.SparkSettings(seal_in_process_limit_bytes=0))  # by executors, whatever the size
    tasks = {
        name: Task(
            lambda repo, frame=frame: load_table(repo, frame),
            lambda n, name=name: ab.init(_fresh(bench, f"{name}-{n}"), spark=bench.session, settings=sealed),
        )
        for name, frame in rows.items()
    }
    times = side_by_side(tasks, bench.scale.rounds(3), patience=bench.scale.patience, clock=process_time)
    size = f"{bench.size} beside {fifth:,}"
    return [compared("load-driver", size, times["baseline"], times["ours"], LIMITS["load-driver"])]


def scan(bench: Bench) -> list[Measured]:
    """Read an untouched table, against plain Parquet of the same rows: as it was written, and clustered by key."""
    return _against_both("scan", bench, "untouched")


def scan_changed(bench: Bench) -> list[Measured]:
    """Read a table in which one column of 0.1 % of the rows was changed since the snapshot."""
    return _against_both("scan-changed", bench, "changed")


def _against_both(name: str, bench: Bench, what: str) -> list[Measured]:
    times = bench.scan_times
    return [
        compared(f"{name} / {baseline}", bench.size, times[baseline], times[what], LIMITS[name])
        for baseline in ("plain", "clustered")
    ]


BENCHMARKS = {"load": load, "load-driver": load_driver, "scan": scan, "scan-changed": scan_changed}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run benchmarks in one session."""
    found: list[Measured] = []
    with open_session(scale.folder) as session:
        for rows in scale.rows:
            bench = Bench(session, scale, rows)
            for name in chosen:
                found += tell(BENCHMARKS[name](bench))
            shutil.rmtree(bench.folder)
    return found


def load_table(repo: ab.Repository, frame: DataFrame) -> None:
    """Load the orders in one commit."""
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", frame, key="id")


def revenue(frame: DataFrame) -> dict[str, Any]:
    """Run the query of the comparison: the revenue by status."""
    from pyspark.sql import functions as F

    rows = frame.groupBy("status").agg(F.sum(F.col("price") * F.col("quantity")).alias("revenue")).collect()
    return {row["status"]: row["revenue"] for row in rows}


def _query(frame: Callable[[], DataFrame]) -> Task:
    return Task(lambda _: revenue(frame()))


def _read(bench: Bench, path: str) -> DataFrame:
    """The quickest way that Spark has: with the schema given, no footer is read before the query."""
    return bench.session.read.schema(orders.SCHEMA).parquet(path)


def _fresh(bench: Bench, name: str) -> Path:
    """A new place; the one before is removed, and what others wrote is on disk before the clock starts."""
    place = bench.folder / "fresh"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    os.sync()
    return place / name


@contextmanager
def open_session(folder: Path, more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Two cores and Spark's own defaults; the rest keeps it quiet and to itself."""
    settings: dict[str, Any] = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(more or {}),
    }
    session = start_classic("local[2]", settings)
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()
