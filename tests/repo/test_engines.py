"""Which engine runs what: chosen from the catalogue, told in the debug log, and never started for metadata."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.repo.write import incoming

pytestmark = pytest.mark.contract

METADATA = """
import sys
import anabranch as ab

repo = ab.open(sys.argv[1])
repo.branch("dev"), repo.tag("v1"), repo.rename_branch("dev", "qa"), repo.delete_branch("qa"), repo.find_branch("main")
repo.log(), repo.log(table="t"), repo.show("main~1"), repo.show_changes(), repo.reflog(), repo.branches(), repo.tags()
repo.tables(), repo.namespaces(), repo.merge_base("main", "v1"), repo.open_commits(), repo.working_set("main")
table = repo.table("t")
assert (table.count(), table.key, len(table.schema), len(table.layout())) == (3, ("id",), 2, 1)
print([name for name in ("pyspark", "duckdb", "pyarrow", "sqlglot", "pandas") if name in sys.modules])
"""


def load(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "v": i} for i in range(3)], key="id")


def test_metadata_verbs_load_no_engine(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck") as repo:
        load(repo)
    command = [sys.executable, "-c", METADATA, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


SMALL_READ = """
import sys
import anabranch as ab

repo = ab.open(sys.argv[1])
rows = repo.table("t").arrow().to_pylist()
assert rows == [{"id": 0, "v": 0}, {"id": 1, "v": 10}], rows
assert repo.table("t", at="main~1").arrow().num_rows == 3
print([name for name in ("pyspark", "duckdb", "sqlglot") if name in sys.modules])
"""
FIRST_READ = """
import sys
import anabranch as ab

assert ab.open(sys.argv[1]).table("t").arrow().num_rows == 3
print([name for name in ("pyspark", "duckdb", "sqlglot", "sqlalchemy", "pandas") if name in sys.modules])
"""


def test_the_first_read_of_a_small_table_loads_pyarrow_alone(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck") as repo:
        load(repo)
    command = [sys.executable, "-c", FIRST_READ, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_small_table_with_changes_is_read_without_an_engine(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck") as repo:
        load(repo)
        with repo.commit("main", "change") as tx:
            tx.table("t").update({"v": "10"}, where="id = 1")
            tx.table("t").delete(where="id = 2")
    command = [sys.executable, "-c", SMALL_READ, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_small_work_runs_in_the_process_and_the_log_says_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="anabranch.engines"), ab.init(tmp_path) as repo:
        load(repo)
        repo.table("t", where="id > 0").rows()  # all rows of a small table need no engine
    assert "insert into 't' runs on duck: 0 bytes may be read" in caplog.text
    assert "reading t runs on duck" in caplog.text


def test_spark_takes_large_work_foreign_functions_and_frames(
    tmp_path: Path, spark: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ab.Settings(spark=ab.SparkSettings(threshold_bytes=10))
    monkeypatch.setattr(incoming, "DOOR_ROW_LIMIT", 0)  # else a frame of one row comes into the process
    with (
        caplog.at_level(logging.DEBUG, logger="anabranch.engines"),
        ab.init(tmp_path, spark=spark, settings=settings) as repo,
    ):
        load(repo)
        assert len(repo.table("t").rows()) == 3
        assert "more than 10" in caplog.text
    with caplog.at_level(logging.DEBUG, logger="anabranch.engines"), ab.open(tmp_path, spark=spark) as repo:
        assert repo.table("t", where="soundex('x') = 'X000' AND id = 1").rows() == [{"id": 1, "v": 1}]
        assert "SOUNDEX is not proven equal on DuckDB" in caplog.text
        with repo.commit("main", "frame") as tx:
            tx.table("t").upsert(spark.sql("SELECT 7L AS id, 7L AS v"))
        assert "a Spark DataFrame comes in" in caplog.text


def test_columns_and_conditions_reach_the_parquet_reader(
    tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with ab.init(tmp_path, spark=spark, engine="spark") as repo:
        load(repo)
        with repo.commit("main", "an overlay on v") as tx:
            tx.table("t").update({"v": 9}, where="id = 1")
        ids = {c.name: c.id for c in repo.table("t").schema}
        repo.table("t", columns=["id"], where="id > 1").spark().explain()
    plan = capsys.readouterr().out
    assert f"GreaterThan({ids['id']},1)" in plan
    assert ids["v"] not in plan


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ab.InvalidRequest, match="choose auto, spark or duck"):
        ab.init(tmp_path, engine="presto")


def test_a_store_may_lie_in_a_folder_of_any_name(tmp_path: Path, engine: dict[str, Any]) -> None:
    name = "we[i]rd {x,y} *?%20 +ü #'\""
    if "connect" in type(engine.get("spark")).__module__:
        name = "odd %20 +ü #'\""  # Spark Connect takes the rest for patterns, and can't be told not to
    with ab.init(tmp_path / name, **engine) as repo:
        with repo.commit("main", "make") as tx:
            tx.create_table("t", pa.table({"id": range(1000)}), key="id")
        assert repo.table("t").count() == 1000
        assert len(repo.table("t", where="id < 10").rows()) == 10


def test_numbers_set_to_floats_are_the_same_on_both_engines(tmp_path: Path, spark: Any) -> None:
    numbers = ["1.0", "-1.5", "0.1", "123456789.123456789", "9007199254740993", "0.30000000000000004", "16777217"]
    found = []
    for engine in ("duck", "spark"):
        with ab.init(tmp_path / engine, engine=engine, spark=spark) as repo, repo.commit("main", "load") as tx:
            table = tx.create_table("t", schema={"id": "int", "d": "double", "f": "float"}, key="id")
            table.insert([{"id": i} for i in range(len(numbers))])
            for i, number in enumerate(numbers):
                table.update({"d": number, "f": number}, where=f"id = {i}")
            found.append(sorted((r["id"], r["d"], r["f"]) for r in table.rows()))
    assert found[0] == found[1]
    assert [d for _, d, _ in found[0]] == [float(n) for n in numbers]
