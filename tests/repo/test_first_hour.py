"""What people see of objects at a prompt, and what they ask of them first."""

from __future__ import annotations

from typing import Any

import pandas
import pytest

import anabranch as ab


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "load orders", author="ann") as tx:
        tx.create_table("orders", [{"id": 1, "item": "tea", "qty": 2}, {"id": 2, "item": "mug", "qty": 1}], key="id")
    with duck.commit("main", "more tea", author="bob") as tx:
        tx.table("orders").update({"qty": "qty + 1"}, where="id = 1")
    return duck


def test_a_prompt_shows_commits_branches_merges_and_schemas_in_a_line(shop: ab.Repository) -> None:
    top = shop.log(limit=1)[0]
    assert repr(top).startswith(f"Commit(main/2 {top.hash[:10]} 'more tea' by bob, 20")
    assert repr(shop.branch("dev")) == f"Branch('dev' at {top.hash[:10]})"
    assert repr(shop.merge("dev", into="main")).startswith("MergeResult(up to date, Commit(main/2 ")
    assert repr(shop.table("orders").schema) == "Schema(id bigint not null, item string, qty bigint; key id)"
    assert all(len(repr(x)) < 160 for x in (shop, top, shop.find_branch("main")))


def test_a_notebook_shows_the_branches_and_tables_of_a_repository(shop: ab.Repository) -> None:
    drawn = shop._repr_html_()
    assert "orders" in drawn
    assert "main" in drawn


def test_a_function_is_called_again_where_others_changed_the_same_row(shop: ab.Repository) -> None:
    calls = []

    def write(tx: ab.Transaction) -> None:
        calls.append(tx.table("orders").get(1)["qty"])
        if len(calls) == 1:
            with shop.commit("main", "faster") as other:
                other.table("orders").update({"qty": 10}, where="id = 1")
        tx.table("orders").update({"qty": calls[-1] + 1}, where="id = 1")

    made = shop.commit("main", "one more", retry=3)(write)
    assert made is not None
    assert calls == [3, 10]
    assert shop.table("orders").get(1)["qty"] == 11
    calls.clear()
    with pytest.raises(ab.BranchMoved):
        shop.commit("main", "no second try")(write)
    with pytest.raises(ab.InvalidRequest, match="can't be run again"), shop.commit("main", "x", retry=1):
        pass


def test_blame_tells_of_one_column_and_of_so_many_rows(shop: ab.Repository) -> None:
    told = shop.blame("orders", column="item", limit=1).rows()
    assert [(entry.key, entry.commit.message, list(entry.cells)) for entry in told] == [
        ({"id": 1}, "load orders", ["item"])
    ]
    assert [e.commit.message for e in shop.blame("orders", column="qty")] == ["more tea", "load orders"]
    assert shop.blame("orders", limit=1).arrow().num_rows == 1
    with pytest.raises(ab.NotFound, match="prize"):
        shop.blame("orders", column="prize")


def test_changes_stop_at_the_limit(shop: ab.Repository) -> None:
    assert [row["_change_type"] for row in shop.changes("orders", limit=3).arrow().to_pylist()] == [
        "insert",
        "insert",
        "update_preimage",
    ]


def test_a_text_without_quotes_is_hinted_at(shop: ab.Repository) -> None:
    with pytest.raises(ab.NotFound, match="no column 'coffee'") as caught, shop.commit("main", "x") as tx:
        tx.table("orders").update({"item": "coffee"}, where="id = 1")
    assert "\"'coffee'\"" in str(caught.value.hint)


def test_what_is_given_in_a_wrong_form_is_told_with_what_is_right(shop: ab.Repository) -> None:
    odd: Any = [1]
    text: Any = "qty = 1"
    with shop.commit("main", "odd") as tx:
        with pytest.raises(
            ab.InvalidRequest, match=r"where= a list is no expression of SQL \(write it as text, such as"
        ):
            tx.table("orders").delete(odd)
        with pytest.raises(
            ab.InvalidRequest, match=r"a dict was expected, this is a str \(such as update\(\{'qty': 'qty \+ 1'\}"
        ):
            tx.table("orders").update(text)
        with pytest.raises(ab.InvalidRequest, match=r"a Series \(give it as \.to_frame\(\)\)"):
            tx.create_table("t", pandas.Series([1], name="x"))
        for name in ("a", "A"):
            with pytest.raises(ab.InvalidRequest, match=f"columns 'a' and '{name}' of the rows have the same name"):
                tx.create_table("t", pandas.DataFrame([[1, 2]], columns=["a", name]))
    for ask in (lambda: shop.sql("SELECT :a", args=odd), lambda: shop.table("orders", where="id = :a", args=odd)):
        with pytest.raises(ab.InvalidRequest, match="args= is a list, a dict was expected"):
            ask()
    with pytest.raises(ab.InvalidRequest, match=r"by name, not by place: SQL has a `\?` \(write :name"):
        shop.sql("SELECT * FROM orders WHERE id = ?")
    with pytest.raises(ab.NotFound, match="number 1 of main is called main/1"):
        shop.table("orders", at="1").rows()


def test_the_history_of_a_row_shows_the_cells_that_changed(shop: ab.Repository) -> None:
    newest, first = shop.history("orders", key=1)
    assert (newest.cells_before, newest.cells_after) == ({"qty": 2}, {"qty": 3})
    assert (first.cells_before, first.cells_after) == (None, {"id": 1, "item": "tea", "qty": 2})
    drawn = shop.history("orders", key=1)._repr_html_()  # type: ignore[attr-defined]
    assert "qty: 2" in drawn
    assert "qty: 3" in drawn
    assert drawn.count("item: tea") == 1


def test_a_statement_that_wrote_shows_what_it_did(shop: ab.Repository) -> None:
    wrote = shop.sql("INSERT INTO orders VALUES (3, 'pot', 5), (4, 'cup', 6)")
    assert repr(wrote) == "SqlResult(INSERT, 2 inserted, 0 updated, 0 deleted)"
    assert repr(shop.sql("SELECT id, qty FROM orders")) == "SqlResult(SELECT, id, qty)"


def test_a_misspelt_where_of_an_update_is_told(shop: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match=r"found 'wher'(?s:.*)did you mean WHERE\?"):
        shop.sql("UPDATE orders SET qty = 5 wher id = 2")
