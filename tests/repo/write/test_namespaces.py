"""Namespaces and names: made, renamed with what is in them, dropped, with properties; also in open commits."""

from __future__ import annotations

import pytest

import anabranch as ab

ROW = [{"id": 1}]


def names(repo: ab.Repository, at: str = "main") -> list[str]:
    return [t.name for t in repo.tables(at=at)]


@pytest.fixture
def sales(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "make") as tx:
        tx.create_namespace("sales", {"owner": "ann"})
        tx.create_namespace("sales.eu")
        tx.create_table("sales.orders", ROW, key="id")
        tx.create_table("sales.eu.orders", ROW, key="id")
        tx.create_table("plain", ROW, key="id")
    return duck


def test_a_renamed_namespace_takes_along_what_is_in_it(sales: ab.Repository) -> None:
    with sales.commit("main", "rename") as tx:
        opened = tx.table("sales.orders")
        tx.rename_namespace("sales", "shop")
        assert opened.name == "shop.orders"
        opened.insert([{"id": 2}])
        tx.table("shop.eu.orders").insert([{"id": 2}, {"id": 3}])
    assert names(sales) == ["plain", "shop.eu.orders", "shop.orders"]
    assert sales.table("shop.eu.orders").count() == 3
    assert names(sales, "main~1") == ["plain", "sales.eu.orders", "sales.orders"]
    assert sales.namespaces() == ["shop", "shop.eu"]
    assert [c.message for c in sales.log(table="shop.orders")] == ["rename", "make"]


def test_a_namespace_can_move_below_another_but_not_into_itself(sales: ab.Repository) -> None:
    with sales.commit("main", "move") as tx:
        tx.create_namespace("old")
        with pytest.raises(ab.InvalidRequest, match="into itself"):
            tx.rename_namespace("sales", "sales.eu.sales")
        tx.rename_namespace("sales.eu", "old.eu")
        with pytest.raises(ab.AlreadyExists):
            tx.rename_namespace("sales", "plain")
    assert names(sales) == ["old.eu.orders", "plain", "sales.orders"]


def test_a_namespace_with_something_in_it_is_dropped_only_with_it(sales: ab.Repository) -> None:
    with sales.commit("main", "drop") as tx:
        with pytest.raises(ab.InvalidRequest, match="not empty"):
            tx.drop_namespace("sales")
        tx.drop_namespace("sales", cascade=True)
        with pytest.raises(ab.NotFound):
            tx.table("sales.orders")
    assert (names(sales), sales.namespaces()) == (["plain"], [])
    assert sales.table("sales.eu.orders", at="main~1").count() == 1
    with pytest.raises(ab.NotFound):
        sales.table("sales.orders")


def test_an_empty_namespace_is_dropped_and_made_again(sales: ab.Repository) -> None:
    with sales.commit("main", "drop") as tx:
        tx.drop_table("sales.eu.orders")
        tx.drop_namespace("sales.eu")
        tx.create_namespace("sales.eu")
    assert sales.namespaces() == ["sales", "sales.eu"]
    assert sales.tables(namespace="sales.eu") == []


def test_properties_of_a_namespace(sales: ab.Repository) -> None:
    with sales.commit("main", "set") as tx:
        tx.set_namespace_properties("sales", {"region": "eu"})
        tx.unset_namespace_properties("sales", ["owner"])
    assert sales.namespace_properties("sales") == {"region": "eu"}
    assert sales.namespace_properties("sales", at="main~1") == {"owner": "ann"}
    with pytest.raises(ab.NotFound):
        sales.namespace_properties("nothing")


def test_tables_are_renamed_moved_and_swapped(sales: ab.Repository) -> None:
    with sales.commit("main", "swap") as tx:
        one, two = tx.table("plain"), tx.table("sales.orders")
        one.rename("tmp")
        two.rename("plain")
        one.rename("sales.orders")
        one.insert([{"id": 5}])
    assert sales.table("sales.orders").count() == 2
    assert sales.table("plain").count() == 1
    with sales.commit("main", "errors") as tx:
        with pytest.raises(ab.AlreadyExists):
            tx.table("plain").rename("sales.orders")
        with pytest.raises(ab.NotFound):
            tx.table("plain").rename("nowhere.plain")
        tx.table("plain").rename("plain")
    assert tx.commit is None


def test_a_rename_that_is_taken_back_is_no_change(sales: ab.Repository) -> None:
    with sales.commit("main", "nothing") as tx:
        tx.table("plain").rename("other")
        tx.table("other").rename("plain")
        tx.rename_namespace("sales", "shop")
        tx.rename_namespace("shop", "sales")
        tx.create_namespace("passing")
        tx.drop_namespace("passing")
    assert tx.commit is None


def test_open_commits_keep_renames_drops_and_namespaces(sales: ab.Repository) -> None:
    opened = sales.start("main", message="later")
    opened.rename_namespace("sales", "shop")
    opened.table("plain").rename("shop.plain")
    opened.create_table("plain", ROW, key="id")
    opened.table("shop.orders").add_check("positive", "id > 0")
    opened.drop_table("shop.eu.orders")
    (again,) = sales.open_commits()
    assert again.table("shop.plain").count() == 1
    assert again.table("shop.orders").checks == {"positive": "id > 0"}
    with pytest.raises(ab.NotFound):
        again.table("sales.orders")
    again.table("plain").insert([{"id": 2}])
    again.drop_namespace("shop.eu")
    assert again.finish() is not None
    assert names(sales) == ["plain", "shop.orders", "shop.plain"]
    assert sales.table("plain").count() == 2
    assert sales.namespaces() == ["shop"]
    with pytest.raises(ab.InvalidRequest, match="check 'positive'"), sales.commit("main", "bad") as tx:
        tx.table("shop.orders").insert([{"id": 0}])


def test_a_table_made_in_a_namespace_that_another_writer_renames_follows_it(sales: ab.Repository) -> None:
    with pytest.raises(ab.BranchMoved), sales.commit("main", "create") as tx:
        tx.create_table("sales.new", ROW, key="id")
        with sales.commit("main", "rename") as other:
            other.rename_namespace("sales", "shop")
    assert names(sales) == ["plain", "shop.eu.orders", "shop.orders"]


@pytest.mark.parametrize("made", ["sales.us.new", "sales.us.eu.orders"])
def test_what_others_put_into_a_namespace_is_not_dropped_with_it(sales: ab.Repository, made: str) -> None:
    with sales.commit("main", "make") as tx:
        tx.create_namespace("sales.us")
    with pytest.raises(ab.BranchMoved, match=r"others changed 'sales\.us'"), sales.commit("main", "drop") as tx:
        tx.drop_namespace("sales.us")
        with sales.commit("main", "fill") as other:
            if made == "sales.us.new":
                other.create_table(made, ROW, key="id")
            else:
                other.rename_namespace("sales.eu", "sales.us.eu")
    assert made in names(sales)


def test_two_writers_never_put_namespaces_into_each_other(sales: ab.Repository) -> None:
    with sales.commit("main", "make") as tx:
        tx.create_namespace("shop")
        tx.create_table("shop.orders", ROW, key="id")
    with pytest.raises(ab.BranchMoved, match="shop"), sales.commit("main", "one way") as tx:
        tx.rename_namespace("shop", "sales.eu.shop")
        with sales.commit("main", "the other") as other:
            other.rename_namespace("sales", "shop.sales")
    assert names(sales) == ["plain", "shop.orders", "shop.sales.eu.orders", "shop.sales.orders"]
