"""Runs of a pipeline on a cluster whose processes die: `python -m tests.pipelines.on_cluster STORE KILLS SEED`.

Before each run somebody edits the inputs; while it goes on, a worker of Python or an executor's JVM is killed at a
random moment. What each run did is printed; the one that comes after them waits to be killed itself."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch import pipelines as dp
from tests.connect import LOCAL, start_classic

TABLES = ("daily", "listed")


@dp.materialized_view(key="day", incremental_by="day", version="1")
def daily(orders: Any) -> Any:
    return orders.groupBy("day").agg({"qty": "sum"}).withColumnRenamed("sum(qty)", "total")


@dp.job(inputs={"daily": "daily"}, key="day", shards=4, version="1")
def listed(shard: Any) -> Any:
    for row in shard.rows("daily"):
        shard.put(f"days/{row['day']}", f"{row['total']}\n")
        yield {"day": row["day"], "word": "x" * int(row["total"])}


def pipeline() -> dp.Pipeline:
    return dp.pipeline("sales", daily, listed)


def load(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": n, "day": n % 5, "qty": n % 4} for n in range(40)], key="id")


def edit(repo: ab.Repository, drawn: random.Random) -> None:
    """Change some rows, so that a day comes, goes or has another total."""
    day = drawn.randrange(7)
    repo.sql(f"UPDATE orders SET day = {day}, qty = qty + 1 WHERE id % 11 = {drawn.randrange(11)}")


def assert_right(repo: ab.Repository, at: str) -> None:
    """Compare what a run published with what its inputs make."""
    totals: Counter[int] = Counter()
    for row in repo.table("orders", at=at).rows():
        totals[row["day"]] += row["qty"]
    assert {r["day"]: r["total"] for r in repo.table("daily", at=at).rows()} == dict(totals)
    assert {r["day"]: r["word"] for r in repo.table("listed", at=at).rows()} == {
        day: "x" * total for day, total in totals.items()
    }
    tree = repo.files(at)
    found = {f.path: tree.read(f.path).decode() for f in tree.glob("days/*")}
    assert found == {f"days/{day}": f"{total}\n" for day, total in totals.items()}


def processes() -> tuple[list[int], list[int]]:
    """The executors' JVMs below this process, and the workers of Python below those."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ")
        except OSError:  # it has just ended
            continue
    mine = [pid for pid in parents if os.getpid() in _above(pid, parents)]
    executors = [pid for pid in mine if "CoarseGrainedExecutorBackend" in commands.get(pid, "")]
    workers = [pid for pid in mine if "pyspark.daemon" in commands.get(pid, "")]
    return executors, workers


def _above(pid: int, parents: dict[int, int]) -> list[int]:
    found: list[int] = []
    while pid in parents:
        pid = parents[pid]
        found.append(pid)
    return found


def kill_one(drawn: random.Random, ended: threading.Event, killed: list[str], within_seconds: float) -> None:
    """Kill a process of the cluster at a random moment, unless the run has ended by then."""
    if ended.wait(drawn.uniform(0, within_seconds)):
        return
    executors, workers = processes()
    kind, chosen = ("executor", executors) if drawn.random() < 0.3 or not workers else ("worker", workers)
    if chosen:
        os.kill(drawn.choice(chosen), signal.SIGKILL)
        killed.append(kind)


def main(store: str, kills: int, seed: int) -> None:
    """Run as often as was asked, then once more until somebody kills this process; with no kills, run once."""
    drawn = random.Random(seed)
    spark = start_classic("local-cluster[2,1,1024]", LOCAL)
    with ab.open(store, author="bob", engine="duck") as other, ab.open(store, spark=spark, author="ann") as repo:
        dp.run(repo, pipeline())
        if not kills:
            assert_right(repo, "main")
            return
        started = time.monotonic()
        edit(other, drawn)
        dp.run(repo, pipeline())
        took = time.monotonic() - started
        for _ in range(kills):
            edit(other, drawn)
            ended, killed = threading.Event(), list[str]()
            killer = threading.Thread(target=kill_one, args=(drawn, ended, killed, took))
            killer.start()
            try:
                done = dp.run(repo, pipeline())
                assert_right(repo, "main")
                print("published" if done.commit else "kept", *killed, flush=True)
            except (ab.RunFailed, ab.Unavailable) as error:
                print("failed", *killed, error, flush=True)
            finally:
                ended.set()
                killer.join()
        edit(other, drawn)
        print("last", took, flush=True)
        dp.run(repo, pipeline())
        print("done", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
