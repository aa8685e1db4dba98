"""Keys are looked up in files without an engine reading them: the same rows, whatever the key and its order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.engines.duck import DuckEngine
from anabranch.queries.query import Files
from anabranch.settings import MemorySettings, ObjectSettings, Settings

ROWS = 3000
KEYS: dict[str, Any] = {
    "bigint": lambda i: i * 7 - 100,
    "string": lambda i: f"{'é' if i % 5 else 'z'}{i}",
    "date": lambda i: date(2020, 1, 1) + timedelta(i),
    "timestamp": lambda i: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=i),
}


@contextmanager
def files_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Files]]:
    """Keep the files that an engine reads."""
    found: list[Files] = []
    fetch = DuckEngine.fetch

    def noting(self: DuckEngine, query: Any, *more: float) -> Any:
        found.extend(source for source in query.sources.values() if isinstance(source, Files))
        return fetch(self, query, *more)

    with monkeypatch.context() as patched:
        patched.setattr(DuckEngine, "fetch", noting)
        yield found


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    """A repository in which every object is a file, of no more than 1,000 rows."""
    settings = Settings(objects=ObjectSettings(inline_limit_bytes=0, file_row_limit=1000))
    with ab.init(tmp_path / "store", engine="duck", settings=settings) as repo:
        yield repo


@pytest.mark.parametrize("kind", KEYS)
def test_rows_are_found_and_no_engine_reads_a_file(
    repo: ab.Repository, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = KEYS[kind]
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"k": key(i), "a": i, "b": str(i)} for i in range(0, ROWS, 2)], key="k")
    loaded = [layer["path"] for layer in repo.table("t").layout()]
    with files_read(monkeypatch) as read:
        found = [repo.table("t").get(key(i)) for i in (0, 1, 2, 1500, ROWS - 2, ROWS - 1)]
        with repo.commit("main", "change") as tx:
            counts = tx.table("t").upsert([{"k": key(i), "a": -i, "b": "new"} for i in (4, 5, 2000)])
    assert [row and row["a"] for row in found] == [0, None, 2, 1500, ROWS - 2, None]
    assert (counts.inserted, counts.updated) == (1, 2)
    assert [uri for files in read for uri in files.uris if uri.endswith(tuple(loaded))] == []
    assert {row["a"] for row in repo.table("t").arrow().to_pylist() if row["b"] == "new"} == {-4, -5, -2000}


def test_rows_are_found_where_files_are_in_another_order(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with repo.commit("main", "load") as tx:
        rows = [{"k": i, "a": (i * 37) % ROWS} for i in range(ROWS)]
        tx.create_table("t", rows, key="k", cluster_by="a")
    with files_read(monkeypatch) as read, repo.commit("main", "change") as tx:
        assert tx.table("t").update({"a": "-1"}, where="k IN (3, 2999, 100000)").updated == 2
        assert tx.table("t").delete(where="k = 7").deleted == 1
    assert read == []
    assert repo.table("t").get(2999) == {"k": 2999, "a": -1}
    assert repo.table("t").get(7) is None


def test_a_key_of_two_columns_is_found_by_both(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"a": i // 3, "b": i % 3, "v": i} for i in range(ROWS)], key=["a", "b"])
        tx.create_table("few", [{"a": i % 2, "b": i, "v": i} for i in range(ROWS)], key=["a", "b"])
    assert repo.table("t").get({"a": 100, "b": 2}) == {"a": 100, "b": 2, "v": 302}
    assert repo.table("t").get({"a": 100, "b": 3}) is None
    assert repo.table("few").get({"a": 1, "b": 301}) == {"a": 1, "b": 301, "v": 301}


def test_files_of_an_older_schema_are_searched_by_an_engine(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", pa.table({"k": pa.array(range(ROWS), pa.int32()), "a": ["x"] * ROWS}), key="k")
    with repo.commit("main", "wider") as tx:
        tx.table("t").alter_column("k", type="bigint")
        tx.table("t").add_column("c", "int", default=5)
        tx.table("t").insert([{"k": 2**40, "a": "y", "c": 6}])
    assert repo.table("t").get(17) == {"k": 17, "a": "x", "c": 5}
    assert repo.table("t").get(2**40) == {"k": 2**40, "a": "y", "c": 6}


def test_what_takes_too_much_memory_is_left_to_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(objects=ObjectSettings(inline_limit_bytes=0), memory=MemorySettings(cache_limit_bytes=1000))
    with ab.init(tmp_path / "store", engine="duck", settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"k": i, "a": i} for i in range(ROWS)], key="k")
        with files_read(monkeypatch) as read:
            assert repo.table("t").get(5) == {"k": 5, "a": 5}
        assert read


def test_a_file_that_is_damaged_is_told_before_it_is_searched(repo: ab.Repository, tmp_path: Path) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"k": i, "a": i} for i in range(ROWS)], key="k")
    for layer in repo.table("t").layout():
        file = tmp_path / "store/.anabranch/objects" / layer["path"]
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.chmod(0o644)
        file.write_bytes(content)
    with pytest.raises(ab.Corrupt):
        repo.table("t").get(5)
