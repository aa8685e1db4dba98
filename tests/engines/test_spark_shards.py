"""Rows are dealt to shards by Spark: ranges hold about equal numbers, however the rows lie."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.engines import spark_shards


def test_ranges_of_sorted_rows_are_about_equal(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_shards, "_SAMPLED_ROWS", 500)
    frame = spark.range(0, 10_000, 1, 2)
    dealt = frame.withColumn("shard", spark_shards.ranged_shard(frame, "id", 4)).groupBy("shard").count()
    counts = {row["shard"]: row["count"] for row in dealt.collect()}
    assert sorted(counts) == [0, 1, 2, 3]
    assert sum(counts.values()) == 10_000
    assert all(1_500 < n < 3_500 for n in counts.values()), counts
