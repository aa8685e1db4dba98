"""A name before a column in a condition is its table's, or a column that the rest reaches into; else it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab

PLACE = "struct<id: int, qty: int>"


def made(repo: ab.Repository) -> ab.Repository:
    with repo.commit("main", "rows") as tx:
        tx.create_namespace("shop")
        rows = [{"id": n, "qty": n, "place": {"id": 9 - n, "qty": 7}} for n in range(5)]
        tx.create_table("shop.orders", rows, key="id", schema={"id": "int not null", "qty": "int", "place": PLACE})
    with repo.commit("main", "a change") as tx:
        tx.table("shop.orders").update({"qty": "qty + 10"}, where="id = 3")
    return repo


def updated(repo: ab.Repository, where: str) -> Any:
    with repo.commit("main", "never") as tx:
        tx.table("shop.orders").update({"qty": "0"}, where=where)


def deleted(repo: ab.Repository, where: str) -> Any:
    with repo.commit("main", "never") as tx:
        tx.table("shop.orders").delete(where=where)


def assigned(repo: ab.Repository, where: str) -> Any:
    with repo.commit("main", "never") as tx:
        tx.table("shop.orders").update({"qty": where.partition(" ")[0]})


ASKED: dict[str, Callable[[ab.Repository, str], Any]] = {
    "rows": lambda repo, where: repo.table("shop.orders", where=where).rows(),
    "count": lambda repo, where: repo.table("shop.orders", where=where).count(),
    "changes": lambda repo, where: repo.changes("shop.orders", where=where).rows(),
    "blame": lambda repo, where: repo.blame("shop.orders", where=where).rows(),
    "update": updated,
    "value": assigned,
    "delete": deleted,
}


@pytest.mark.contract
@pytest.mark.parametrize("verb", ASKED)
def test_a_qualifier_that_names_nothing_is_refused(repo: ab.Repository, verb: str) -> None:
    made(repo)
    head = repo.show("main").hash
    for where in ("o.id = 1", "o.qty = 1", "other.id = 1", "shop.orders.id = 1", "shop.id = 1"):
        name = where.partition(" ")[0]
        with pytest.raises(ab.NotFound, match=f"there is no column '{name}'") as refused:
            ASKED[verb](repo, where)
        assert refused.value.hint
    assert repo.show("main").hash == head


@pytest.mark.contract
def test_a_table_and_a_column_may_come_before_a_name(repo: ab.Repository) -> None:
    made(repo)
    expected = {
        "orders.id = 1": [1],
        "ORDERS.qty = 13": [3],
        "`orders`.id IN (1, 2)": [1, 2],
        "place.id = 7": [2],
        "place.qty = 7": [0, 1, 2, 3, 4],
        "place.id = 7 AND id > 1": [2],
        "place.id IN (7, 8)": [1, 2],
    }
    for where, ids in expected.items():
        assert sorted(row["id"] for row in repo.table("shop.orders", where=where).rows()) == ids, where


@pytest.mark.contract
def test_a_part_of_a_value_that_is_called_as_the_key_is_no_key(repo: ab.Repository) -> None:
    made(repo)
    with repo.commit("main", "by a part") as tx:
        assert tx.table("shop.orders").update({"qty": "100"}, where="place.id = 7").updated == 1
        assert tx.table("shop.orders").delete(where="place.id = 9").deleted == 1
    assert {row["id"]: row["qty"] for row in repo.table("shop.orders").rows()} == {1: 1, 2: 100, 3: 13, 4: 4}


@pytest.mark.contract
def test_sql_refuses_another_tables_name_and_takes_its_own(repo: ab.Repository) -> None:
    made(repo)
    for text in ("UPDATE shop.orders AS o SET qty = 1 WHERE p.id = 1", "DELETE FROM shop.orders WHERE o.id = 1"):
        with pytest.raises(ab.NotFound, match=r"there is no column '[op]\.id'"):
            repo.sql(text)
    assert repo.sql("UPDATE shop.orders AS o SET qty = 1 WHERE o.id = 4").counts.updated == 1
    assert repo.sql("DELETE FROM shop.orders WHERE orders.id = 4").counts.deleted == 1
