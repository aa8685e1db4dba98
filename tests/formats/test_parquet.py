"""Parquet in: what only the process can read does not go to Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.errors import InvalidRequest


@pytest.mark.parametrize(
    ("type_", "what"), [(pa.timestamp("ns"), "times in nanoseconds"), (pa.float16(), "float16")], ids=str
)
def test_types_that_spark_cannot_read_are_read_in_the_process(
    tmp_path: Path, spark: Any, type_: pa.DataType, what: str
) -> None:
    made = pa.table({"id": [1], "x": pa.array([1], pa.int64()).cast(type_) if "time" in what else pa.array([1], type_)})
    path = str(tmp_path / "t.parquet")
    pq.write_table(made, path)
    settings = ab.Settings(spark=ab.SparkSettings(threshold_bytes=1))
    with ab.init(tmp_path / "store", spark=spark, settings=settings) as repo:
        assert repo.read_files(path).row_count == 1
    refused = pytest.raises(InvalidRequest, match=f"Spark can't read {what} in")
    with ab.open(tmp_path / "store", engine="spark", spark=spark) as repo, refused:
        repo.read_files(path)
