"""`format("anabranch")`, on classic Spark and on Connect: it reads what the repository reads, and writes once."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import anabranch as ab
from pyspark_anabranch import anabranch_sink
from tests.work_left import work_left

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]
Rows = list[dict[str, Any]]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "shop")


@pytest.fixture
def shop(store: str) -> Iterator[ab.Repository]:
    """A table whose state has rows of two commits, updates, deletes and a younger column."""
    with ab.init(store, engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", [order(n) for n in range(40)], key="id")
        with repo.commit("main", "more") as tx:
            tx.table("orders").insert([order(n) for n in range(40, 60)])
        repo.tag("v1")
        with repo.commit("main", "change") as tx:
            tx.table("orders").update({"qty": "qty + 100"}, where="id % 7 = 0")
            tx.table("orders").delete(where="id % 5 = 0")
            tx.table("orders").add_column("note", "string", default="'none'")
        yield repo


def order(n: int) -> dict[str, Any]:
    moment = datetime(2024, 1, 1, 12, tzinfo=UTC)
    return {"id": n, "qty": n % 9, "price": Decimal(n), "day": date(2024, 1, 1 + n % 9), "at": moment, "tags": ["a"]}


def source(spark: SparkSession, store: str, **options: str) -> DataFrame:
    return spark.read.format("anabranch").options(store=store, **options).load("orders")


def by_key(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: row["id"])


def in_spark(frame: DataFrame) -> Rows:
    return by_key(frame.toArrow().to_pylist())


def is_connect(spark: SparkSession) -> bool:
    return "connect" in type(spark).__module__


@pytest.mark.connect
def test_a_read_at_any_ref_gives_the_rows_of_the_repository(
    spark: SparkSession, store: str, shop: ab.Repository
) -> None:
    for ref in ("v1", "main"):
        for more in ({}, {"part_bytes": "1"}):
            found = source(spark, store, ref=ref, **more)
            assert in_spark(found) == by_key(shop.table("orders", at=ref).arrow().to_pylist())
    parts = source(spark, store, ref="v1", part_bytes="1").selectExpr("spark_partition_id() AS part").toArrow()
    assert set(parts.column("part").to_pylist()) == {0, 1}
    chosen = source(spark, store, columns="id, note", where="qty > 100")
    assert in_spark(chosen) == by_key(shop.table("orders", columns=["id", "note"], where="qty > 100").rows())


@pytest.mark.connect
def test_a_frame_stays_at_the_commit_that_it_was_made_at(spark: SparkSession, store: str, shop: ab.Repository) -> None:
    """On Connect nothing is asked before a frame is used, and again at each use: there, a hash holds it."""
    before, head = shop.table("orders").count(), shop.show().hash
    by_branch, by_hash = source(spark, store), source(spark, store, ref=head)
    shop.sql("DELETE FROM orders WHERE id < 30")
    after = shop.table("orders").count()
    assert by_hash.count() == before > after
    assert by_branch.count() == (after if is_connect(spark) else before)
    assert source(spark, store).count() == after


@pytest.mark.jvm
@pytest.mark.parametrize("kind", ["classic", pytest.param("connect", marks=pytest.mark.more)])
def test_a_write_is_one_commit_although_its_tasks_fail_once(
    store: str, shop: ab.Repository, tmp_path: Path, kind: str
) -> None:
    """Only a session of its own runs tasks again."""
    commits, marks = len(shop.log()), tmp_path / "attempts"
    marks.mkdir()
    script = [sys.executable, "-m", "tests.datasource.failing_write", kind, store, str(marks)]
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    done = subprocess.run(
        script, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert len(list(marks.iterdir())) == 2, "each task failed once"
    assert len(shop.log()) == commits + 1, "a write that comes again under its id is not done again"
    assert sorted(r["id"] for r in shop.table("orders", where="id >= 100").rows()) == list(range(100, 180))
    assert work_left(shop) == []


@pytest.mark.connect
def test_what_cannot_be_written_writes_nothing(spark: SparkSession, store: str, shop: ab.Repository) -> None:
    commits = len(shop.log())
    taken = spark.createDataFrame([(1, 5)], "id bigint, qty bigint")
    for frame, problem in ((taken, "key"), (taken.withColumnRenamed("qty", "amount"), "no column 'amount'")):
        with pytest.raises(Exception, match=problem):
            frame.write.format("anabranch").mode("append").options(store=store).save("orders")
    with pytest.raises(Exception, match="ErrorIfExists"):
        taken.write.format("anabranch").options(store=store).save("orders")
    assert len(shop.log()) == commits
    assert work_left(shop) == []


@pytest.mark.connect
def test_overwrite_and_new_tables(spark: SparkSession, store: str, shop: ab.Repository) -> None:
    shop.branch("dev")
    rows = source(spark, store, ref="v1").where("id < 3")
    rows.write.format("anabranch").mode("overwrite").options(store=store, branch="dev").save("orders")
    expected = [{**order(n), "note": "none"} for n in range(3)]
    assert [r["id"] for r in by_key(shop.table("orders", at="dev").rows())] == [r["id"] for r in expected]
    rows.write.format("anabranch").mode("append").options(store=store, key="id").save("small")
    assert by_key(shop.table("small").rows()) == [order(n) for n in range(3)]
    assert shop.table("small").key == ("id",)


def keep_batches(folder: Path) -> Callable[[DataFrame, int], None]:
    """A function for foreachBatch that leaves what it was given in a folder: on Connect it runs in the server."""
    folder.mkdir()
    place = str(folder)

    def keep(frame: DataFrame, batch: int) -> None:
        with open(f"{place}/{batch}", "xb") as file:
            pickle.dump(frame.toArrow().to_pylist(), file)

    return keep


def kept_rows(folder: Path) -> Rows:
    paths = sorted(folder.iterdir(), key=lambda p: int(p.name))
    return [row for path in paths for row in pickle.loads(path.read_bytes())]


@pytest.mark.contract  # a minute on Connect, so only with --all
def test_a_stream_of_changes_goes_on_from_its_checkpoint(
    spark: SparkSession, store: str, shop: ab.Repository, tmp_path: Path
) -> None:
    def follow(name: str) -> Rows:
        feed = spark.readStream.format("anabranch").options(store=store, branch="main", changes="true", since="v1")
        stream = feed.load("orders").writeStream.foreachBatch(keep_batches(tmp_path / name))
        query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        return kept_rows(tmp_path / name)

    def expected(since: str) -> Rows:
        found: Rows = shop.changes("orders", since, "main").arrow().to_pylist()
        return found

    assert follow("first") == expected("v1")
    last = shop.show().hash
    shop.sql("INSERT INTO orders (id, qty) VALUES (500, 1)")
    shop.sql("UPDATE orders SET qty = 2 WHERE id = 500")
    shop.sql("DELETE FROM orders WHERE id = 500")
    found = follow("second")
    assert found == expected(last)
    kinds = ["insert", "update_preimage", "update_postimage", "delete"]
    assert [row["_change_type"] for row in found] == kinds
    assert len({row["_commit_version"] for row in found}) == 3
    assert follow("third") == []
    at_once = source(spark, store, changes="true", since=last)
    assert at_once.toArrow().to_pylist() == found


@pytest.mark.contract
def test_a_batch_of_a_stream_that_comes_again_is_not_written_again(
    spark: SparkSession, store: str, shop: ab.Repository, tmp_path: Path
) -> None:
    """On Connect the query has to be named: there, no batch knows its id."""
    sink = anabranch_sink(store, "totals", key="id", query="orders-to-totals" if is_connect(spark) else None)
    marks = str(tmp_path / "handed")

    def twice(frame: DataFrame, batch: int) -> None:
        for _ in range(2):
            sink(frame, batch)
            with ab.open(store, engine="duck") as repo, open(marks, "a") as file:
                file.write(f"{batch} {repo.show().hash}\n")

    feed = spark.readStream.format("anabranch").options(store=store, changes="true").load("orders")
    rows = feed.where("_change_type = 'insert'").select("id", "qty")
    query = rows.writeStream.foreachBatch(twice).option("checkpointLocation", str(tmp_path / "c"))
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    head = shop.show()
    assert Path(marks).read_text() == f"0 {head.hash}\n" * 2
    assert head.facts["ana:stream"] == {
        "query": "orders-to-totals" if is_connect(spark) else str(running.id),
        "batch": 0,
    }
    assert sorted(r["id"] for r in shop.table("totals").rows()) == list(range(60))


@pytest.mark.parametrize(
    ("options", "table", "problem"),
    [
        ({"store": "/nowhere"}, "orders", "there is no store in '/nowhere'"),
        ({}, "orders", "was given no store"),
        ({"store": "shop"}, "nothing", "nothing"),
        ({"store": "shop", "ref": "v9"}, "orders", "v9"),
        ({"store": "shop", "reff": "v1"}, "orders", "no option 'reff'"),
    ],
)
def test_what_is_not_there_is_named(
    spark: SparkSession, store: str, shop: ab.Repository, options: dict[str, str], table: str, problem: str
) -> None:
    given = options | ({"store": store} if options.get("store") == "shop" else {})
    with pytest.raises(Exception, match=problem):
        print(spark.read.format("anabranch").options(**given).load(table).schema)  # Connect asks no sooner
