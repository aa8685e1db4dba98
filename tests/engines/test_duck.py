"""DuckDB in the process: where it puts what does not fit into memory, and what it says when there is too little."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp, parse_one

import anabranch as ab
from anabranch.engines.duck import DuckEngine
from anabranch.model.ddl import parse_type
from anabranch.queries.query import Files, Query, reading_of

SORTED = Query(
    parse_one("SELECT range AS a, hash(range)::VARCHAR AS b FROM range(2000000) ORDER BY b", dialect="duckdb"), {}, {}
)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the system's, and another folder to work in."""
    for name in ("temporary", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "temporary"


@pytest.fixture
def small(temporary: Path) -> Iterator[DuckEngine]:
    """An engine with little memory."""
    engine = DuckEngine(1000)
    engine._database.execute("SET memory_limit = '40MB'; SET threads = 1")
    yield engine
    engine.close()


def test_what_does_not_fit_into_memory_goes_to_the_systems_temporary_folder(small: DuckEngine, temporary: Path) -> None:
    with small.stream(SORTED, 1000) as found:
        next(iter(found))
        (folder,) = temporary.iterdir()
        assert list(folder.iterdir()) != []
        assert folder.stat().st_mode & 0o77 == 0
    assert os.listdir(".") == []


def test_the_temporary_folder_is_gone_when_the_engine_is_closed_or_forgotten(temporary: Path) -> None:
    closed, forgotten = DuckEngine(1000), DuckEngine(1000)
    assert len(list(temporary.iterdir())) == 2
    closed.close()
    del forgotten
    assert list(temporary.iterdir()) == []


def test_without_a_temporary_folder_nothing_spills(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    engine = DuckEngine(1000)
    assert engine.fetch(Query(exp.select("1"), {}, {})).num_rows == 1
    engine.close()
    assert os.listdir(".") == []


def test_too_little_memory_is_told_as_that(temporary: Path) -> None:
    engine = DuckEngine(1000)
    engine._database.execute("SET memory_limit = '5MB'; SET temp_directory = ''")
    with pytest.raises(ab.Unavailable, match="out of memory"):
        engine.fetch(SORTED)
    engine.close()


def test_a_file_that_goes_while_it_is_read_is_reported_as_collected(tmp_path: Path) -> None:
    gone = Files((str(tmp_path / "gone.parquet"),), (("id", parse_type("int")),))
    engine = DuckEngine(1000)
    with pytest.raises(ab.Unavailable, match=r"gone\.parquet is gone") as refused:
        engine.fetch(reading_of(gone, ["id"]))
    assert "longer grace" in str(refused.value.hint)
    engine.close()
