"""Reads that compare files with what was written, against the same reads without: in the process, and on Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

import anabranch as ab
from anabranch.engines.before_read import look_at_none, where_they_are
from anabranch.objects import soundness
from benchmarks import on_spark, orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, run_each, side_by_side

TRUSTING = ab.Settings(damage=ab.DamageSettings(hashes=False, page_checksums=False))
READS: dict[str, Callable[[ab.Repository], object]] = {
    "all columns": lambda repo: repo.table("orders").arrow(),
    "2 columns": lambda repo: repo.table("orders", columns=["id", "status"]).arrow(),
}


def in_process(scale: Scale, rows: int) -> Iterator[Measured]:
    """Read again and again, and as the first read of a process, which hashes the files."""
    with _orders(scale, rows) as place, ab.open(place, engine="duck") as repo, ab.open(place, engine="duck") as before:
        before._ctx.engines.duck()._at_hand = where_they_are
        for what, read in READS.items():
            tasks = {
                "before": Task(lambda _, read=read: read(before)),
                "checked": Task(lambda _, read=read: read(repo)),
                "first": Task(lambda _, read=read: read(repo), lambda _: soundness._sound.clear()),
            }
            times = side_by_side(tasks, scale.rounds(40), warm_up=3, patience=scale.patience)
            for name, kind in (("checked", "damage-scan"), ("first", "damage-first")):
                told, limit = f"{kind} in process, {what}", LIMITS[kind]
                yield compared(told, f"{rows:,} rows", times["before"], times[name], limit)


def spark(scale: Scale, rows: int) -> Iterator[Measured]:
    """Run the query over DataFrames of one session, with the checksums of pages and without."""
    with (
        on_spark.open_session(scale.folder) as session,
        _orders(scale, rows) as place,
        ab.open(place, spark=session) as repo,
        ab.open(place, spark=session, settings=TRUSTING) as before,
    ):
        before._ctx.engines.spark().before_read = look_at_none
        tasks = {
            "before": Task(lambda _: on_spark.revenue(before.table("orders").spark())),
            "checked": Task(lambda _: on_spark.revenue(repo.table("orders").spark())),
        }
        times = side_by_side(tasks, scale.rounds(40), warm_up=scale.rounds(15), patience=scale.patience)
        limit = LIMITS["damage-scan"]
        yield compared("damage-scan on Spark", f"{rows:,} rows", times["before"], times["checked"], limit)


@contextmanager
def _orders(scale: Scale, rows: int) -> Iterator[Path]:
    """The orders in a store, written in the process."""
    place = scale.folder / f"damage-{rows}"
    path = orders.write_shuffled(scale.folder / "incoming.parquet", rows)
    with ab.init(place, engine="duck") as repo, repo.commit("main", "load") as tx:
        tx.create_table("orders", pq.read_table(path), key="id")
    yield place
    shutil.rmtree(place)


BENCHMARKS = {"damage-process": in_process, "damage-spark": spark}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run each at each size."""
    return run_each(BENCHMARKS, chosen, scale)
