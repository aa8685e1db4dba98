"""overwrite: the table holds just the given rows, and only what differs is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab


def data(rows: int, changed: int = 0) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "a": pa.array([n * 2 for n in range(rows)], pa.int64()),
            "b": pa.array([f"text {n}" if n >= changed else f"new {n}" for n in range(rows)]),
        }
    )


def test_only_what_differs_is_stored(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", data(5000), key="id")
    full = sum(x["size_bytes"] for x in repo.table("t").layout())
    with repo.commit("main", "reload") as tx:
        counts = tx.table("t").overwrite(data(5001, changed=5).slice(1))
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 4, 1)
    added = [x for x in repo.table("t").layout() if x["turn"] > 0]
    assert sorted((x["kind"], x["rows"]) for x in added) == [("delete", 1), ("rows", 1), ("update", 4)]
    assert sum(x["size_bytes"] for x in added) < full / 5
    assert repo.table("t").arrow().sort_by("id").column("b").to_pylist() == data(5001, 5).column("b").to_pylist()[1:]
    assert repo.show().tables == ("t",)


def test_an_update_by_overwrite_is_narrow(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", data(10), key="id")
    with repo.commit("main", "reload") as tx:
        tx.table("t").overwrite(data(10, changed=3))
    state = repo.table("t")._state
    (update,) = [x.object for x in state.layers if x.object.kind == "update"]
    assert [c.name for c in state.schema if c.id in update.touched] == ["b"]


def test_the_same_rows_are_no_change(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", data(10), key="id")
    with repo.commit("main", "reload") as tx:
        assert tx.table("t").overwrite(data(10)).rows == 0
    assert tx.commit is None


def test_bad_rows_are_refused_and_nothing_is_left(repo: ab.Repository, tmp_path: Path) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", data(10), key="id")
    before = sorted(p for p in tmp_path.rglob("*.parquet"))
    twice = pa.concat_tables([data(3), data(3)])
    for rows in (twice, data(3).drop_columns(["id"]), data(3).rename_columns(["id", "a", "x"])):
        with pytest.raises(ab.InvalidRequest), repo.commit("main", "bad") as tx:
            tx.table("t").overwrite(rows)
    assert sorted(p for p in tmp_path.rglob("*.parquet")) == before


def test_columns_that_are_not_given_get_their_defaults(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", schema={"id": "int", "a": "int DEFAULT 7", "b": "string"}, key="id")
        tx.table("t").insert([{"id": 1, "a": 1, "b": "x"}, {"id": 2, "a": 2, "b": "y"}])
    with repo.commit("main", "reload") as tx:
        tx.table("t").overwrite([{"id": 2}, {"id": 3}])
    expected: list[dict[str, Any]] = [{"id": 2, "a": 7, "b": None}, {"id": 3, "a": 7, "b": None}]
    assert repo.table("t").head() == expected
