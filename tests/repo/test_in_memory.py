"""Few keys need no engine: they are looked up, matched and compared in memory; only what is needed is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.catalog.store import Catalog
from anabranch.engines.duck import DuckEngine
from anabranch.objects import folder
from anabranch.objects.folder import Folder
from anabranch.repo.merge import open_merge, plain_conflicts
from anabranch.repo.read import looked_up
from anabranch.settings import ObjectSettings, Settings

ROWS = 3000


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    """A table of three files; what commits of few rows change is in the catalogue."""
    objects = ObjectSettings(inline_limit_bytes=8192, file_row_limit=1000, row_group_rows=1000)
    with ab.init(tmp_path / "store", engine="duck", settings=Settings(objects=objects)) as repo:
        rows = {"id": range(ROWS), "a": range(ROWS), "b": [f"text {i}" * 9 for i in range(ROWS)], "c": range(ROWS)}
        with repo.commit("main", "load") as tx:
            tx.create_table("t", pa.table(rows), key="id")
        assert {x["place"] for x in repo.table("t").layout()} == {"root"}
        yield repo


@contextmanager
def noted(monkeypatch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> Iterator[list[tuple[Any, ...]]]:
    """Keep the arguments of functions that are called."""
    calls: list[tuple[Any, ...]] = []

    def noting(function: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            calls.append(given)
            return function(*given, **named)

        return called

    with monkeypatch.context() as patched:
        for place, name in places:
            patched.setattr(place, name, noting(getattr(place, name)))
        yield calls


def test_statements_on_keys_ask_no_engine(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with noted(monkeypatch, (DuckEngine, "fetch")) as asked, repo.commit("main", "change") as tx:
        table = tx.table("t")
        assert str(table.upsert([{"id": 5, "a": -5}, {"id": 6, "a": 6}])) == "0 inserted, 1 updated, 0 deleted"
        new = {"id": 9000, "a": 1, "b": "x", "c": 1}
        assert str(table.insert([new])) == "1 inserted, 0 updated, 0 deleted"
        with pytest.raises(ab.InvalidRequest, match="the table has these keys already: id=9000"):
            table.insert([new])
        assert str(table.delete(where="id IN (7, 8, 8, 9500)")) == "0 inserted, 0 updated, 2 deleted"
    assert asked == []
    assert [repo.table("t").get(i) for i in (7, 9000)] == [None, new]
    assert repo.table("t", where="id IN (4, 5)", columns=["a"]).arrow()["a"].to_pylist() == [4, -5]


def test_reads_of_keys_ask_no_engine_and_read_the_columns_wanted(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with noted(monkeypatch, (DuckEngine, "fetch")) as asked, noted(monkeypatch, (looked_up, "read_columns")) as read:
        assert repo.table("t", where="id IN (2500, 1, 1)", columns="a").rows() == [{"a": 1}, {"a": 2500}]
        assert repo.table("t", where="id = 3", columns="a", limit=0).rows() == []
        assert repo.table("t", columns="c").get(17) == {"c": 17}
    assert asked == []
    columns = {column.name: str(column.id) for column in repo.table("t").schema}
    assert columns["b"] not in {name for _, names in read for name in names}


def conflict(repo: ab.Repository, count: int = 10) -> None:
    for branch, value in (("ours", -1), ("theirs", -2)):
        repo.branch(branch, at="main")
        with repo.commit(branch, branch) as tx:
            tx.table("t").upsert([{"id": i, "a": value} for i in range(count)])
            tx.table("t").upsert([{"id": 20, "c": value}] if branch == "ours" else [{"id": 21, "a": value}])


def test_conflicts_are_told_by_change_objects(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    conflict(repo)
    places = ((DuckEngine, "fetch"), (looked_up, "read_columns"), (plain_conflicts, "read_columns"))
    with noted(monkeypatch, *places) as asked:
        merge = repo.start_merge("theirs", into="ours")
        found = merge.conflicts["t"].rows()
    assert asked == []
    told = {"kind": "update/update", "column": "a", "ours": -1, "theirs": -2}
    assert found == [{"key": {"id": i}, **told, "base": i} for i in range(10)]
    assert merge.conflicts["t"].whole().rows() == found


def test_conflicts_are_found_in_few_transactions(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    conflict(repo)
    with noted(monkeypatch, (Catalog, "_reading")) as read:
        merge = repo.start_merge("theirs", into="ours")
    assert len(read) <= 4
    with noted(monkeypatch, (Catalog, "_reading")) as read:
        assert len(merge.conflicts["t"].rows()) == 10
    assert len(read) == 1


def test_change_objects_in_files_are_read_by_touched_columns(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflict(repo, 2500)
    engine = noted(monkeypatch, (DuckEngine, "fetch"))
    with noted(monkeypatch, (plain_conflicts, "read_columns")) as read, engine as asked:
        assert repo.start_merge("theirs", into="ours").conflicts["t"].count() == 2500
    assert asked == []
    columns = {str(column.id): column.name for column in repo.table("t").schema}
    assert read
    assert {columns[name] for _, names in read for name in names if name in columns} == {"id", "a"}


def test_conflicts_of_an_open_merge_are_worked_out_once(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    conflict(repo)
    merge = repo.start_merge("theirs", into="ours")
    with noted(monkeypatch, (open_merge, "work_out")) as worked, noted(monkeypatch, (DuckEngine, "fetch")) as asked:
        for i in range(9):
            assert merge.resolve("t", key=i, set={"a": 100 + i, "c": -7} if i % 2 else {"a": 100 + i}) == 1
            assert merge.conflicts.count() == 9 - i
    assert worked == []
    assert len(asked) <= 1  # the other columns of these rows, once
    assert merge.resolve("t", where="c = 9", take="theirs") == 1
    merge.finish()
    table = repo.table("t", at="ours")
    assert [table.get(i)["a"] for i in (0, 8, 9, 10, 21)] == [100, 108, -2, 10, -2]
    assert [table.get(i)["c"] for i in (0, 1)] == [0, -7]
    assert table.get(20)["c"] == -1


def test_a_file_is_hashed_as_it_is_written_and_again_once_it_is_touched(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_TICK_NS", 0)
    with noted(monkeypatch, (Folder, "_digest")) as hashed:
        assert repo.table("t", where="a = 3").count() == 1
        assert hashed == []
        file = Path(repo._ctx.root.uri(repo.table("t").layout()[0]["path"]))
        file.write_bytes(file.read_bytes())
        assert repo.table("t", where="a = 3").count() == 1
        assert [Path(path).name for _, path in hashed] == [file.name]
