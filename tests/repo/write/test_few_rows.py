"""DataFrames of few rows come into the process at the door: one job, and nothing is left for Spark to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import anabranch as ab
from anabranch.engines.spark import SparkEngine
from anabranch.engines.spark_sizes import may_be_few_rows
from anabranch.repo.write import incoming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Keep what Spark is asked to fetch and to write."""
    asked: list[str] = []
    with monkeypatch.context() as patched:
        for verb in ("fetch", "write"):
            run = getattr(SparkEngine, verb)

            def counting(self: SparkEngine, *given: Any, verb: str = verb, run: Any = run) -> Any:
                asked.append(verb)
                return run(self, *given)

            patched.setattr(SparkEngine, verb, counting)
        yield asked


@pytest.fixture
def repo(tmp_path: Path, spark: SparkSession) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "shop", spark=spark) as repo:
        with repo.commit("main", "load") as tx:
            rows = [{"id": i, "price": Decimal("1.50"), "note": "as it was"} for i in range(100)]
            tx.create_table("t", rows, key="id", schema="id bigint, price decimal(12,2), note string")
        yield repo


def test_verbs_with_dataframes_ask_spark_once_for_each(
    repo: ab.Repository, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The types are not those of the columns, and a constant is never null: Spark casts, and later rows may be null.
    changed = spark.range(3).selectExpr("CAST(id AS INT) AS ID", "'other' AS note")
    new = spark.range(200, 203).selectExpr("id", "2 AS price", "'new' AS note")
    with counted(monkeypatch) as asked, repo.commit("main", "change") as tx:
        assert tx.table("t").upsert(changed).updated == 3
        assert tx.table("t").insert(new).inserted == 3
        tx.create_table("u", new, key="id")
        assert tx.table("u").overwrite(new.where("id > 200")).deleted == 1
    assert asked == ["fetch"] * 4
    with repo.commit("main", "more") as tx:
        tx.table("t").upsert([{"id": 1, "price": None, "note": None}])
    found = {row["id"]: row for row in repo.table("t").arrow().to_pylist()}
    assert found[0] == {"id": 0, "price": Decimal("1.50"), "note": "other"}
    assert found[1] == {"id": 1, "price": None, "note": None}
    assert found[202] == {"id": 202, "price": Decimal("2.00"), "note": "new"}
    assert repo.table("t").spark().where("note IS NULL").count() == 1


def test_what_a_dataframe_may_not_hold_is_refused_as_before(repo: ab.Repository, spark: SparkSession) -> None:
    with pytest.raises(ab.InvalidRequest, match="already"), repo.commit("main", "x") as tx:
        tx.table("t").insert(spark.range(2).selectExpr("id", "1 AS price", "'x' AS note"))
    with pytest.raises(ab.InvalidRequest, match="more than once"), repo.commit("main", "x") as tx:
        tx.table("t").upsert(spark.range(4).selectExpr("id % 2 AS id", "'x' AS note"))
    with pytest.raises(ab.InvalidRequest, match="id"), repo.commit("main", "x") as tx:
        tx.table("t").upsert(spark.range(2).selectExpr("CAST(NULL AS BIGINT) AS id", "'x' AS note"))


def test_a_dataframe_of_more_rows_stays_on_spark(
    repo: ab.Repository, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "DOOR_ROW_LIMIT", 2)
    with counted(monkeypatch) as asked, repo.commit("main", "change") as tx:
        assert tx.table("t").upsert(spark.range(3).selectExpr("id", "'other' AS note")).updated == 3
    assert "write" in asked


def test_small_intermediates_of_spark_are_not_written(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the table is for Spark to read, only what it finds at the keys comes into the process."""
    settings = ab.Settings(spark=ab.SparkSettings(threshold_bytes=0))
    with ab.init(tmp_path / "shop", spark=spark, settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", spark.range(50).selectExpr("id", "id AS a"), key="id")
        with counted(monkeypatch) as asked, repo.commit("main", "change") as tx:
            assert tx.table("t").upsert(spark.range(48, 52).selectExpr("id", "7 AS a")).updated == 2
        assert "write" not in asked
        assert len(asked) > 1, "the door, and what Spark finds in the table"
        assert repo.table("t").spark().where("a = 7").count() == 5


def test_spark_does_it_all_where_it_was_asked_for(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ab.init(tmp_path / "shop", spark=spark, engine="spark") as repo:
        with counted(monkeypatch) as asked, repo.commit("main", "load") as tx:
            tx.create_table("t", spark.range(5), key="id")
        assert "write" in asked


def test_whether_first_rows_may_be_all_is_told_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "many")
    spark.range(2_000_000).selectExpr("id", "uuid() AS text").write.parquet(path)
    many = spark.read.parquet(path)
    told: dict[str, DataFrame] = {
        "rows in memory": spark.createDataFrame([(1, "a")], "id bigint, text string"),
        "a filter": many.where("text < 'b'"),
        "a shuffle of little": many.groupBy("text").count(),
    }
    assert {name: may_be_few_rows(frame) for name, frame in told.items()} == dict.fromkeys(told, True)
    assert not may_be_few_rows(many.selectExpr("id + 1 AS id", "text"))
