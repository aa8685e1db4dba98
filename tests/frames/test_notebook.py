"""What notebooks show: lists that stay lists, and tables in which every text is escaped."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest

import anabranch as ab
from anabranch.model.html import HtmlHeading, Line, cell, table
from anabranch.model.listings import Listing

EVIL = "<script>alert('x')</script>"


class Seen(HTMLParser):
    """What a browser would make of a text: balanced tags, and the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def seen(value: Any) -> Seen:
    return Seen(value._repr_html_())


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", f"load {EVIL}\nand more") as tx:
        rows = [{"id": i, "status": EVIL if i == 1 else "new", "price": float(i)} for i in range(1, 31)]
        tx.create_table("orders", rows, key="id")
    duck.branch("dev")
    with duck.commit("dev", "reprice") as tx:
        tx.table("orders").update({"price": 99.5}, where="id = 1")
        tx.table("orders").insert([{"id": 31, "status": "late", "price": 0.0}])
        tx.table("orders").delete(where="id = 2")
    return duck


def test_no_text_turns_the_rest_of_a_page_around(duck: ab.Repository) -> None:
    turning = "gpj.\u202eexe\u2066"
    with duck.commit("main", turning) as tx:
        tx.create_table(turning.replace(".", ""), [{"id": 1, turning.replace(".", "_"): turning}], key="id")
    name = turning.replace(".", "")
    for value in (duck.log(), duck.table(name), duck.tables(), duck.diff("main~1", "main")[name], duck.show()):
        shown = "".join(seen(value).words)
        assert not {"\u202e", "\u2066"} & set(shown)
        assert "\\u202e" in shown


def test_lists_are_lists_that_notebooks_draw(shop: ab.Repository) -> None:
    shop.tag("v1")
    listed: list[list[Any]] = [
        shop.log("dev"),
        shop.branches(),
        shop.tags(),
        shop.tables(),
        shop.reflog("main"),
        shop.history("orders"),
        shop.history("orders", 1, at="dev"),
    ]
    for found in listed:
        assert isinstance(found, list)
        assert found == list(found)
        assert "table" in seen(found).tags
        assert "script" not in seen(found).tags
    assert "dev/2" in seen(listed[0]).words
    assert f"load {EVIL}" in "".join(seen(listed[0]).words)


def test_a_part_of_a_list_and_a_copy_of_it_are_drawn_too(shop: ab.Repository) -> None:
    found = shop.log("dev")
    assert seen(found[:1]).words.count("dev/2") == 1
    assert found[0].id == "dev/2"
    assert pickle.loads(pickle.dumps(found)) == found
    assert [*found] == found


def test_a_long_list_says_how_much_of_it_is_shown() -> None:
    many = Listing([datetime(2026, 1, 1, tzinfo=UTC)] * 150, ("year",))
    assert "100 of 150 rows shown" in seen(many).words


def test_a_table_shows_its_first_rows_by_key_with_types(shop: ab.Repository) -> None:
    told = seen(shop.table("orders"))
    assert {"id", "bigint", "price", "double", "20 of 30 rows shown"} <= set(told.words)
    assert "script" not in told.tags
    assert "20.0" in told.words
    assert "21.0" not in told.words


def test_a_narrowed_table_says_what_it_knows(shop: ab.Repository) -> None:
    assert "3 rows" in seen(shop.table("orders", limit=3)).words
    assert "20 rows shown; there are more" in seen(shop.table("orders", where="id > 2")).words
    assert "1 row" in seen(shop.table("orders", where="id = 2")).words


def test_a_table_in_a_commit_shows_what_is_written(shop: ab.Repository) -> None:
    with shop.commit("main", "more") as tx:
        tx.table("orders").delete(where="id < 30")
        assert "1 row" in seen(tx.table("orders")).words


def test_a_diff_shows_counts_and_rows_with_old_and_new_cells(shop: ab.Repository) -> None:
    found = shop.diff("main", "dev")
    for drawn in (found._repr_html_(), found["orders"]._repr_html_()):
        told = Seen(drawn)
        assert "1 inserted, 1 updated, 1 deleted, 1 cells" in told.words
        assert {"1.0", " → ", "99.5", "late"} <= set(told.words)
        assert {"del", "ins"} <= told.tags
        assert "script" not in told.tags
        assert drawn.count("rgba(46,160,67") == 2
        assert drawn.count("rgba(248,81,73") == 2
    assert "Nothing differs." in seen(shop.diff("main", "main")).words


def test_a_diff_tells_of_columns_and_namespaces(shop: ab.Repository) -> None:
    with shop.commit("main", "schema") as tx:
        tx.create_namespace("sales")
        tx.table("orders").add_column("note", "string")
    told = "".join(seen(shop.diff("main~1", "main")).words)
    assert "add note" in told
    assert "namespace sales: added" in told


def test_conflicts_show_base_ours_and_theirs(shop: ab.Repository) -> None:
    with shop.commit("main", "ours") as tx:
        tx.table("orders").update({"price": 7.25}, where="id = 1")
    found = shop.start_merge("dev", into="main").conflicts
    for told in (seen(found), seen(found["orders"])):
        assert {"update/update", "price", "1.0", "7.25", "99.5", "1 conflict"} <= set(told.words)
    assert "No conflicts." in seen(shop.preview("main", into="main").conflicts).words


def test_conflicts_of_tables_and_broken_checks_are_shown(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("gone", [{"id": 1}], key="id")
        tx.create_table("kept", [{"id": 1, "a": 1}], key="id")
    duck.branch("dev")
    with duck.commit("main", "ours") as tx:
        tx.table("gone").drop()
        tx.table("kept").add_check("small", "a < 9")
    with duck.commit("dev", "theirs") as tx:
        tx.table("gone").insert([{"id": 2}])
        tx.table("kept").update({"a": 10})
    told = seen(duck.preview("dev", into="main").conflicts)
    assert {"drop/update", "small", "id: 1, a: 10"} <= set(told.words)


def test_changes_and_blame_show_their_first_rows(shop: ab.Repository) -> None:
    told = seen(shop.changes("orders", "main", "dev"))
    assert {"update_preimage", "dev/2", "4 rows"} <= set(told.words)
    assert "20 rows shown; there are more" in seen(shop.changes("orders")).words
    blamed = seen(shop.blame("orders"))
    assert {"_commit_version", "main/1", "20 rows shown; there are more"} <= set(blamed.words)
    assert "script" not in blamed.tags


def test_a_commit_shows_its_facts(shop: ab.Repository) -> None:
    told = seen(shop.show("main"))
    assert {"hash", "main/1", "ann", "orders"} <= set(told.words)
    assert "script" not in told.tags
    assert "provenance" not in told.words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        (True, "true"),
        (b"\x00\xff", "x'00ff'"),
        (Decimal("1E+3"), "1000"),
        ("a\nb\tc\x1b", "a↵b c·"),
        ({"a": [1, None]}, "a: [1, None]"),
        ("x" * 200, "x" * 79 + "…"),
    ],
)
def test_values_are_shown_in_one_line_and_cut(value: Any, shown: str) -> None:
    assert "".join(Seen(cell(value)).words) == shown


def test_names_of_columns_are_escaped() -> None:
    assert Seen(table([HtmlHeading(EVIL, EVIL)], [Line([EVIL])])).words == [EVIL] * 3
