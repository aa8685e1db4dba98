"""Files written for `pyspark.pipelines` run as they are; what they have of streams is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.jobs.dealt import files
from anabranch.pipelines.spark_declarations import session_reads
from tests.spark_jobs import jobs_started

SPEC = """
name: sales
storage: file:///nowhere
libraries:
  - glob:
      include: transformations/**
"""

PYTHON = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.functions import sum as sum_

spark = SparkSession.active()


@dp.temporary_view
def known_orders() -> DataFrame:
    return spark.read.table("orders").where(col("qty").isNotNull())


@dp.materialized_view(comment="what was sold on a day", table_properties={"owner": "ann"})
def daily() -> DataFrame:
    return spark.table("known_orders").groupBy("day").agg(sum_("qty").alias("total"))


@dp.materialized_view(name="best")
def best_day() -> DataFrame:
    return spark.sql("SELECT day FROM daily ORDER BY total DESC, day LIMIT 1")
"""

SQL = """
CREATE OR REFRESH MATERIALIZED VIEW counted USING parquet PARTITIONED BY (n) CLUSTER BY (n)
AS SELECT count(*) AS n FROM daily;
"""


def written(folder: Path, python: str = PYTHON, sql: str | None = SQL) -> Path:
    (folder / "p" / "transformations").mkdir(parents=True)
    (folder / "p" / "spark-pipeline.yml").write_text(SPEC)
    (folder / "p" / "transformations" / "sales.py").write_text(python)
    if sql:
        (folder / "p" / "transformations" / "counted.sql").write_text(sql)
    return folder / "p"


@pytest.mark.connect
def test_a_pipeline_of_spark_runs_unmodified_and_again_without_a_spark_job(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path / "shop", spark=spark, author="ann") as repo:
        with repo.commit("main", "load") as tx:
            rows = [{"id": n, "day": n // 4, "qty": None if n == 3 else n} for n in range(12)]
            tx.create_table("orders", rows, key="id")
            tx.files.put("raw/a", "one\n")
        pipeline = dp.load(written(tmp_path), lambda: repo.spark_session)
        dp.run(repo, pipeline)
        assert sorted((r["day"], r["total"]) for r in repo.table("daily").rows()) == [(0, 3), (1, 22), (2, 38)]
        assert repo.table("best").rows() == [{"day": 2}]
        assert repo.table("counted").rows() == [{"n": 3}]
        assert "known_orders" not in {t.name for t in repo.tables()}
        assert not spark.catalog.tableExists("orders"), "names are known in the session only while they are read"
        job = repo.job(sizes, inputs={"raw": files("raw/*")}, table="sizes", key="path", shards=2)
        job.run()
        if hasattr(spark, "sparkContext"):
            before = jobs_started(spark)
            assert dp.run(repo, pipeline).run is None
            assert job.run().reused
            assert jobs_started(spark) == before


def sizes(shard: Any) -> list[dict[str, Any]]:
    return [{"path": file.path, "size": file.size} for file in shard.files("raw")]


def test_tables_are_found_in_texts_that_are_partly_computed() -> None:
    def reads(spark: Any, city: str) -> None:
        spark.sql(f"SELECT * FROM totals JOIN {city}_days USING (day) WHERE city = '{city}' LIMIT {len(city)}")
        spark.sql("SELECT * FROM customers WHERE city = '" + city + "'")
        spark.table(f"orders")  # noqa: F541
        spark.table(city)
        spark.sql(city)

    assert session_reads(reads) == ["totals", "customers", "orders"]


HEAD = "from pyspark import pipelines as dp\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@dp.table\ndef events(): ...\n", "'events' is a streaming table, which is not supported"),
        ("dp.create_streaming_table('events')\n", "'events' is a streaming table"),
        ("dp.create_sink('out', 'kafka', {})\n", "'out' is a sink"),
        ("@dp.append_flow(target='events')\ndef more(): ...\n", "'more' is an append flow"),
    ],
)
def test_streams_are_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ab.InvalidRequest, match=problem):
        dp.load(written(tmp_path, HEAD + text, None))
