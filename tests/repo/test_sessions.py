"""A Spark session of the user's own: worked in, left as it was; classic or of Spark Connect."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.connect import warning_filters

pytestmark = [pytest.mark.connect, pytest.mark.contract]


@pytest.fixture
def repo(tmp_path: Path, spark: Any) -> Iterator[ab.Repository]:
    """An empty repository in the user's session."""
    with ab.init(tmp_path / "store", author="ann", spark=spark, engine="spark") as made:
        yield made


def load(repo: ab.Repository, frame: Any, name: str = "t") -> None:
    with repo.commit("main", f"load {name}") as tx:
        tx.create_table(name, frame, key="id")


def every_verb(repo: ab.Repository, spark: Any) -> None:
    """Write and read in every way, and fail in some."""
    load(repo, spark.sql("SELECT id, id * 2 AS v FROM range(100)"))
    with repo.commit("main", "all verbs") as tx:
        table = tx.table("t")
        table.insert([{"id": 100, "v": 1}])
        table.upsert(spark.sql("SELECT 100L AS id, 2L AS v UNION ALL SELECT 101L, 3L"))
        table.update({"v": "v + :n"}, where="id < 3", args={"n": 1})
        table.delete(where="id = 50")
        table.rows()
    table = repo.table("t", where="v > :n", args={"n": 10}, columns=["id"])
    assert table.count() == len(table.rows()) == table.spark().count()
    assert repo._ctx.engines.progress() is None  # nothing runs
    assert repo.table("t").get(100) == {"id": 100, "v": 2}
    with pytest.raises(ab.NotFound, match="there is no function 'no_such_function'"):
        repo.table("t", where="no_such_function(v) = 1").rows()
    with pytest.raises(ab.InvalidRequest, match="does not fit"), repo.commit("main", "too much") as tx:
        tx.table("t").update({"v": "v + 9223372036854775807"})


def test_a_session_of_the_users_own_is_left_as_it_is(tmp_path: Path, spark: Any) -> None:
    spark.range(1).createOrReplaceTempView("my_own")
    try:
        configured, views = dict(spark.conf.getAll), spark.catalog.listTables()
        with ab.init(tmp_path, spark=spark, engine="spark") as repo:
            every_verb(repo, spark)
            assert repo.spark_session is spark
        assert dict(spark.conf.getAll) == configured
        assert spark.catalog.listTables() == views
        assert spark.table("my_own").count() == 1
    finally:
        spark.catalog.dropTempView("my_own")


def test_dataframes_made_earlier_stay_what_they_were(repo: ab.Repository, spark: Any) -> None:
    frames = []
    for n in range(3):
        load(repo, spark.sql(f"SELECT id, {n} AS v FROM range(2)"), f"t{n}")
        with repo.commit("main", "an overlay") as tx:
            tx.table(f"t{n}").update({"v": "v + 10"}, where="id = 1")
        frames.append(repo.table(f"t{n}", where="v >= 0").spark())
    assert [sorted(r.v for r in f.collect()) for f in frames] == [[0, 10], [1, 11], [2, 12]]


def test_threads_do_not_see_each_others_views(repo: ab.Repository, spark: Any) -> None:
    views = spark.catalog.listTables()
    load(repo, spark.sql("SELECT id, id AS v FROM range(20)"))

    def read(n: int) -> list[Any]:
        return [row.id for row in repo.table("t", where="v = :n", args={"n": n}).spark().collect()]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(8))) == [[n] for n in range(8)]
    assert spark.catalog.listTables() == views


def test_what_goes_out_belongs_to_the_session(repo: ab.Repository, spark: Any) -> None:
    load(repo, spark.sql("SELECT id, id AS v FROM range(3)"))
    for table in (repo.table("t"), repo.table("t", where="id > 0")):
        frame = table.spark()
        assert frame.sparkSession is spark
        assert frame.join(spark.range(3), "id").count() == table.count()


def other_sessions(spark: Any) -> dict[str, Any]:
    """Sessions beside the user's, with what is said of their frames."""
    same = "another Spark session than the repository's"
    if hasattr(spark, "_jsparkSession"):
        return {same: spark.newSession()}
    from pyspark.sql import SparkSession

    classic = SparkSession._instantiatedSession  # the local server is one
    return {same: type(spark).builder.remote("sc://localhost").create(), "belongs to a classic Spark session": classic}


def test_a_frame_of_another_session_is_refused(repo: ab.Repository, spark: Any, tmp_path: Path) -> None:
    for problem, other in other_sessions(spark).items():
        with pytest.raises(ab.InvalidRequest, match=problem) as told:
            load(repo, other.range(3))
        assert "spark=df.sparkSession" in str(told.value)
        with ab.open(tmp_path / "store", spark=other) as opened, pytest.raises(ab.InvalidRequest, match="belongs to a"):
            load(opened, spark.range(3))
    assert repo.tables() == []


def test_a_frame_that_can_not_be_computed_is_refused(repo: ab.Repository, spark: Any) -> None:
    with pytest.raises(ab.InvalidRequest, match="does not fit"):
        load(repo, spark.sql("SELECT CAST(s AS INT) AS id FROM VALUES ('1'), ('x') AS t(s)"))
    if not hasattr(spark, "_jsparkSession"):  # a classic session refuses to make this one
        with pytest.raises(ab.NotFound, match="there is no column 'no_such_column'"):
            load(repo, spark.range(1).select("no_such_column"))
    assert repo.tables() == []


@pytest.mark.parametrize("read", [lambda t: t.rows(), lambda t: t.count()])
def test_a_missing_file_is_told_as_damage(tmp_path: Path, spark: Any, read: Callable[[Any], Any]) -> None:
    with ab.init(tmp_path, spark=spark, engine="spark") as repo:
        load(repo, spark.sql("SELECT id, id AS v FROM range(3)"))
    shutil.rmtree(tmp_path / ".anabranch" / "objects")
    with ab.open(tmp_path, spark=spark, engine="spark") as repo, pytest.raises(ab.Corrupt, match="is missing"):
        read(repo.table("t", where="v > 0"))


def test_a_session_that_is_there_is_found_in_every_thread_and_not_configured(tmp_path: Path, spark: Any) -> None:
    configured = dict(spark.conf.getAll)
    found: list[Any] = []

    def work() -> None:
        with ab.init(tmp_path, engine="spark") as repo:
            load(repo, [{"id": 1}])
            found.append(repo.spark_session)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [dict(s.conf.getAll) for s in found] == [configured]
    assert dict(spark.conf.getAll) == configured


OWN = """
import sys, logging
import anabranch as ab

logging.captureWarnings(True)
with ab.init(sys.argv[1], engine="spark") as repo:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1}], key="id")
    print(repo.table("t").rows(), repo.spark_session.conf.get("spark.master"))
"""


@pytest.mark.jvm
def test_a_session_of_our_own_lives_as_long_as_the_process_and_ends_in_silence(tmp_path: Path) -> None:
    filters = [part for line in ("error", *warning_filters()) for part in ("-W", line)]
    command = [sys.executable, "-X", "dev", *filters, "-c", OWN, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "[{'id': 1}] local[*]"), done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning:" not in done.stderr


def test_what_a_users_function_raises_on_executors_is_said(repo: ab.Repository, spark: Any) -> None:
    spark.udf.register("ana_fails", lambda _: 1 // 0, "bigint")
    with pytest.raises(ab.InvalidRequest, match="Python failed on Spark's executors: ZeroDivisionError") as told:
        repo.sql("SELECT ana_fails(1) AS n").rows()
    assert "PYSPARK_PYTHON" in str(told.value)
