"""The first rows of a diff cost those rows: only their keys are looked up."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.compare.row_diff import RowChanges


@pytest.fixture
def changed(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "a": i, "b": "x"} for i in range(500)], key="id")
    duck.branch("dev")
    with duck.commit("dev", "change") as tx:
        tx.table("t").update({"a": "a + 1"}, where="id >= 10")
        tx.table("t").delete(where="id % 50 = 20")
        tx.table("t").insert([{"id": 1000 + i, "a": 0, "b": "new"} for i in range(20)])
    with duck.commit("main", "change") as tx:
        tx.table("t").update({"b": "'y'"}, where="id < 5")
    return duck


@pytest.mark.parametrize("limit", [0, 1, 7, 100, 10_000])
def test_they_are_the_first_of_all_rows(changed: ab.Repository, limit: int) -> None:
    whole = changed.diff("main", "dev")["t"].rows()
    assert changed.diff("main", "dev")["t"].rows(limit=limit) == whole[:limit]


def test_only_their_keys_are_looked_up(changed: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[int | None] = []
    at_keys = RowChanges._at_keys

    def noting(self: RowChanges, keys: Any, *given: Any, **named: Any) -> Any:
        looked_up.append(keys.row_count)
        return at_keys(self, keys, *given, **named)

    monkeypatch.setattr(RowChanges, "_at_keys", noting)
    assert len(changed.diff("main", "dev")["t"].rows(limit=7)) == 7
    assert looked_up == [7]


def test_changes_that_were_taken_back_are_passed_over(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "a": i} for i in range(200)], key="id")
    for change in ("a + 1", "a - 1"):
        with duck.commit("main", change) as tx:
            tx.table("t").update({"a": change}, where="id < 150")
    with duck.commit("main", "last") as tx:
        tx.table("t").update({"a": "0"}, where="id IN (160, 170)")
    rows = duck.diff("main~3", "main")["t"].rows(limit=1)
    assert [row["key"] for row in rows] == [{"id": 160}]
    assert duck.diff("main~3", "main~1")["t"].rows(limit=5) == []
