"""Keyed loads on Spark: rows that lie by their key already are not exchanged, and footers tell of nulls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import anabranch as ab
from anabranch.engines import spark_sizes
from anabranch.engines.engine import InPlace
from anabranch.engines.spark_sizes import in_place
from anabranch.objects import parquet
from tests.spark_jobs import jobs_started

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def repo(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[ab.Repository]:
    """A repository whose loads are all taken for large ones."""
    monkeypatch.setattr(spark_sizes, "is_small", lambda frame: False)
    with ab.init(tmp_path / "shop", spark=spark, engine="spark") as repo:
        yield repo


def load(repo: ab.Repository, frame: DataFrame, key: Any = "id") -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", frame, key=key)


def ranges(repo: ab.Repository) -> list[tuple[Any, Any]]:
    return sorted((one["key_low"], one["key_high"]) for one in repo.table("t").layout())


def test_rows_that_lie_by_their_key_are_written_by_one_job_after_a_look_at_the_key(
    repo: ab.Repository, spark: SparkSession
) -> None:
    rows = spark.range(0, 1000, 1, 4).selectExpr("id", "concat('n', id) AS name")
    before = jobs_started(spark)
    load(repo, rows)
    assert jobs_started(spark) - before == 3, "two for the ends of each partition, one to write"
    assert ranges(repo) == [((n,), (n + 249,)) for n in (0, 250, 500, 750)]
    assert repo.table("t").spark().where("name = 'n77'").count() == 1


def test_a_parquet_file_tells_by_its_footer_whether_rows_lie_by_their_key(
    repo: ab.Repository, spark: SparkSession, tmp_path: Path
) -> None:
    ids = list(range(1000))
    columns = {"by": ids, "turned": ids[::-1], "mixed": [n * 7 % 1000 for n in ids]}
    nested = pa.array([{"a": n, "b": n} for n in ids])
    path = tmp_path / "a folder" / "rows 100%.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"first": nested, **columns}), path, row_group_size=250)
    rows, before = spark.read.parquet(str(path)), jobs_started(spark)
    told = {name: in_place(rows.selectExpr(f"{name} AS c1", "first"), ["c1"]) for name in columns}
    assert told == {"by": InPlace.SORTED, "turned": InPlace.UNSORTED, "mixed": None}
    assert jobs_started(spark) == before
    load(repo, rows, "by")
    assert jobs_started(spark) - before == 1, "it is written, and nothing else"
    assert [row["by"] for row in repo.table("t").rows()] == ids
    before = jobs_started(spark)
    for other in ("by % 10 AS c1", "CAST(by AS INT) AS c1"):
        in_place(rows.selectExpr(other), ["c1"])
    assert jobs_started(spark) - before == 4, "what is computed is in no footer"


def test_rows_that_ascend_only_where_a_file_begins_are_sorted_all_the_same(
    repo: ab.Repository, spark: SparkSession, tmp_path: Path
) -> None:
    ids = [*range(100_000), *range(199_999, 99_999, -1)]
    pq.write_table(pa.table({"id": ids}), tmp_path / "rows.parquet", row_group_size=100_000)
    load(repo, spark.read.parquet(str(tmp_path / "rows.parquet")))
    assert repo.table("t").spark().count() == 200_000
    assert all(one[1] < other[0] for one, other in pairwise(ranges(repo)))
    assert repo.table("t").get(150_000) == {"id": 150_000}


def test_few_rows_become_one_file(tmp_path: Path, spark: SparkSession) -> None:
    with ab.init(tmp_path / "shop", spark=spark, engine="spark") as repo:
        load(repo, spark.range(0, 1000, 1, 4).selectExpr("999 - id AS id"))
        assert ranges(repo) == [((0,), (999,))]
        assert [row["id"] for row in repo.table("t").rows()] == list(range(1000))


@pytest.mark.parametrize("key", ["other", ["pair", "id"]])
def test_rows_that_lie_otherwise_are_exchanged(repo: ab.Repository, spark: SparkSession, key: Any) -> None:
    rows = spark.range(0, 1000, 1, 4).selectExpr("id", "id * 7 % 1000 AS other", "id % 2 AS pair")
    assert in_place(rows, [key] if isinstance(key, str) else key) is None
    load(repo, rows, key)
    assert all(one[1] < other[0] for one, other in pairwise(ranges(repo)))
    assert repo.table("t").spark().count() == 1000


def test_whether_keys_lie_apart_is_asked_only_where_reading_them_is_cheap(spark: SparkSession) -> None:
    rows = spark.range(0, 100, 1, 4)
    told = {
        "a range": rows,
        "texts": rows.selectExpr("lpad(id, 5, '0') AS id"),
        "a filter": rows.where("id % 3 = 0"),
    }
    assert {name: in_place(frame, ["id"]) for name, frame in told.items()} == dict.fromkeys(told, InPlace.SORTED)
    assert in_place(rows.selectExpr("id DIV 25 * 25 + (id + 1) % 25 AS id"), ["id"]) is InPlace.UNSORTED
    assert in_place(rows.selectExpr("id DIV 25 AS id", "id AS b"), ["id", "b"]) is InPlace.SORTED
    assert in_place(rows.selectExpr("id DIV 30 AS id", "id AS b"), ["id", "b"]) is None, "b may be in any order"
    before = jobs_started(spark)
    assert in_place(rows.distinct(), ["id"]) is None
    assert in_place(rows.selectExpr("CAST(id AS DOUBLE) AS id"), ["id"]) is None
    assert jobs_started(spark) == before


def test_keys_that_come_twice_are_found_whether_they_meet_in_a_partition_or_at_its_end(
    repo: ab.Repository, spark: SparkSession
) -> None:
    for twice in ("id DIV 2 AS id", "CASE WHEN id = 500 THEN 499 ELSE id END AS id"):
        rows = spark.range(0, 1000, 1, 2).selectExpr(twice)
        assert in_place(rows, ["id"]) is InPlace.SORTED
        with pytest.raises(ab.InvalidRequest, match="more than once"):
            load(repo, rows)
    assert not list(repo._ctx.root.files()), "what was refused is gone"


def test_rows_that_lay_apart_when_they_were_looked_at_and_not_when_they_were_written_are_compared_all_the_same(
    repo: ab.Repository, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_sizes, "in_place", lambda frame, cluster: InPlace.UNSORTED)
    with pytest.raises(ab.InvalidRequest, match="more than once: id=10"):
        load(repo, spark.range(0, 1000, 1, 2).selectExpr("IF(id = 900, 10, id) AS id"))
    load(repo, spark.range(0, 1000, 1, 2).selectExpr("id * 7 % 1000 AS id"))
    assert repo.table("t").spark().count() == 1000


def test_rows_that_only_begin_and_end_in_order_are_sorted_after_all(repo: ab.Repository, spark: SparkSession) -> None:
    rows = spark.range(0, 1000, 1, 2).selectExpr("CASE id WHEN 100 THEN 200 WHEN 200 THEN 100 ELSE id END AS id")
    assert in_place(rows, ["id"]) is InPlace.SORTED
    load(repo, rows)
    for one in repo.table("t").layout():
        with repo._ctx.root.open(one["path"]) as file:
            (keys,) = parquet.read_columns(file, [str(repo.table("t").schema.columns[0].id)]).columns
        assert keys.to_pylist() == sorted(keys.to_pylist())
    assert len(list(repo._ctx.root.files())) == 2, "what was written first is gone"


def test_nulls_are_refused_by_what_footers_tell_and_named(repo: ab.Repository, spark: SparkSession) -> None:
    with pytest.raises(ab.InvalidRequest, match="null in column 'id'"):
        load(repo, spark.range(0, 100, 1, 2).selectExpr("nullif(id, 60) AS id", "1 AS a"))
    with repo.commit("main", "load") as tx:
        tx.create_table("t", schema="id bigint, price double not null, pair struct<a: int> not null", key="id")

    def rows(null_at: int) -> DataFrame:
        price, pair = f"CAST(nullif(id, {null_at}) AS DOUBLE) AS price", "named_struct('a', CAST(NULL AS INT)) AS pair"
        return spark.range(0, 100, 1, 2).selectExpr("id", price, pair)

    with pytest.raises(ab.InvalidRequest, match="null in column 'price'"), repo.commit("main", "more") as tx:
        tx.table("t").insert(rows(60))
    with repo.commit("main", "more") as tx:
        assert tx.table("t").insert(rows(-1)).inserted == 100
