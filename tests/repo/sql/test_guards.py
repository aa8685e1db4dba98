"""Queries that are proven for some values only: DuckDB answers, or Spark is asked; what starts Spark is told."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab

ROWS = [(1, "abc", Decimal("1.50")), (2, "x-y", Decimal("2.25"))]


def made(folder: Path, engine: Any = "duck", **more: Any) -> ab.Repository:
    """A repository with a table whose texts are ASCII, and one with a text that is not."""
    repo = ab.init(folder, engine=engine, **more)
    with repo.commit("main", "rows") as tx:
        for name, text in (("plain", "abc"), ("other", "straße")):
            rows = [{"id": i, "s": s, "d": d} for i, s, d in [*ROWS, (3, text, Decimal("0.10"))]]
            tx.create_table(name, rows, key="id")
    return repo


def test_a_value_within_the_proof_is_computed_in_the_process(tmp_path: Path) -> None:
    found = made(tmp_path).sql("SELECT upper(s) AS u, split(s, '-')[0] AS p FROM plain ORDER BY id")
    assert found.rows() == [{"u": "ABC", "p": "abc"}, {"u": "X-Y", "p": "x"}, {"u": "ABC", "p": "abc"}]


def test_a_value_beyond_the_proof_is_refused_where_spark_cannot_be_asked(tmp_path: Path) -> None:
    with pytest.raises(ab.InvalidRequest) as refused:
        made(tmp_path).sql("SELECT upper(s) AS u FROM other").arrow()
    assert refused.value.message == (
        "the case of letters beyond ASCII runs on Spark only, and engine='duck' was asked for"
    )


def test_a_value_beyond_the_proof_that_no_row_asks_for_changes_nothing(tmp_path: Path) -> None:
    found = made(tmp_path).sql("SELECT CASE WHEN id < 3 THEN upper(s) END AS u FROM other ORDER BY id")
    assert [row["u"] for row in found.rows()] == ["ABC", "X-Y", None]


def test_sums_of_products_of_decimals_have_sparks_types(tmp_path: Path) -> None:
    found = made(tmp_path).sql("SELECT sum(d * (1 - d)) AS s, avg(d * d) AS a, sum(d) / count(*) AS m FROM plain")
    assert found.types[0].startswith("decimal(38")
    assert found.rows()[0]["s"] == Decimal("-3.472500")


def test_a_value_beyond_the_proof_is_asked_of_spark(tmp_path: Path, spark: Any) -> None:
    repo = made(tmp_path, "auto", spark=spark)
    found = repo.sql("SELECT upper(s) AS u FROM other ORDER BY id")
    assert found.engine == "duck"
    assert [row["u"] for row in found.rows()] == ["ABC", "X-Y", "STRASSE"]
    with repo.commit("main", "change") as tx:
        tx.sql("UPDATE other SET s = upper(s) WHERE lower(s) LIKE '%e' AND id IN (SELECT id FROM plain)")
    assert repo.sql("SELECT s FROM other WHERE id = 3").rows() == [{"s": "STRASSE"}]


def test_small_queries_stay_in_the_process_beside_a_session_unless_they_name_its_views(
    tmp_path: Path, spark: Any
) -> None:
    repo = made(tmp_path, "auto", spark=spark)
    spark.range(3).createOrReplaceTempView("guards_of_spark")
    try:
        assert repo.sql("SELECT count(*) AS n FROM plain").engine == "duck"
        named = repo.sql("SELECT count(*) AS n FROM plain, guards_of_spark")
        assert (named.engine, named.rows()) == ("spark", [{"n": 9}])
    finally:
        spark.catalog.dropTempView("guards_of_spark")


def test_settings_of_a_session_that_change_the_language_keep_queries_on_it(tmp_path: Path, spark: Any) -> None:
    repo = made(tmp_path, "auto", spark=spark)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert repo.sql("SELECT count(*) AS n FROM plain").engine == "spark"
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.more
@pytest.mark.jvm
def test_the_command_line_says_why_spark_starts(tmp_path: Path) -> None:
    made(tmp_path).close()
    command = [str(Path(sys.executable).with_name("ana")), "sql", "SELECT soundex(s) AS x FROM plain"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    why = "the function SOUNDEX is not proven equal on DuckDB"
    assert run.stderr.splitlines()[0] == f"Spark starts for the query 'SELECT soundex(s) AS x FROM plain': {why}"
