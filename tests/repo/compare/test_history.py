"""history: the commits that touched a table or a row, held to the states of all commits and their parents."""

from __future__ import annotations

import random
from typing import Any

import pytest

import anabranch as ab
from tests.repo.graphs import grown, row_commits

ROWS = [{"id": i, "qty": i, "note": None} for i in range(4)]
SCHEMA = {"id": "int", "qty": "int", "note": "string"}


@pytest.fixture
def shop(repo: ab.Repository) -> ab.Repository:
    with repo.commit("main", "make") as tx:
        tx.create_table("orders", ROWS, schema=SCHEMA, key="id")
    with repo.commit("main", "update", author="bob") as tx:
        tx.table("orders").update({"qty": "qty + 10"}, where="id >= 2")
    with repo.commit("main", "delete") as tx:
        tx.table("orders").delete(where="id = 3")
    with repo.commit("main", "again") as tx:
        tx.table("orders").insert([{"id": 3, "qty": 7, "note": "again"}])
    return repo


def told(found: list[Any]) -> list[tuple[Any, ...]]:
    return [(e.commit.message, e.change) for e in found]


def test_a_row_that_came_changed_went_and_came_again(shop: ab.Repository) -> None:
    found = shop.history("orders", {"id": 3})
    assert told(found) == [("again", "insert"), ("delete", "delete"), ("update", "update"), ("make", "insert")]
    again, delete, update, make = found
    assert (again.before, again.after) == (None, {"id": 3, "qty": 7, "note": "again"})
    assert (delete.before, delete.after, delete.columns) == ({"id": 3, "qty": 13, "note": None}, None, ())
    assert (update.before, update.after) == ({"id": 3, "qty": 3, "note": None}, {"id": 3, "qty": 13, "note": None})
    assert (update.columns, make.columns) == (("qty",), ())
    assert update.commit == shop.show("main~2")


def test_a_row_of_a_table_that_was_dropped_and_came_back(shop: ab.Repository) -> None:
    before = shop.history("orders", 2)
    with shop.commit("main", "drop") as tx:
        tx.table("orders").drop()
    shop.revert("main", message="undrop")
    found = shop.history("orders", 2)
    assert told(found) == [("undrop", "insert"), ("drop", "delete"), *told(before)]
    assert (found[1].before, found[1].after) == ({"id": 2, "qty": 12, "note": None}, None)
    assert shop.history("orders", 77) == []


def test_a_key_may_be_given_plainly_and_at_any_ref(shop: ab.Repository) -> None:
    assert told(shop.history("orders", 3, at="main~1")) == told(shop.history("orders", 3))[1:]
    assert told(shop.history("orders", 0)) == [("make", "insert")]
    assert told(shop.history("orders", 3, limit=2)) == [("again", "insert"), ("delete", "delete")]
    assert told(shop.history("orders", 3, author="bob")) == [("update", "update")]
    assert shop.history("orders", 3, limit=0) == []


def test_an_unknown_key_has_no_history(shop: ab.Repository) -> None:
    assert shop.history("orders", 77) == []
    with pytest.raises(ab.InvalidRequest):
        shop.history("orders", {"qty": 3})
    with pytest.raises(ab.NotFound):
        shop.history("order", 3)


def test_the_history_of_a_table_counts_rows(shop: ab.Repository) -> None:
    found = shop.history("orders")
    assert [(e.commit.message, e.inserted, e.updated, e.deleted) for e in found] == [
        ("again", 1, 0, 0),
        ("delete", 0, 0, 1),
        ("update", 0, 2, 0),
        ("make", 4, 0, 0),
    ]
    assert [e.commit.message for e in shop.history("orders", author="bob")] == ["update"]
    assert [e.commit.message for e in shop.history("orders", limit=1)] == ["again"]
    assert found[-1].operations == ("create",)


def test_a_dropped_table_still_has_a_history(shop: ab.Repository) -> None:
    with shop.commit("main", "drop") as tx:
        tx.table("orders").drop()
    assert [e.commit.message for e in shop.history("orders")][:2] == ["drop", "again"]


def test_renames_dropped_columns_and_wider_types(shop: ab.Repository) -> None:
    with shop.commit("main", "shape") as tx:
        tx.create_namespace("sales")
        table = tx.table("orders")
        table.rename_column("id", "select")
        table.alter_column("select", type="bigint")
        table.add_column("price", "int", default="7")
        table.rename("sales.orders")
    with shop.commit("main", "price") as tx:
        tx.table("sales.orders").update({"price": 8, "note": "'soon gone'"}, where="`select` = 2")
    with shop.commit("main", "drop") as tx:
        tx.table("sales.orders").drop_column("note")
    found = shop.history("sales.orders", {"select": 2})
    assert told(found) == [("price", "update"), ("update", "update"), ("make", "insert")]
    assert found[0].before == {"select": 2, "qty": 12, "note": None, "price": 7}
    assert found[0].columns == ("note", "price")
    assert found[1].after == {"id": 2, "qty": 12, "note": None}
    assert shop.history("sales.orders", {"select": 5_000_000_000}) == []


def test_a_merge_names_the_commit_that_made_the_change(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "theirs") as tx:
        tx.table("orders").update({"qty": "qty + 100"}, where="id IN (0, 1)")
    with shop.commit("main", "ours") as tx:
        tx.table("orders").update({"qty": "qty + 1000"}, where="id = 1")
        tx.table("orders").update({"note": "'ours'"}, where="id = 0")
    shop.merge("dev", into="main", message="merge", rules={"orders.qty": "sum"})
    assert told(shop.history("orders", 0)) == [("ours", "update"), ("theirs", "update"), ("make", "insert")]
    met = shop.history("orders", 1)
    assert told(met) == [("merge", "update"), ("ours", "update"), ("theirs", "update"), ("make", "insert")]
    assert met[0].columns == ("qty",)
    assert met[0].after["qty"] == 1101  # type: ignore[index]
    found = shop.history("orders")
    # Two statements on keys of their own are two objects: one of them met.
    assert [(e.commit.message, e.updated) for e in found[:3]] == [
        ("merge", 1),
        ("ours", 2),
        ("theirs", 2),
    ]


def test_a_merge_that_only_links_is_not_told(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "theirs") as tx:
        tx.table("orders").update({"qty": 5}, where="id = 0")
        tx.create_table("more", ROWS, schema=SCHEMA, key="id")
    with shop.commit("main", "ours") as tx:
        tx.table("orders").update({"qty": 6}, where="id = 1")
    shop.merge("dev", into="main", message="merge")
    assert [e.commit.message for e in shop.history("orders")][:2] == ["ours", "theirs"]
    assert [e.commit.message for e in shop.history("more")] == ["theirs"]
    assert told(shop.history("more", 2)) == [("theirs", "insert")]


def test_a_row_is_followed_to_where_the_table_had_another_key(shop: ab.Repository) -> None:
    with shop.commit("main", "key") as tx:
        tx.table("orders").set_key(["qty", "id"])
    with shop.commit("main", "later") as tx:
        tx.table("orders").update({"note": "'x'"}, where="id = 2")
    found = shop.history("orders", {"id": 2, "qty": 12})
    assert told(found) == [("later", "update"), ("update", "update"), ("make", "insert")]
    assert [e.commit.message for e in shop.history("orders")][:2] == ["later", "key"]


def test_a_row_is_followed_to_where_the_table_had_no_key(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    with repo.commit("main", "change") as tx:
        tx.table("t").update({"b": 3}, where="a = 2")
    with pytest.raises(ab.InvalidRequest, match="no key"):
        repo.history("t", {"a": 2})
    assert [(e.commit.message, e.updated) for e in repo.history("t")] == [
        ("change", 1),
        ("make", 0),
    ]
    with repo.commit("main", "key") as tx:
        tx.table("t").set_key(["a"])
    assert told(repo.history("t", 2)) == [("change", "update"), ("make", "insert")]
    assert told(repo.history("t", 1)) == [("make", "insert")]


def test_views_change_nothing(shop: ab.Repository) -> None:
    before = [shop.history("orders", i) for i in range(4)]
    shop.optimize("orders")
    assert [shop.history("orders", i) for i in range(4)] == before


def test_an_empty_table_has_the_commit_that_made_it(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int"}, key="id")
    assert [(e.commit.message, e.inserted) for e in repo.history("t")] == [("make", 0)]
    assert repo.history("t", 1) == []


def test_only_objects_that_may_hold_the_key_are_read(duck: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", [{"id": i, "a": 0} for i in range(100)], key="id")
    for low in range(0, 100, 10):
        with duck.commit("main", f"from {low}") as tx:
            tx.table("t").update({"a": low + 1}, where="id >= :low AND id < :high", args={"low": low, "high": low + 10})
    read: set[str] = set()
    access = type(duck._ctx).access

    def seen(ctx: Any, layers: Any, pending: Any = None) -> Any:
        read.update(x.object.id for x in layers if x.object.kind == "update")
        return access(ctx, layers, pending)

    monkeypatch.setattr(type(duck._ctx), "access", seen)
    assert told(duck.history("t", 55)) == [("from 50", "update"), ("make", "insert")]
    assert len(read) == 1


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.more) for n in (2, 3, 4))])
def test_random_histories_with_merges(duck: ab.Repository, seed: int) -> None:
    graph = grown(duck, random.Random(seed))
    for key in range(6):
        found = [e.commit.hash for e in duck.history("t", key)]
        assert len(set(found)) == len(found)
        assert set(found) == row_commits(graph, key)
