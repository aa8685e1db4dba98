"""Versioned files scanned by Spark, classic or Connect, against the same files that lie in a folder."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anabranch as ab
from benchmarks import on_spark, orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, side_by_side, tell
from tests.connect import start_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT_BYTES, TABLE_ROWS = 64_000_000, 500_000
REVENUE = "SELECT status, sum(price * quantity) FROM {rows} GROUP BY status"
LETTERS = "SELECT count(*), sum(length({column})) FROM {{rows}}"


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run on the one kind of session that this process has."""
    (name,) = chosen
    folder = _write_plain(scale)
    with _session(name, scale.folder) as session, ab.init(scale.folder / "repo", spark=session) as repo:
        with repo.commit("main", "files") as tx:
            tx.files.put_all("raw", folder)
        return [
            *tell([_parquet(name, repo, session, folder, scale)]),
            *tell([_lines(name, repo, session, folder, scale)]),
        ]


def _write_plain(scale: Scale) -> Path:
    """A Parquet file of some 20 MB, and 64 MB of text in four files."""
    folder, part, chance = scale.folder / "plain", 100 if scale.quick else 1, random.Random(3)
    folder.mkdir()
    orders.write_shuffled(folder / "orders.parquet", TABLE_ROWS // part)
    for n in range(4):
        lines = (chance.randbytes(chance.randrange(10, 60)).hex() for _ in range(TEXT_BYTES // part // 4 // 70))
        (folder / f"log-{n}.txt").write_text("\n".join(lines) + "\n")
    return folder


def _parquet(name: str, repo: ab.Repository, session: SparkSession, folder: Path, scale: Scale) -> Measured:
    def revenue(path: str) -> None:
        assert len(session.sql(REVENUE, rows=session.read.parquet(path)).collect()) == 5

    plain = folder / "orders.parquet"
    tasks = {
        "plain": Task(lambda _: revenue(str(plain))),
        "versioned": Task(lambda _: revenue(repo.files().paths("raw/orders.parquet")[0])),
    }
    times = side_by_side(tasks, scale.rounds(9), warm_up=scale.rounds(4), patience=scale.patience)
    size = f"{plain.stat().st_size / 1e6:.0f} MB"
    return compared(f"{name} Parquet", size, times["plain"], times["versioned"], LIMITS["file-spark-parquet"])


def _lines(name: str, repo: ab.Repository, session: SparkSession, folder: Path, scale: Scale) -> Measured:
    found = {}

    def plain(_: int) -> None:
        rows = session.read.text(str(folder / "log-*.txt"))
        found["plain"] = session.sql(LETTERS.format(column="value"), rows=rows).collect()

    def versioned(_: int) -> None:
        rows = repo.files().spark("raw/*.txt", as_="lines")
        found["versioned"] = session.sql(LETTERS.format(column="line"), rows=rows).collect()

    tasks = {"plain": Task(plain), "versioned": Task(versioned)}
    times = side_by_side(tasks, scale.rounds(9), warm_up=scale.rounds(3), patience=scale.patience)
    assert found["plain"] == found["versioned"]
    size = f"{sum(p.stat().st_size for p in folder.glob('*.txt')) / 1e6:.0f} MB"
    return compared(f"{name} lines", size, times["plain"], times["versioned"], LIMITS["file-spark-lines"])


@contextmanager
def _session(name: str, folder: Path) -> Iterator[SparkSession]:
    if name == "file-spark":
        with on_spark.open_session(folder) as classic:
            yield classic
        return
    quiet = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
    remote = start_connect("local[2]", {**quiet, "spark.ui.enabled": "false"})
    try:
        yield remote
    finally:
        remote.stop()
