"""Spark on a repository whose objects lie on S3: it writes and reads them by s3a, with the jars that a user is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from tests.s3 import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def test_spark_and_the_process_read_and_write_the_same_objects(
    tmp_path: Path, s3: S3Server, spark: SparkSession
) -> None:
    far = ab.Settings(
        objects=ab.ObjectSettings(inline_limit_bytes=0), spark=ab.SparkSettings(seal_in_process_limit_bytes=0)
    )
    with ab.init(tmp_path / "s", objects=s3.new_root(), engine="spark", spark=spark, settings=far) as repo:
        with repo.commit("main", "load") as tx:
            frame = spark.range(1000).selectExpr("id", "concat('v', id) AS v")
            tx.create_table("t", frame, key="id")
        with repo.commit("main", "reprice") as tx:
            tx.table("t").update({"v": "upper(v)"}, where="id < 3")
        assert repo.table("t").spark().where("v LIKE 'V%'").count() == 3
        assert {u.partition("://")[0] for u in repo.table("t", "main~1").spark().inputFiles()} == {"s3a"}
        assert not repo.verify().damages
    with ab.open(tmp_path / "s", engine="duck") as repo:
        assert [r["v"] for r in repo.sql("SELECT v FROM t WHERE id < 4 ORDER BY id").rows()] == ["V0", "V1", "V2", "v3"]
        with repo.commit("main", "in the process") as tx:
            tx.table("t").delete(where="id > 500")
    with ab.open(tmp_path / "s", engine="spark", spark=spark) as repo:
        assert repo.table("t").spark().count() == 501


WITHOUT = """
import sys
import anabranch as ab
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
with ab.init(sys.argv[1], objects=sys.argv[2], engine="spark", spark=spark) as repo:
    try:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", spark.range(10), key="id")
    except ab.Unavailable as error:
        print(error)
"""


@pytest.mark.more
@pytest.mark.jvm
def test_a_spark_without_s3a_is_told_the_lines_to_add(tmp_path: Path, s3: S3Server) -> None:
    command = [sys.executable, "-c", WITHOUT, str(tmp_path / "s"), s3.new_root()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout
    assert "it has no S3A" in told
    assert "spark.jars.packages=org.apache.hadoop:hadoop-aws:" in told
    assert "spark.jars.excludes=software.amazon.awssdk:bundle" in told
