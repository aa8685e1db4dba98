"""What Spark wrote is hashed and described by its executors: a load passes through the driver in words only."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.objects import looks
from anabranch.objects.looks import LookTask
from anabranch.repo.write import sealing

pytestmark = pytest.mark.contract


@pytest.fixture
def repo(tmp_path: Path, spark: Any) -> Iterator[ab.Repository]:
    """A repository whose loads are sealed by executors, however small they are."""
    settings = ab.Settings(
        spark=ab.SparkSettings(seal_in_process_limit_bytes=0, file_row_limit=40), damage=ab.DamageSettings(hashes=False)
    )
    with ab.init(tmp_path / "store", author="ann", spark=spark, engine="spark", settings=settings) as made:
        yield made


def load(repo: ab.Repository, frame: Any, **how: Any) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", frame, **how)


@pytest.mark.connect
def test_a_load_is_described_without_the_driver_reading_a_file(
    repo: ab.Repository, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "look_in_process", None)
    monkeypatch.setattr(type(repo._ctx.root), "open", None)
    load(repo, spark.sql("SELECT id, concat('n', id) AS name FROM range(100)"), key="id")
    with repo.commit("main", "upsert") as tx:
        tx.table("t").upsert(spark.sql("SELECT id, 'new' AS name FROM range(90, 110)"))
    monkeypatch.undo()
    assert repo.table("t").count() == 110
    repo.verify(deep=True).raise_damages()


def test_keys_that_come_twice_are_found_inside_of_files_and_at_their_ends(repo: ab.Repository, spark: Any) -> None:
    for twice in ("SELECT 7L AS id FROM range(3)", "SELECT id FROM range(100) UNION ALL SELECT id FROM range(100)"):
        with pytest.raises(ab.InvalidRequest, match="the rows have a key more than once: id="):
            load(repo, spark.sql(twice), key="id")
    assert not list(repo._ctx.root.files()), "what was refused is gone"


def test_files_that_python_cannot_open_are_read_by_spark_and_seen_alike(repo: ab.Repository, spark: Any) -> None:
    from anabranch.engines.spark_files import files_on_executors

    load(repo, spark.sql("SELECT id, current_timestamp() AS at FROM range(100)"), key=["at", "id"])
    paths = [f.path for f in repo._ctx.root.files()]
    uris = [repo._ctx.root.uri(path) for path in paths]
    (column,) = [c for c in repo.table("t").schema if c.name == "id"]
    task = LookTask((str(column.id),), repeats=5)
    by_path, by_content = partial(looks.look_by_path, task), partial(looks.look_by_content, task)
    one = files_on_executors(spark, uris, by_path, by_content, [looks])
    other = files_on_executors(spark, [f"file://{uri}" for uri in uris], by_path, by_content, [looks])
    assert [looks.read_answer(t) for t in one] == [looks.read_answer(t) for t in other]
    assert sum(looks.read_answer(t).row_count for t in other) == 100


def _broken(task: LookTask, paths: Any, batches: Iterable[Any]) -> Iterator[Any]:
    raise ModuleNotFoundError("No module named 'pyarrow'")


def test_executors_that_cannot_run_python_leave_it_to_the_process_which_says_so(
    repo: ab.Repository, spark: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(looks, "look_by_path", _broken)
    with caplog.at_level(logging.WARNING, "anabranch.engines"):
        load(repo, spark.sql("SELECT id FROM range(100)"), key="id")
    assert "so this process does" in caplog.text
    assert repo.table("t").count() == 100
