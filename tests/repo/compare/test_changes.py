"""changes: the feed of every change of every commit, held to the states of neighbouring commits."""

from __future__ import annotations

import random
from typing import Any

import pytest

import anabranch as ab
from anabranch.queries.changes import FEED_COLUMNS
from tests.repo.compare.neighbours import feed
from tests.repo.graphs import grown

ROWS = [{"id": i, "qty": i, "note": "n" if i % 2 else None} for i in range(6)]
SCHEMA = {"id": "int", "qty": "int", "note": "string"}


@pytest.fixture
def shop(repo: ab.Repository) -> ab.Repository:
    """A table with inserts, updates, deletes and rows that came again."""
    with repo.commit("main", "make") as tx:
        tx.create_table("orders", ROWS, schema=SCHEMA, key="id")
    with repo.commit("main", "update") as tx:
        tx.table("orders").update({"qty": "qty + 10"}, where="id >= 3")
        tx.table("orders").update({"note": "'both'"}, where="id = 4")
    with repo.commit("main", "delete") as tx:
        tx.table("orders").delete(where="id IN (1, 4)")
    with repo.commit("main", "again") as tx:
        tx.table("orders").upsert([{"id": 4, "qty": None, "note": "again"}, {"id": 9, "qty": 9, "note": None}])
        tx.table("orders").update({"note": "null"}, where="id = 3")
    return repo


def versions(changes: Any) -> list[str]:
    return list(dict.fromkeys(r["_commit_version"] for r in changes.rows()))


def applied(rows: list[dict[str, Any]], changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows after changes, each of which must fit what is there; in the order of the key."""
    found = {r["id"]: r for r in rows}
    for change in changes:
        row = {k: v for k, v in change.items() if k not in FEED_COLUMNS}
        if change["_change_type"] in ("delete", "update_preimage"):
            assert found.pop(row["id"]) == row
        else:
            assert row["id"] not in found
            found[row["id"]] = row
    return [found[k] for k in sorted(found)]


def test_the_feed_is_the_difference_of_neighbouring_commits(shop: ab.Repository) -> None:
    changes = shop.changes("orders")
    assert changes.rows() == feed(shop, "orders")
    assert changes.count() == len(changes.rows())
    assert changes.commits == ("main/1", "main/2", "main/3", "main/4")


@pytest.mark.parametrize("how", ["revert", "restore"])
def test_a_table_that_was_dropped_and_comes_back_has_its_whole_past(shop: ab.Repository, how: str) -> None:
    before, there = shop.changes("orders").rows(), shop.table("orders").head(100)
    with shop.commit("main", "drop") as tx:
        tx.table("orders").drop()
    shop.revert("main") if how == "revert" else shop.restore("orders", to="main~1")
    with shop.commit("main", "later") as tx:
        tx.table("orders").update({"qty": 1}, where="id = 0")
    found = shop.changes("orders").rows()
    assert found[: len(before)] == before
    kinds = [(r["_change_type"], r["_commit_version"]) for r in found[len(before) :]]
    gone, back = [("delete", "main/5")] * len(there), [("insert", "main/6")] * len(there)
    assert kinds == [*gone, *back, ("update_preimage", "main/7"), ("update_postimage", "main/7")]
    assert applied([], found) == shop.table("orders").head(100)
    assert versions(shop.changes("orders", since="main~2")) == ["main/6", "main/7"]


def test_a_range_begins_after_since_and_ends_with_to(shop: ab.Repository) -> None:
    found = shop.changes("orders", since="main~3", to="main~1")
    assert found.rows() == feed(shop, "orders", "main~1", "main~3")
    assert versions(found) == ["main/2", "main/3"]
    assert shop.changes("orders", since="main", to="main").rows() == []
    assert shop.changes("orders", since="main", to="main").count() == 0


def test_a_range_from_no_ancestor_is_refused(shop: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="no ancestor"):
        shop.changes("orders", since="main", to="main~2")
    shop.branch("dev", at="main~1")
    with shop.commit("dev", "aside") as tx:
        tx.table("orders").delete(where="id = 0")
    with pytest.raises(ab.InvalidRequest, match="no ancestor"):
        shop.changes("orders", since="dev", to="main")
    with pytest.raises(ab.NotFound):
        shop.changes("orders", since="nowhere")
    with pytest.raises(ab.NotFound):
        shop.changes("order")


def test_the_feed_has_the_types_of_the_table_and_of_spark(shop: ab.Repository) -> None:
    rows = shop.changes("orders").arrow()
    assert rows.column_names == ["id", "qty", "note", "_change_type", "_commit_version", "_commit_timestamp"]
    assert [str(t) for t in rows.schema.types] == [
        "int32",
        "int32",
        "string",
        "string",
        "string",
        "timestamp[us, tz=UTC]",
    ]
    frame = shop.changes("orders").pandas()
    assert len(frame) == rows.num_rows
    empty = shop.changes("orders", since="main").arrow()
    assert (empty.num_rows, empty.schema) == (0, rows.schema)


@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_as_a_spark_frame(shop: ab.Repository) -> None:
    frame = shop.changes("orders").spark()
    rows = [r.asDict() for r in frame.select("id", "qty", "note", "_change_type", "_commit_version").collect()]
    told = [{k: v for k, v in r.items() if k != "_commit_timestamp"} for r in feed(shop, "orders")]
    assert sorted(rows, key=repr) == sorted(told, key=repr)
    assert dict(frame.dtypes)["_commit_timestamp"] == "timestamp"


def test_one_key(shop: ab.Repository) -> None:
    told = [r for r in feed(shop, "orders") if r["id"] == 4]
    assert shop.changes("orders", key=4).rows() == told
    assert shop.changes("orders", key={"id": 4}, since="main~2").rows() == told[-2:]
    assert shop.changes("orders", key=77).rows() == []
    with pytest.raises(ab.AnabranchError):
        shop.changes("orders", key={"qty": 4})


def test_a_change_is_kept_whole_if_one_side_meets_the_condition(shop: ab.Repository) -> None:
    found = shop.changes("orders", where="qty = :q", args={"q": 13}).rows()
    assert [(r["id"], r["qty"], r["_change_type"]) for r in found] == [
        (3, 3, "update_preimage"),
        (3, 13, "update_postimage"),
        (3, 13, "update_preimage"),
        (3, 13, "update_postimage"),
    ]
    nulls = shop.changes("orders", where="note IS NULL", since="main~2").rows()
    assert [(r["id"], r["_change_type"]) for r in nulls] == [
        (3, "update_preimage"),
        (3, "update_postimage"),
        (9, "insert"),
    ]


def test_columns_leave_out_updates_of_others(shop: ab.Repository) -> None:
    found = shop.changes("orders", columns=["note", "id"], where="qty > 0")
    assert found.arrow().column_names == ["note", "id", "_change_type", "_commit_version", "_commit_timestamp"]
    updates = [(r["id"], r["note"]) for r in found.rows() if r["_change_type"].startswith("update")]
    assert updates == [(4, None), (4, "both"), (3, "n"), (3, None)]


def test_renames_drops_and_wider_types_are_read_under_the_last_schema(shop: ab.Repository) -> None:
    with shop.commit("main", "shape") as tx:
        table = tx.table("orders")
        table.add_column("price", "int", default="7")
        table.rename_column("qty", "select")
        table.alter_column("select", type="bigint")
    with shop.commit("main", "price") as tx:
        tx.table("orders").update({"price": "null", "select": "5000000000"}, where="id = 0")
    with shop.commit("main", "note") as tx:
        tx.table("orders").update({"note": "'soon gone'"}, where="id = 5")
    with shop.commit("main", "drop") as tx:
        tx.table("orders").drop_column("note")
    with shop.commit("main", "name") as tx:
        tx.create_namespace("sales")
        tx.table("orders").rename("sales.orders")
    with shop.commit("main", "after") as tx:
        tx.table("sales.orders").delete(where="id = 0")
    found = shop.changes("sales.orders").rows()
    assert found == feed(shop, "sales.orders", absent={"price": 7})
    assert "main/7" not in {r["_commit_version"] for r in found}
    assert list(found[0])[:3] == ["id", "select", "price"]


def test_another_key_is_no_change_of_rows(shop: ab.Repository) -> None:
    with shop.commit("main", "drop nulls") as tx:
        tx.table("orders").delete(where="qty IS NULL")
    with shop.commit("main", "key") as tx:
        tx.table("orders").set_key(["qty", "id"])
    with shop.commit("main", "under it") as tx:
        tx.table("orders").update({"note": "'new'"}, where="id = 9")
    found = shop.changes("orders", since="main~2").rows()
    assert versions(shop.changes("orders", since="main~2")) == ["main/7"]
    assert [(r["id"], r["note"]) for r in found] == [(9, None), (9, "new")]
    whole = shop.changes("orders").rows()
    assert [r for r in whole if r["_commit_version"] != "main/7"] == shop.changes("orders", to="main~2").rows()
    assert [r["_commit_version"] for r in shop.changes("orders", key={"id": 9, "qty": 9}).rows()] == [
        "main/4",
        "main/7",
        "main/7",
    ]


def test_another_key_and_other_rows_in_one_commit_tell_the_rows(shop: ab.Repository) -> None:
    with shop.commit("main", "both") as tx:
        tx.table("orders").delete(where="qty IS NULL")
        tx.table("orders").set_key(["qty"])
        tx.table("orders").update({"note": "'x'"}, where="qty = 9")
    found = shop.changes("orders", since="main~1").rows()
    assert sorted((r["id"], r["note"], r["_change_type"]) for r in found if r["id"] == 4) == [(4, "again", "delete")]
    # A null was no key, so whole rows are compared: what was updated went and came.
    told = [(r["note"], r["_change_type"]) for r in found if r["id"] == 9]
    assert sorted(told, key=repr) == [("x", "insert"), (None, "delete")]
    assert {r["id"] for r in found} == {4, 9}


def test_a_merge_is_one_commit(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "one") as tx:
        tx.table("orders").update({"qty": 100}, where="id = 2")
        tx.table("orders").insert([{"id": 20, "qty": 20, "note": "dev"}])
    with shop.commit("dev", "two") as tx:
        tx.table("orders").update({"qty": 101}, where="id IN (2, 20)")
        tx.table("orders").delete(where="id = 0")
    with shop.commit("main", "beside") as tx:
        tx.table("orders").update({"note": "'main'"}, where="id = 2")
        tx.table("orders").update({"qty": 7}, where="id = 3")
    shop.merge("dev", into="main", message="merge")
    assert shop.changes("orders").rows() == feed(shop, "orders")
    told = shop.changes("orders", since="main~1").rows()
    assert {r["_commit_version"] for r in told} == {shop.show("main").id}
    assert [r["_change_type"] for r in told if r["id"] == 20] == ["insert"]


def test_a_merge_with_rows_that_met(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "one") as tx:
        tx.table("orders").update({"qty": "qty + 5"}, where="id IN (2, 3)")
        tx.table("orders").upsert([{"id": 5, "note": "dev"}])
    with shop.commit("main", "beside") as tx:
        tx.table("orders").update({"qty": "qty + 1", "note": "'m'"}, where="id = 2")
    shop.merge("dev", into="main", message="merge", rules={"orders.qty": "sum"})
    assert shop.changes("orders").rows() == feed(shop, "orders")


def test_from_a_branch_that_was_merged_in_the_merge_brings_what_it_lacked(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "one") as tx:
        tx.table("orders").update({"qty": "qty + 5"}, where="id IN (2, 3)")
    with shop.commit("main", "beside") as tx:
        tx.table("orders").update({"qty": "qty + 1", "note": "'m'"}, where="id = 2")
        tx.table("orders").delete(where="id = 9")
    shop.merge("dev", into="main", message="merge", rules={"orders.qty": "sum"})
    with shop.commit("main", "after") as tx:
        tx.table("orders").delete(where="id = 5")
    found = shop.changes("orders", since="dev").rows()
    assert applied(shop.table("orders", at="dev").rows(), found) == shop.table("orders").head(20)
    assert versions(shop.changes("orders", since="dev")) == [shop.show("main~1").id, shop.show("main").id]


def test_from_one_of_several_branches_that_were_merged_at_once(shop: ab.Repository) -> None:
    for n, name in enumerate(("one", "two")):
        shop.branch(name)
        with shop.commit(name, name) as tx:
            tx.table("orders").update({"qty": 50 + n}, where="id = :n", args={"n": n * 2})
    with shop.commit("main", "beside") as tx:
        tx.table("orders").delete(where="id = 5")
    shop.merge(["one", "two"], into="main", message="both")
    found = shop.changes("orders", since="one").rows()
    assert [(r["id"], r["qty"], r["_change_type"]) for r in found] == [
        (2, 2, "update_preimage"),
        (2, 51, "update_postimage"),
        (5, 15, "delete"),
    ]
    assert {r["_commit_version"] for r in found} == {shop.show("main").id}
    assert shop.changes("orders").rows() == feed(shop, "orders")


def test_a_table_that_a_merge_brought_is_there_from_the_merge(repo: ab.Repository) -> None:
    repo.branch("dev")
    with repo.commit("dev", "make") as tx:
        tx.create_table("t", ROWS, schema=SCHEMA, key="id")
    with repo.commit("dev", "change") as tx:
        tx.table("t").delete(where="id = 0")
        tx.table("t").update({"qty": 50}, where="id = 1")
    with repo.commit("dev", "again") as tx:
        tx.table("t").insert([{"id": 0, "qty": 3, "note": None}])
    with repo.commit("main", "other") as tx:
        tx.create_table("u", ROWS, schema=SCHEMA, key="id")
    repo.merge("dev", into="main", message="merge")
    assert repo.changes("t").rows() == feed(repo, "t")
    assert {r["_change_type"] for r in repo.changes("t").rows()} == {"insert"}
    assert repo.changes("t", to="dev").rows() == feed(repo, "t", "dev")


def test_views_change_nothing(shop: ab.Repository) -> None:
    told = shop.changes("orders").rows()
    later = shop.changes("orders", since="main~1").rows()
    shop.optimize("orders")
    assert shop.changes("orders").rows() == told
    assert shop.changes("orders", since="main~1").rows() == later


def test_a_table_without_a_key(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"a": 1}, {"a": 1}, {"a": None}])
    with repo.commit("main", "change") as tx:
        tx.table("t").update({"a": 2}, where="a IS NULL")
        tx.table("t").delete(where="a = 1")
    found = [(r["_commit_version"], r["_change_type"], r["a"]) for r in repo.changes("t").rows()]
    assert sorted(found, key=repr) == sorted(
        [
            ("main/1", "insert", 1),
            ("main/1", "insert", 1),
            ("main/1", "insert", None),
            ("main/2", "delete", 1),
            ("main/2", "delete", 1),
            ("main/2", "update_preimage", None),
            ("main/2", "update_postimage", 2),
        ],
        key=repr,
    )
    with pytest.raises(ab.InvalidRequest, match="no key"):
        repo.changes("t", key={"a": 1})


def test_a_key_for_a_table_without_one(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    with repo.commit("main", "change") as tx:
        tx.table("t").update({"b": 3}, where="a = 2")
    with repo.commit("main", "key") as tx:
        tx.table("t").set_key(["a"])
    with repo.commit("main", "later") as tx:
        tx.table("t").update({"b": 4}, where="a = 2")
    found = [(r["_commit_version"], r["a"], r["b"]) for r in repo.changes("t").rows()]
    assert sorted(found[:2]) == [("main/1", 1, 1), ("main/1", 2, 2)]
    assert found[2:] == [("main/2", 2, 2), ("main/2", 2, 3), ("main/4", 2, 3), ("main/4", 2, 4)]


def test_an_empty_table_has_no_changes(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "a": "int"}, key="id")
    assert repo.changes("t").rows() == []
    with repo.commit("main", "in and out") as tx:
        tx.table("t").insert([{"id": 1, "a": 1}])
    with repo.commit("main", "out") as tx:
        tx.table("t").delete()
    assert [r["_change_type"] for r in repo.changes("t").rows()] == ["insert", "delete"]


def test_a_column_with_a_name_of_the_feed_is_refused_unless_it_is_left_out(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1, "_Change_Type": "x", "select": 2}], key="id")
    with pytest.raises(ab.InvalidRequest, match="_Change_Type"):
        repo.changes("t")
    (row,) = repo.changes("t", columns=["id", "select"]).rows()
    assert (row["id"], row["select"], row["_change_type"]) == (1, 2, "insert")


def test_nested_values_and_floats_are_whole(repo: ab.Repository) -> None:
    schema = {"id": "int", "f": "double", "a": "array<struct<x:double>>", "m": "map<string,int>", "n": "int"}
    rows = [{"id": 1, "f": float("nan"), "a": [{"x": -0.0}], "m": {"k": 1}, "n": 0}]
    with repo.commit("main", "make") as tx:
        tx.create_table("t", rows, schema=schema, key="id")
    with repo.commit("main", "n") as tx:
        tx.table("t").update({"n": 1})
    with repo.commit("main", "a") as tx:
        tx.table("t").update({"a": "null", "m": "null"})
    found = repo.changes("t").rows()
    assert [(r["n"], r["m"], r["a"]) for r in found[1:]] == [
        (0, {"k": 1}, [{"x": -0.0}]),
        (1, {"k": 1}, [{"x": -0.0}]),
        (1, {"k": 1}, [{"x": -0.0}]),
        (1, None, None),
    ]
    assert str(found[2]["a"][0]["x"]) == "-0.0"
    assert all(r["f"] != r["f"] for r in found)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.more) for n in (2, 3, 4))])
def test_random_histories_with_merges(duck: ab.Repository, seed: int) -> None:
    graph = grown(duck, random.Random(seed))
    assert duck.changes("t").rows() == feed(duck, "t")
    last = duck.table("t").head(20)
    for commit, rows in graph.rows.items():
        # From any ancestor, also one on a branch that was merged in, the feed leads to what is there.
        assert applied(list(rows.values()), duck.changes("t", since=commit).rows()) == last


def test_changes_too_many_to_look_up_are_joined(shop: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.repo.compare.changes.FEED_KEYS_LIMIT", 0)
    assert shop.changes("orders", since="main~2").rows() == feed(shop, "orders", since="main~2")
