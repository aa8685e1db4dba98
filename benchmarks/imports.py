"""A folder of CSV imported on Spark, types found and rows loaded with a key, against Spark told the types."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anabranch as ab
from benchmarks import on_spark, orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, run_each, side_by_side

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES = 64


def through_spark(scale: Scale, rows: int) -> Iterator[Measured]:
    """Import a folder of 64 files."""
    made = scale.folder / "imports"
    made.mkdir()
    folder = write_folder(made, rows)
    with on_spark.open_session(scale.folder) as session:
        plain = session.read.schema(orders.SCHEMA).option("header", True)
        tasks = {
            "plain": Task(
                lambda path: _clustered(plain.csv(str(folder))).write.parquet(path),
                lambda n: str(made / f"plain-{n}"),
            ),
            "import": Task(_import, lambda n: (ab.init(made / f"repo-{n}", engine="spark", spark=session), folder)),
        }
        times = side_by_side(tasks, scale.rounds(3), warm_up=1, patience=scale.patience)
    shutil.rmtree(made)
    yield compared("import-spark", f"{rows:,} rows", times["plain"], times["import"], LIMITS["import-spark"])


def _clustered(frame: DataFrame) -> DataFrame:
    return frame.repartitionByRange("id").sortWithinPartitions("id")


def write_folder(made: Path, rows: int) -> Path:
    """Write the orders as files of CSV."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    whole = pq.read_table(orders.write_shuffled(made / "incoming.parquet", rows))
    folder = made / "csv"
    folder.mkdir()
    step = -(-rows // FILES)
    for i in range(FILES):
        pyarrow.csv.write_csv(whole.slice(i * step, step), folder / f"part-{i:02}.csv")
    return folder


def _import(given: tuple[ab.Repository, Path]) -> None:
    repo, folder = given
    found = repo.read_files(str(folder))
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", found.rows, key="id")
    repo.close()


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run the chosen benchmarks."""
    return run_each({"import-spark": through_spark}, chosen, scale)
