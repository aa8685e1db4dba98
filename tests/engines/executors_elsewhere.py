"""Run Python on Spark's executors: `… STORE CSV SESSION`, in a session that we start (`ours`) or the `user` did."""

from __future__ import annotations

import sys
from typing import Any

import anabranch as ab
from tests.connect import LOCAL


def numbers(shard: Any) -> list[dict[str, Any]]:
    return [{"n": shard.number} for _ in shard.rows("t")]


def doubled(repo: ab.Repository) -> list[Any]:
    """Call a function of Python in a query."""
    spark = repo.spark_session
    spark.udf.register("doubled", lambda n: n * 2, "bigint")
    return [row[0] for row in spark.sql("SELECT doubled(21)").collect()]


def main(store: str, csv: str, kind: str) -> None:
    """Print what comes of each attempt."""
    session = None
    if kind == "user":
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master("local[1]").config(map=LOCAL).getOrCreate()
    with ab.open(store, engine="spark", spark=session, author="ann") as repo:
        attempts = {
            "job": lambda: repo.job(numbers, inputs={"t": "t"}, table="out", shards=2).run().rows,
            "import": lambda: repo.read_files(csv).rows.count(),
            "function": lambda: doubled(repo),
        }
        for what, attempt in attempts.items():
            try:
                print(what, attempt())
            except ab.AnabranchError as error:
                print(what, type(error).__name__, error)
        repo.spark_session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
