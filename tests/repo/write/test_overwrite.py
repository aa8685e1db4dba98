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
        tx.create_table("t", data(50_000), key="id")
    full = sum(x["size_bytes"] for x in repo.table("t").layout())
    with repo.commit("main", "reload") as tx:
        counts = tx.table("t").overwrite(data(50_001, changed=5).slice(1))
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 4, 1)
    added = [x for x in repo.table("t").layout() if x["turn"] > 0]
    assert sorted((x["kind"], x["rows"]) for x in added) == [("delete", 1), ("rows", 1), ("update", 4)]
    assert sum(x["size_bytes"] for x in added) < full / 5
    assert repo.table("t").arrow().sort_by("id").column("b").to_pylist() == data(50_001, 5).column("b").to_pylist()[1:]
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


DAYS = [
    {"id": 1, "day": 1, "v": 10},
    {"id": 2, "day": 2, "v": 20},
    {"id": 3, "day": 2, "v": 30},
    {"id": 4, "day": None, "v": 40},
]
NEXT = [{"id": 2, "day": 2, "v": 20}, {"id": 3, "day": 2, "v": 31}, {"id": 5, "day": 2, "v": 50}]


@pytest.mark.parametrize("key", ["id", None])
def test_an_overwrite_with_a_condition_replaces_only_what_it_selects(duck: ab.Repository, key: str | None) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", DAYS, key=key)
    with duck.commit("main", "day 2 again") as tx:
        counts = tx.table("t").overwrite(NEXT, where="day = :day", args={"day": 2})
    assert str(counts) == ("1 inserted, 1 updated, 0 deleted" if key else "2 inserted, 0 updated, 1 deleted")
    rows = sorted(duck.table("t").rows(), key=lambda row: row["id"])
    assert rows == [DAYS[0], *NEXT[:2], DAYS[3], NEXT[2]]
    with duck.commit("main", "the same load") as tx:
        assert not tx.table("t").overwrite(NEXT, where="day = 2").rows
    assert tx.commit is None
    with duck.commit("main", "nothing came") as tx:
        assert tx.table("t").overwrite(NEXT[:0], where="day = 2").deleted == 3


def test_rows_that_the_condition_does_not_select_and_keys_outside_it_are_refused(duck: ab.Repository) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", DAYS, key="id")
    for row, said in (({"id": 9, "day": 3, "v": 0}, "id=9, day=3"), ({"id": 9, "day": None, "v": 0}, "id=9, day=")):
        with (
            pytest.raises(ab.InvalidRequest, match="not among those that the condition selects") as caught,
            duck.commit("main", "x") as tx,
        ):
            tx.table("t").overwrite([row], where="day = 2")
        assert said in caught.value.message
    with pytest.raises(ab.InvalidRequest, match="has these keys already: id=1"), duck.commit("main", "x") as tx:
        tx.table("t").overwrite([{"id": 1, "day": 2, "v": 0}], where="day = 2")
    assert len(duck.log()) == 2


def test_sql_replaces_by_a_condition_or_a_partition(duck: ab.Repository) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", DAYS, key="id")
    duck.sql("INSERT INTO t REPLACE WHERE day = :d VALUES (2, 2, 20), (3, 2, 31)", args={"d": 2})
    assert duck.table("t").get(3) == {"id": 3, "day": 2, "v": 31}
    duck.sql("INSERT OVERWRITE t PARTITION (day = 2) SELECT id, v + 1 FROM t WHERE day = 2 AND id = 2")
    assert duck.table("t", where="day = 2").rows() == [{"id": 2, "day": 2, "v": 21}]
    duck.sql("INSERT OVERWRITE t PARTITION (day = 7) (v, id) VALUES (70, 7)")
    assert duck.table("t").get(7) == {"id": 7, "day": 7, "v": 70}
    assert duck.table("t").count() == 4
    with pytest.raises(ab.InvalidRequest, match="REPLACE WHERE"):
        duck.sql("INSERT OVERWRITE t PARTITION (day) SELECT id, v, day FROM t")
