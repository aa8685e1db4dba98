"""Changes laid over rows in memory give what a join of the engine gives: the same values of the same types."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.repo.read.applied import AppliedRows

KEYS: dict[str, list[Any]] = {
    "tinyint": [-128, 0, 5, 127],
    "bigint": [-(2**63), 0, 5, 2**63 - 1],
    "decimal(38,2)": [Decimal("-1e35"), Decimal("0.01"), Decimal("0.02"), Decimal("1e35")],
    "string": ["", "a", "a ", "é😀"],
    "boolean": [False, True],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)],
    "timestamp": [datetime(1, 1, 2, tzinfo=UTC), datetime(2024, 10, 27, 1, 30, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(2024, 10, 27, 1, 30), datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "binary": [b"", b"\x00", b"\x00\x00", b"\xff"],
}
CELLS: dict[str, tuple[Any, Any, Any]] = {
    "int": (1, None, -2),
    "double": (0.5, math.nan, -0.0),
    "float": (math.inf, None, 0.25),
    "decimal(12,2)": (Decimal("1.10"), Decimal("0.00"), None),
    "string": ("x", "", None),
    "binary": (b"x", b"", None),
    "boolean": (True, None, False),
    "date": (date(2024, 1, 1), None, date(1, 1, 1)),
    "timestamp": (datetime(2024, 1, 1, tzinfo=UTC), None, datetime(1, 1, 2, tzinfo=UTC)),
    "timestamp_ntz": (datetime(2024, 1, 1), None, datetime(1, 1, 1)),
    "array<int>": ([1, None], [], None),
    "struct<a:int,b:string>": ({"a": 1, "b": None}, None, {"a": None, "b": ""}),
    "map<string,double>": ({"k": 1.5}, {}, None),
}
SMALL = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0, file_row_limit=2))
"""Every object is a file, so that an engine folds."""


def by_join(path: Path, columns: list[str] | None = None) -> pa.Table:
    """The table as the engine joins it."""
    with ab.open(path, engine="duck", settings=ab.Settings(memory=ab.MemorySettings(overlay_row_limit=0))) as repo:
        return repo.table("t", columns=columns, where="1 = 1").arrow()


def assert_same(path: Path, repo: ab.Repository, columns: list[str] | None = None) -> None:
    joined = by_join(path, columns)
    for _ in range(2):
        laid = repo.table("t", columns=columns).arrow()
        assert laid.schema == joined.schema
        assert sorted(map(repr, laid.to_pylist())) == sorted(map(repr, joined.to_pylist()))


@pytest.mark.parametrize("settings", [ab.Settings(), SMALL], ids=["inline", "files"])
@pytest.mark.parametrize("type_", KEYS)
def test_rows_are_found_by_keys_of_every_type(tmp_path: Path, type_: str, settings: ab.Settings) -> None:
    schema = {"k": type_, "v": "int"}
    with ab.init(tmp_path, engine="duck", settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"k": k, "v": n} for n, k in enumerate(KEYS[type_])], key="k", schema=schema)
        for _ in range(2):
            with repo.commit("main", "update") as tx:
                tx.table("t").upsert([{"k": KEYS[type_][1], "v": 77}])
            assert_same(tmp_path, repo)
            with repo.commit("main", "delete and come again") as tx:
                tx.table("t").delete(where="v = 0")
            with repo.commit("main", "come again") as tx:
                tx.table("t").insert([{"k": KEYS[type_][0], "v": 0}])
            assert_same(tmp_path, repo)
            assert_same(tmp_path, repo, ["v"])


@pytest.mark.parametrize("settings", [ab.Settings(), SMALL], ids=["inline", "files"])
def test_cells_of_every_type_are_replaced(tmp_path: Path, settings: ab.Settings) -> None:
    names = {f"c{n}": type_ for n, type_ in enumerate(CELLS)}
    row = {name: CELLS[type_] for name, type_ in names.items()}
    with ab.init(tmp_path, engine="duck", settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            rows = [{"id": n, **{name: values[n % 3] for name, values in row.items()}} for n in range(9)]
            tx.create_table("t", rows, key="id", schema={"id": "int", **names})
        for turn in range(3):
            with repo.commit("main", "change") as tx:
                changed = [{"id": n, **{c: v[(n + turn + 1) % 3] for c, v in row.items()}} for n in range(turn, 9, 2)]
                tx.table("t").upsert(changed)
            with repo.commit("main", "change one cell alone") as tx:
                tx.table("t").upsert([{"id": turn, "c0": 50 + turn}])
            assert_same(tmp_path, repo)
            assert_same(tmp_path, repo, ["c1", "c12"])


@pytest.mark.parametrize("settings", [ab.Settings(), SMALL], ids=["inline", "files"])
def test_what_changes_many_columns_is_looked_up_as_what_changes_few(
    tmp_path: Path, settings: ab.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"c{n}": type_ for n, type_ in enumerate(CELLS) if "<" not in type_}
    row = {name: CELLS[type_] for name, type_ in names.items()}
    with ab.init(tmp_path, engine="duck", settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            rows = [{"id": n, "more": n, **{name: values[n % 3] for name, values in row.items()}} for n in range(9)]
            tx.create_table("t", rows, key=["id", "more"], schema={"id": "int", "more": "bigint", **names})
        for turn in range(3):
            with repo.commit("main", "change") as tx:
                changed = [{**rows[n], **{c: v[(n + turn + 1) % 3] for c, v in row.items()}} for n in range(turn, 9, 2)]
                tx.table("t").upsert(changed)
            with repo.commit("main", "go and come again") as tx:
                tx.table("t").delete(where=f"id = {turn + 5}")
            with repo.commit("main", "come again") as tx:
                tx.table("t").insert([rows[turn + 5]])

    def told() -> list[str]:
        with ab.open(tmp_path, engine="duck", settings=settings) as repo:
            found: list[Any] = [repo.table("t").get({"id": n, "more": n}) for n in range(9)]
            found += repo.table("t", where="id = 3").rows()
            found += repo.diff("main~7", "main")["t"].rows()
            found += [(h.change, h.before, h.after) for h in repo.history("t", key={"id": 5, "more": 5})]
        return [repr(f) for f in found]

    expected, laid = told(), []
    monkeypatch.setattr("anabranch.settings.WIDE_CHANGE_COLUMNS", 1)
    of_keys = AppliedRows.looked_up_rows
    monkeypatch.setattr(AppliedRows, "looked_up_rows", lambda *given: laid.append(of_keys(*given)) or laid[-1])
    assert told() == expected
    assert laid
    assert all(isinstance(rows, pa.Table) for rows in laid)


def test_a_merged_change_leaves_cells_alone_that_it_did_not_change(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "a": 0, "b": 0} for n in range(4)], key="id")
        repo.branch("dev")
        with repo.commit("dev", "one cell of each row") as tx:
            tx.table("t").upsert([{"id": 0, "a": 1, "b": 0}, {"id": 1, "a": 0, "b": 1}])
        with repo.commit("main", "the other cell") as tx:
            tx.table("t").update({"b": 7}, where="id = 0")
        repo.merge("dev", into="main")
        assert_same(tmp_path, repo)
        assert sorted(tuple(r.values()) for r in repo.table("t").rows()) == [(0, 1, 7), (1, 0, 1), (2, 0, 0), (3, 0, 0)]


def test_columns_that_came_later_or_grew_are_laid_over(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "a": n, "d": date(2024, 1, 1)} for n in range(4)], key="id")
        with repo.commit("main", "update") as tx:
            tx.table("t").update({"a": "a + 1"}, where="id = 1")
        with repo.commit("main", "alter") as tx:
            tx.table("t").alter_column("id", type="bigint")
            tx.table("t").alter_column("d", type="timestamp_ntz")
            tx.table("t").add_column("n", "string", default="'new'")
        with repo.commit("main", "update") as tx:
            tx.table("t").update({"n": "'old'", "a": "a + 1"}, where="id > 1")
        assert_same(tmp_path, repo)


def test_many_and_scattered_deletes_leave_the_others(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck", settings=ab.Settings(folding=ab.FoldingSettings(commit_limit=0))) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "a": n} for n in range(1000)], key="id")
        for rest in (1, 3, 5):
            with repo.commit("main", "delete") as tx:
                tx.table("t").delete(where=f"id % 7 = {rest}")
            assert_same(tmp_path, repo)
        with repo.commit("main", "delete all") as tx:
            tx.table("t").delete(where="id >= 0")
        assert repo.table("t").rows() == []
