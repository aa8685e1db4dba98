"""Queries that take too long or too much memory in the process are stopped, and tried again on Spark."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab

ROWS = 3_000
ENDLESS = "SELECT count(*) AS n FROM t a, t b, t c WHERE a.k + b.k > c.k"
HEAVY = "SELECT stddev(a.k + b.k) AS s FROM t a, t b"


def made(folder: Path, engine: Any, rows: int = ROWS, spark: Any = None, **limits: Any) -> ab.Repository:
    settings = ab.Settings(limits=ab.LimitSettings(**limits))
    repo = ab.init(folder, engine=engine, spark=spark, settings=settings)
    with repo.commit("main", "rows") as tx:
        tx.create_table("t", pa.table({"k": pa.array(range(rows), pa.int32())}), key="k")
    return repo


def test_a_query_past_its_time_is_stopped_and_says_what_to_do(tmp_path: Path) -> None:
    repo = made(tmp_path, "duck", query_seconds=0.3)
    started = time.monotonic()
    with pytest.raises(ab.Unavailable, match=r"took longer than 0\.3 s in the process and was stopped") as stopped:
        repo.sql(ENDLESS).arrow()
    assert time.monotonic() - started < 20
    assert "query_seconds" in str(stopped.value.hint)
    assert stopped.value.limit == "seconds"


def test_nothing_of_a_stopped_query_goes_on(tmp_path: Path) -> None:
    repo = made(tmp_path, "duck", query_seconds=0.2)
    with pytest.raises(ab.Unavailable):
        repo.sql(ENDLESS).arrow()
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.1
    assert repo.sql("SELECT count(*) AS n FROM t WHERE k > 9").rows() == [{"n": ROWS - 10}]


def test_a_query_in_time_leaves_the_next_one_alone(tmp_path: Path) -> None:
    """Its clock would ring while the next query runs."""
    repo = made(tmp_path, "duck", query_seconds=0.4)
    ended = time.monotonic() + 1.5
    while time.monotonic() < ended:
        assert repo.sql("SELECT max(k) AS m FROM t WHERE k > 5").rows() == [{"m": ROWS - 1}]


def test_statements_that_write_have_the_same_limit(tmp_path: Path) -> None:
    repo = made(tmp_path, "duck", query_seconds=0.3)
    before = repo.show("main").hash
    with pytest.raises(ab.Unavailable, match="took longer"):
        repo.sql(f"INSERT INTO t SELECT CAST(n AS INT) AS k FROM ({ENDLESS})")
    assert repo.show("main").hash == before


def test_without_a_limit_a_query_takes_the_time_it_takes(tmp_path: Path) -> None:
    repo = made(tmp_path, "duck", query_seconds=0)
    assert repo.sql("SELECT count(*) AS n FROM t a, t b WHERE a.k + b.k > 7").rows() == [{"n": ROWS * ROWS - 36}]


def test_what_takes_too_much_memory_says_so(tmp_path: Path) -> None:
    repo = made(tmp_path, "duck", rows=20_000, query_memory_bytes=5_000_000, query_seconds=30)
    with pytest.raises(ab.Unavailable, match="out of memory") as refused:
        repo.sql(HEAVY).arrow()
    assert refused.value.limit == "memory"


def test_past_a_limit_spark_is_asked(tmp_path: Path, spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    repo = made(tmp_path, "auto", rows=400, spark=spark, query_seconds=0.02)
    caplog.set_level(logging.INFO, "anabranch.engines")
    found = repo.sql(ENDLESS)
    assert found.engine == "duck"
    assert found.rows() == [{"n": sum(min(a + b, 400) for a in range(400) for b in range(400))}]
    assert any("is tried again on Spark: the query took longer" in line for line in caplog.messages)


def test_a_table_read_past_a_limit_is_read_by_spark(
    tmp_path: Path, spark: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A condition over one table is quick, so the limit is shorter than any query."""
    repo = made(tmp_path, "auto", rows=1_000_000, spark=spark, query_seconds=1e-6)
    caplog.set_level(logging.INFO, "anabranch.engines")
    chosen = repo.table("t", where="CAST(k AS STRING) LIKE '%1%2%3%4%'")
    expected = [k for k in range(1_000_000) if re.search("1.*2.*3.*4", str(k))]
    assert sorted(chosen.arrow()["k"].to_pylist()) == expected
    assert chosen.count() == len(expected)
    assert sum("is tried again on Spark" in line for line in caplog.messages) == 2
