"""Names of tables and namespaces: found whatever their case, as in Spark; no two that differ in case only are made."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound


@pytest.fixture
def orders(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "make") as tx:
        tx.create_namespace("Sales")
        tx.create_table("Sales.Orders", [{"id": 1}], key="id")
        tx.create_table("größe", [{"id": 1}], key="id")
    return duck


def test_a_table_is_found_whatever_the_case(orders: ab.Repository) -> None:
    assert orders.table("SALES.orders").head() == [{"id": 1}]
    assert orders.table("GRÖSSE".replace("SS", "ß")).count() == 1
    assert orders.sql("SELECT id FROM sales.ORDERS").rows() == [{"id": 1}]
    assert [c.message for c in orders.log(table="sales.orders")] == ["make"]
    assert [t.name for t in orders.tables(namespace="sales")] == ["Sales.Orders"]


def test_what_is_written_goes_by_the_name_that_the_table_has(orders: ab.Repository) -> None:
    with orders.commit("main", "more") as tx:
        tx.table("sales.ORDERS").insert([{"id": 2}])
        tx.table("SALES.orders").insert([{"id": 3}])
        assert list(tx.counts) == ["Sales.Orders"]
    assert list(orders.show("main").tables) == ["Sales.Orders"]
    assert {t.name for t in orders.tables()} == {"Sales.Orders", "größe"}
    assert orders.table("Sales.Orders").count() == 3
    assert [t.name for t in orders.diff("main~1", "main", table="sales.orders")] == ["Sales.Orders"]


def test_no_second_name_that_differs_in_case_only(orders: ab.Repository) -> None:
    with orders.commit("main", "more") as tx:
        for name in ("sales.orders", "SALES.Orders"):
            with pytest.raises(AlreadyExists, match=r"there is a table or namespace"):
                tx.create_table(name, [{"id": 2}], key="id")
        with pytest.raises(AlreadyExists):
            tx.create_namespace("SALES")
        tx.create_table("sales.Items", [{"id": 2}], key="id")
        with pytest.raises(AlreadyExists):
            tx.create_table("Sales.ITEMS", [{"id": 2}], key="id")
    assert {t.name for t in orders.tables()} == {"Sales.Orders", "Sales.Items", "größe"}


def test_a_rename_may_change_the_case(orders: ab.Repository) -> None:
    with orders.commit("main", "rename") as tx:
        tx.table("sales.orders").rename("Sales.orders")
        assert tx.table("Sales.ORDERS").count() == 1
    assert {t.name for t in orders.tables()} == {"Sales.orders", "größe"}


def test_a_dropped_name_is_free_in_any_case(orders: ab.Repository) -> None:
    with orders.commit("main", "drop") as tx:
        tx.table("sales.orders").drop()
        with pytest.raises(NotFound):
            tx.table("Sales.Orders")
        tx.create_table("Sales.ORDERS", [{"id": 7}], key="id")
    assert orders.table("sales.orders").head() == [{"id": 7}]


def test_two_names_that_a_merge_brought_are_told_apart_by_their_case(duck: ab.Repository) -> None:
    with duck.commit("main", "start") as tx:
        tx.create_table("other", [{"id": 0}], key="id")
    duck.branch("dev")
    for branch, name in (("main", "orders"), ("dev", "Orders")):
        with duck.commit(branch, "make") as tx:
            tx.create_table(name, [{"id": 1, "at": branch}], key="id")
    duck.merge("dev", into="main")
    assert duck.table("orders").head()[0]["at"] == "main"
    assert duck.table("Orders").head()[0]["at"] == "dev"
    with pytest.raises(InvalidRequest, match="'ORDERS' may be 'Orders' and 'orders'"):
        duck.table("ORDERS")
