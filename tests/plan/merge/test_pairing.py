"""Which tables and columns of two sides are one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.model.ids import ThingId
from anabranch.model.schema import Schema, make_schema, parse_columns
from anabranch.plan.merge.pairing import (
    Placed,
    TablePair,
    pair_tables,
    paired,
    paired_by_name,
    was_hidden,
    were_added_otherwise,
)
from anabranch.plan.schema_change import with_column, with_name, without_column


def schema(**columns: str) -> Schema:
    return make_schema(parse_columns({"id": "int", **columns}), ["id"])


def adding(start: Schema, name: str, type_: str = "int") -> Schema:
    return with_column(start, *parse_columns({name: type_}))


def matches(before: Schema, after: Schema) -> dict[str, str | None]:
    found = {c.name: before.written_as(c) for c in after}
    return {name: was.name if was else None for name, was in found.items()}


# --- columns ---


def test_columns_are_one_by_their_ids_whatever_they_are_called() -> None:
    before = schema(a="int")
    after = with_name(before, before.column("a"), "b")
    assert matches(before, paired(before, after, before)) == {"id": "id", "b": "a"}


def test_a_column_that_both_sides_added_alike_is_one() -> None:
    base = schema()
    before, after = adding(base, "w"), adding(base, "W")
    assert matches(before, after) == {"id": "id", "W": None}
    assert matches(before, paired(before, after, base)) == {"id": "id", "W": "w"}


def test_columns_of_one_name_are_two_if_no_type_holds_the_other_or_one_side_made_it_again() -> None:
    base = schema(a="int")
    other_type = adding(base, "w", "string"), adding(base, "w", "int")
    assert matches(other_type[0], paired(*other_type, base))["w"] is None
    again = adding(without_column(base, base.column("a")), "a")
    assert matches(base, paired(base, again, base)) == {"id": "id", "a": None}


@pytest.mark.parametrize(
    ("type_", "one", "other", "are_equal"),
    [
        ("int", None, "5", False),
        ("int", "5", "5", True),
        ("decimal(10,2)", "1.0", "1.00", True),
        ("decimal(10,2)", "1.0", "1.01", False),
        ("string", "1.0", "1.00", False),
        ("array<decimal(10,2)>", '["1.0",null]', '["1.00",null]', True),
        ("map<decimal(3,1),int>", '[["1","2"]]', '[["1.0","2"]]', True),
        ("struct<d:decimal(3,1),s:string>", '{"d":"1","s":"1"}', '{"d":"1.0","s":"1.0"}', False),
    ],
)
def test_columns_that_both_sides_added_are_told_apart_by_the_values_of_their_defaults(
    type_: str, one: str | None, other: str | None, are_equal: bool
) -> None:
    base = schema()
    sides = [adding(base, "w", type_), adding(base, "w", type_)]
    before, after = (filled(side, text) for side, text in zip(sides, (one, other), strict=True))
    found = paired(before, after, base)
    assert matches(before, found)["w"] == "w"
    assert were_added_otherwise(before, found) is not are_equal


def filled(schema: Schema, text: str | None) -> Schema:
    """A schema whose last column shows a default in older rows."""
    return replace(schema, columns=(*schema.columns[:-1], replace(schema.columns[-1], initial_default=text)))


def test_columns_of_a_replaced_table_are_one_by_name_if_one_type_holds_the_other() -> None:
    before, after = schema(a="int", b="bigint", c="string", d="int"), schema(A="bigint", b="int", c="int", e="int")
    found = paired_by_name(before, after)
    assert matches(before, found) == {"id": "id", "A": "a", "b": "b", "c": None, "e": None}
    assert [c.id for c in found] == [c.id for c in after]


def test_an_id_counts_more_than_a_name() -> None:
    before = schema(a="int", b="int")
    swapped = replace(before, columns=tuple(replace(c, name={"a": "b", "b": "a"}.get(c.name, c.name)) for c in before))
    assert matches(before, paired_by_name(before, swapped)) == {"id": "id", "b": "a", "a": "b"}


def test_a_column_was_hidden_if_it_went_out_of_sight_and_is_shown_in_the_end() -> None:
    base = schema(a="int")
    without = without_column(base, base.column("a"))
    assert was_hidden([[base, without, base]], base)
    assert was_hidden([[base], [base, without]], base)
    assert not was_hidden([[base, without]], without)
    assert not was_hidden([[without, base]], base)
    assert not was_hidden([[base, adding(base, "w")]], base)


# --- tables ---


def placed(*tables: tuple[str, str, tuple[str, ...]] | tuple[str, str]) -> dict[ThingId, Placed]:
    found = {}
    for id_, name, *united in tables:
        found[ThingId(id_)] = Placed(name, frozenset(map(ThingId, (id_, *(united[0] if united else ())))))
    return found


def pairs(before: dict[ThingId, Placed], after: dict[ThingId, Placed]) -> set[tuple[str | None, str | None, bool]]:
    return {(p.before, p.after, p.replaced) for p in pair_tables(before, after)}


def test_tables_are_one_by_their_ids() -> None:
    assert pairs(placed(("1", "t"), ("2", "u")), placed(("1", "v"), ("2", "u"))) == {
        ("1", "1", False),
        ("2", "2", False),
    }


def test_tables_that_a_merge_united_are_one() -> None:
    assert pairs(placed(("1", "t")), placed(("2", "t", ("1",)))) == {("1", "2", False)}
    assert pairs(placed(("2", "t", ("1",))), placed(("1", "t"))) == {("2", "1", False)}


def test_a_table_takes_the_place_of_another_under_its_name() -> None:
    assert pairs(placed(("1", "t")), placed(("2", "t"))) == {("1", "2", True)}
    assert pairs(placed(("1", "t")), placed(("2", "u"))) == {("1", None, False), (None, "2", False)}


def test_a_table_that_is_still_there_under_another_name_has_no_successor() -> None:
    assert pairs(placed(("1", "t")), placed(("1", "old"), ("2", "t"))) == {("1", "1", False), (None, "2", False)}


def test_a_table_that_took_a_name_by_a_rename_is_the_one_that_it_was() -> None:
    before, after = placed(("1", "a"), ("2", "b")), placed(("2", "a"))
    assert pair_tables(before, after) == (TablePair(ThingId("2"), ThingId("2")), TablePair(ThingId("1"), None))
