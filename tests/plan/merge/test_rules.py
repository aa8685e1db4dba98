"""Rules as data: how they are read, what is refused, and which one wins."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidRequest
from anabranch.model.schema import Schema, make_schema, parse_columns
from anabranch.model.types import DataType
from anabranch.plan.merge.rules import (
    RULE_WORDS,
    Rule,
    Rules,
    check_properties_of,
    check_strictness,
    read_rule,
    read_rules,
    with_rules_moved,
)

ORDERS = make_schema(parse_columns({"id": "bigint", "price": "decimal(9,2)", "tags": "array<string>", "note": "string", "m": "map<string,int>"}), ["id"])  # fmt: skip # noqa: E501
TABLES = {"orders": ORDERS, "sales.orders": ORDERS, "sales.eu.orders": ORDERS}
INT = DataType("int")


def read(given: dict[str, str], *sides: dict[str, Schema]) -> Rules:
    return read_rules(given, sides or (TABLES, TABLES))


@pytest.mark.parametrize("word", RULE_WORDS)
def test_a_word_is_a_rule_whatever_its_case(word: str) -> None:
    assert read_rule(f" {word.upper()} ", "*").word == word


@pytest.mark.parametrize("text", ["greatest(ours, theirs)", "ours || theirs", "base", "NULL", "0", "expression(1)"])
def test_any_other_text_is_an_expression(text: str) -> None:
    rule = read_rule(text, "*")
    assert (rule.word, rule.expression) == ("expression", text)


@pytest.mark.parametrize(("text", "hint"), [("thiers", "theirs"), ("sums", "sum"), ("expression", "SQL"), ("", "SQL")])
def test_one_word_that_is_no_rule_is_refused(text: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_rule(text, "orders")
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("order", "did you mean 'orders'?"),
        ("ordres.price", "did you mean 'orders'?"),
        ("orders.prise", "did you mean 'price'?"),
        ("sales.orders.prise", "did you mean 'price'?"),
        ("zzz", "tables: orders"),
        ("orders.zzz", "columns: id, price"),
        ("sales", "tables: orders"),
    ],
)
def test_a_rule_for_a_table_or_column_that_is_not_there_is_refused(name: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read({name: "ours"})
    assert hint in (caught.value.hint or "")


def test_a_rule_may_speak_of_what_only_one_side_has() -> None:
    wider = make_schema(parse_columns({"id": "bigint", "extra": "int"}), [])
    assert read({"new": "ours", "orders.extra": "sum"}, {"orders": ORDERS}, {"orders": wider, "new": wider})


@pytest.mark.parametrize(
    ("column", "word"),
    [("note", "sum"), ("tags", "sum"), ("m", "min"), ("m", "max"), ("note", "union"), ("price", "union")],
)
def test_a_rule_that_a_columns_type_can_not_follow_is_refused(column: str, word: str) -> None:
    with pytest.raises(InvalidRequest, match=f"'{word}', which needs"):
        read({f"orders.{column}": word})


@pytest.mark.parametrize(
    ("column", "word"),
    [("price", "sum"), ("id", "sum"), ("note", "min"), ("price", "max"), ("tags", "union"), ("m", "coalesce")],
)
def test_a_rule_that_a_columns_type_can_follow_is_taken(column: str, word: str) -> None:
    found = read({f"orders.{column}": word}).of_column(["orders"], [column], ORDERS.column(column).type, {})
    assert found == Rule(word, None, f"orders.{column}")  # type: ignore[arg-type]


def test_the_longest_name_of_a_table_wins() -> None:
    rules = read({"sales.orders": "ours", "sales.eu.orders.price": "sum"})
    assert list(rules.tables) == ["sales.orders"]
    assert list(rules.columns) == [("sales.eu.orders", "price")]


@pytest.mark.parametrize(
    ("given", "properties", "wanted"),
    [
        ({}, {}, "conflict"),
        ({"*": "ours"}, {}, "ours"),
        ({"*": "ours"}, {"merge.rule": "newest"}, "newest"),
        ({"*": "ours"}, {"merge.rule": "newest", "merge.rule.Price": "max"}, "max"),
        ({"orders": "theirs"}, {"merge.rule.price": "max"}, "theirs"),
        ({"orders": "theirs", "orders.PRICE": "sum"}, {"merge.rule": "newest"}, "sum"),
        ({"sales.orders.price": "sum"}, {}, "conflict"),
        ({"orders": "union", "*": "ours"}, {}, "ours"),
    ],
)
def test_the_nearest_rule_that_fits_wins(given: dict[str, str], properties: dict[str, str], wanted: str) -> None:
    assert read(given).of_column(["orders"], ["price"], INT, properties).word == wanted


def test_the_rule_for_rows_is_the_tables() -> None:
    rules = read({"*": "ours", "orders.price": "sum"})
    assert rules.of_table(["orders"], {}).word == "ours"
    assert rules.of_table(["orders"], {"merge.rule": "newest"}).word == "newest"
    assert read({"orders": "theirs"}).of_table(["orders"], {"merge.rule": "newest"}).word == "theirs"


def test_rules_in_properties_are_checked_like_others() -> None:
    check_properties_of("orders", {"merge.rule": "ours", "merge.rule.price": "sum", "owner": "ann"}, [ORDERS])
    for bad in ({"merge.rule": "thiers"}, {"merge.rule.price": "thiers"}, {"merge.rule.note": "sum"}):
        with pytest.raises(InvalidRequest, match="orders"):
            check_properties_of("orders", bad, [ORDERS])
    check_properties_of("orders", {"merge.rule.nope": "sum"}, [ORDERS])


def test_the_rule_of_a_column_goes_with_it() -> None:
    kept = {"merge.rule": "ours", "merge.rule.Price": "sum", "merge.rule.cost": "max", "owner": "ann"}
    assert with_rules_moved(kept, "price", "cost") == {"merge.rule": "ours", "owner": "ann", "merge.rule.cost": "sum"}
    assert with_rules_moved(kept, "price", None) == {"merge.rule": "ours", "merge.rule.cost": "max", "owner": "ann"}
    assert with_rules_moved(kept, "note", "text") == kept


def test_a_strictness_is_one_of_five() -> None:
    assert check_strictness("row") == "row"
    with pytest.raises(InvalidRequest, match="rows") as caught:
        check_strictness("rows")
    assert caught.value.hint == "did you mean 'row'?"
