"""What a job costs its driver beside its shards: deal, unite what they made, publish, in CPU seconds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anabranch as ab
from anabranch.jobs import runner
from anabranch.jobs.dealt import files
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale

FEW, SHARDS, QUICK_SHARDS = 100, 1000, 40
ROWS_EACH = 100


def run(names: Sequence[str], scale: Scale) -> list[Measured]:
    """Run jobs of 100 and of 1,000 shards in this process; the shards' own time is left out."""
    assert "jobs" in names
    _seconds(scale, 4)  # the first job of a process pays for what it loads
    many = QUICK_SHARDS if scale.quick else SHARDS
    few, ours = _seconds(scale, FEW // 10 if scale.quick else FEW), _seconds(scale, many)
    size = f"{many} shards of {ROWS_EACH} rows and a file"
    return [
        Measured("jobs in seconds", f"{size} beside 2 s", 2.0, ours, ours / 2, LIMITS["jobs"]),
        Measured("jobs growth", f"{size} beside a tenth as many", few, ours, ours / few, LIMITS["jobs growth"]),
    ]


def _made(shard: Any) -> list[dict[str, Any]]:
    shard.put(f"out/{shard.number}.txt", f"shard {shard.number}\n" * 20)
    return [{"id": shard.number * ROWS_EACH + k, "a": k, "b": f"v{k}"} for k in range(ROWS_EACH)]


def _seconds(scale: Scale, shards: int) -> float:
    """CPU seconds of a job but for its shards."""
    folder = scale.folder / f"jobs-{shards}"
    with ab.init(folder, engine="duck") as repo, _apart() as spent:
        with repo.commit("main", "load") as tx:
            tx.files.put("raw/one", b"x")
        job = repo.job(_made, inputs={"raw": files("raw/*")}, table="t", key="id", shards=shards, local=True)
        before = time.process_time()
        done = job.run()
        taken = time.process_time() - before - spent[0]
        assert (done.rows, done.files) == (shards * ROWS_EACH, shards)
        assert repo.table("t").count() == done.rows
    shutil.rmtree(folder)
    return taken


@contextmanager
def _apart() -> Iterator[list[float]]:
    """A block in which the seconds that shards take are counted."""
    spent, plain = [0.0], runner.run_shard

    def timed(task: runner.ShardTask, number: int) -> dict[str, Any]:
        before = time.process_time()
        told = plain(task, number)
        spent[0] += time.process_time() - before
        return told

    runner.run_shard = timed
    try:
        yield spent
    finally:
        runner.run_shard = plain
