"""A daily full load of which 0.1 % changed: what it stores beside the table, and how long it takes beside a load."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anabranch as ab
from benchmarks import on_spark, orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, run_each, side_by_side

Rows = Callable[[int], Any]
"""The rows of one day."""


def in_process(scale: Scale, rows: int) -> Iterator[Measured]:
    """Overwrite with rows in memory, without a JVM."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    incoming = pq.read_table(_folder(scale) / _write(scale, rows))
    place = incoming.schema.get_field_index("quantity")

    def day(number: int) -> pa.Table:
        changed = pc.equal(pc.bit_wise_and(incoming["id"], 1023), number % 1024)
        quantity = pc.if_else(changed, pa.scalar(1000 + number, pa.int32()), incoming["quantity"])
        return incoming.set_column(place, "quantity", quantity)

    yield from _measure(scale, rows, day, "in process", engine="duck")


def through_spark(scale: Scale, rows: int) -> Iterator[Measured]:
    """Overwrite with a DataFrame."""
    from pyspark.sql import functions as F

    with on_spark.open_session(scale.folder) as session:
        incoming = session.read.schema(orders.SCHEMA).parquet(str(_folder(scale) / _write(scale, rows)))

        def day(number: int) -> Any:
            changed = F.col("id").bitwiseAND(1023) == number % 1024
            return incoming.withColumn("quantity", F.when(changed, 1000 + number).otherwise(F.col("quantity")))

        yield from _measure(scale, rows, day, "on Spark", spark=session)


def _measure(scale: Scale, rows: int, day: Rows, where: str, **options: Any) -> Iterator[Measured]:
    with ab.init(_folder(scale) / "repo", **options) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", day(0), key="id")
        full = _stored(repo)
        counts = _overwrite(repo, day(1))
        assert rows // 1024 <= counts.updated <= 2 * (rows // 1024 + 1), counts
        ratio = (_stored(repo) - full) / full
        limit = LIMITS["overwrite-bytes"]
        yield Measured(f"overwrite-bytes {where}", f"{rows:,} rows", full / 1e6, ratio * full / 1e6, ratio, limit)
        tasks = {
            "load": Task(lambda made: _load(made, day(0)), lambda n: _fresh(scale, n, options)),
            "overwrite": Task(lambda n: _overwrite(repo, day(n)), lambda n: n + 2),
        }
        times = side_by_side(tasks, scale.rounds(5), warm_up=1, patience=scale.patience)
        limit = LIMITS["overwrite-time"]
        yield compared(f"overwrite-time {where}", f"{rows:,} rows", times["load"], times["overwrite"], limit)
    shutil.rmtree(_folder(scale))


def _overwrite(repo: ab.Repository, rows: Any) -> ab.Counts:
    with repo.commit("main", "reload") as tx:
        return tx.table("orders").overwrite(rows)


def _load(repo: ab.Repository, rows: Any) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", rows, key="id")
    repo.close()


def _stored(repo: ab.Repository) -> int:
    """All bytes of the table's objects, those of changes before they were folded too."""
    changes = [repo.show_changes(commit.hash) for commit in repo.log()]
    return sum(o["size_bytes"] for change in changes for table in change for o in table.objects)


def _write(scale: Scale, rows: int) -> str:
    _folder(scale).mkdir(exist_ok=True)
    return orders.write_shuffled(_folder(scale) / "incoming.parquet", rows).name


def _folder(scale: Scale) -> Path:
    return scale.folder / "overwrites"


def _fresh(scale: Scale, number: int, options: dict[str, Any]) -> ab.Repository:
    shutil.rmtree(_folder(scale) / "fresh", ignore_errors=True)
    return ab.init(_folder(scale) / "fresh", **options)


BENCHMARKS = {"overwrite-process": in_process, "overwrite-spark": through_spark}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run benchmarks one after another."""
    return run_each(BENCHMARKS, chosen, scale)
