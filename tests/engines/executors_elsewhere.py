"""Read files and run a job on executors that are not as they should be: `… STORE CSV PYTHON`, PYTHON being theirs."""

from __future__ import annotations

import os
import sys
from typing import Any

import anabranch as ab
from tests.connect import LOCAL


def numbers(shard: Any) -> list[dict[str, Any]]:
    return [{"n": shard.number} for _ in shard.rows("t")]


def main(store: str, csv: str, python: str) -> None:
    """Print what is told of each."""
    os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"] = python, sys.executable
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config(map=LOCAL).getOrCreate()
    with ab.open(store, engine="spark", spark=spark, author="ann") as repo:
        tries = {
            "job": lambda: repo.job(numbers, inputs={"t": "t"}, table="out", shards=2).run(),
            "import": lambda: repo.read_files(csv).rows.count(),
        }
        for what, attempt in tries.items():
            try:
                print(what, attempt())
            except ab.AnabranchError as error:
                print(what, type(error).__name__, error)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
