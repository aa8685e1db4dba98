"""Spark SQL's types as text: every spelling that we take, every one that we refuse, and what may be stored in what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType, can_store, parse_type

PLAIN = [
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
]


@pytest.mark.parametrize("name", PLAIN)
def test_a_type_is_known_by_its_name(name: str) -> None:
    assert parse_type(name) == DataType(name)
    assert parse_type(f"  {name.upper()} ") == DataType(name)
    assert str(parse_type(name)) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("byte", "tinyint"),
        ("short", "smallint"),
        ("integer", "int"),
        ("INTEGER", "int"),
        ("long", "bigint"),
        ("real", "float"),
        ("bool", "boolean"),
        ("timestamp_ltz", "timestamp"),
        ("varchar(10)", "string"),
        ("char( 3 )", "string"),
        ("character(3)", "string"),
        ("decimal", "decimal(10,0)"),
        ("dec", "decimal(10,0)"),
        ("numeric", "decimal(10,0)"),
        ("decimal(5)", "decimal(5,0)"),
        ("DECIMAL(12,2)", "decimal(12,2)"),
        ("decimal( 12 , 2 )", "decimal(12,2)"),
        ("decimal (12,2)", "decimal(12,2)"),
        ("dec(7,7)", "decimal(7,7)"),
        ("numeric(38,38)", "decimal(38,38)"),
        ("decimal(38)", "decimal(38,0)"),
        ("decimal(1,0)", "decimal(1,0)"),
    ],
)
def test_sparks_other_spellings_are_understood(text: str, expected: str) -> None:
    assert str(parse_type(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "number",
        "int unsigned",
        "int(11)",
        "bigint NOT NULL",
        "varchar",
        "varchar(x)",
        "decimal()",
        "decimal(0)",
        "decimal(39)",
        "decimal(5,6)",
        "decimal(5,-1)",
        "decimal(5,1,2)",
        "decimal(5",
        "decimal 5",
        "decimal(1.5)",
        f"decimal({'9' * 5000})",
        "array<int>",
        "map<string,int>",
        "struct<a:int>",
        "variant",
        "interval",
        "void",
        "int; DROP TABLE x",
    ],
)
def test_what_is_no_type_of_ours_is_refused_and_the_hint_names_those_that_are(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_type(text)
    assert caught.value.hint


@given(st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))))
def test_a_decimal_is_read_back_from_its_text(digits: tuple[int, int]) -> None:
    type_ = DataType("decimal", *digits)
    assert parse_type(str(type_)) == type_
    assert type_.digits == digits[0] - digits[1]


@given(st.text(max_size=20))
def test_any_text_is_a_type_or_is_refused(text: str) -> None:
    try:
        found = parse_type(text)
    except InvalidRequest:
        return
    assert parse_type(str(found)) == found


def test_floats_can_not_be_keys() -> None:
    refused = {name for name in PLAIN if not parse_type(name).can_be_key}
    assert refused == {"float", "double"}
    assert parse_type("decimal(5,2)").can_be_key


NUMBERS = ["tinyint", "smallint", "int", "bigint", "decimal(10,2)", "float", "double"]


@pytest.mark.parametrize("source", [*PLAIN, "decimal(10,2)"])
@pytest.mark.parametrize("target", [*PLAIN, "decimal(38,10)"])
def test_values_go_where_nothing_is_lost_silently(source: str, target: str) -> None:
    integers = NUMBERS[:4]
    expected = (
        source == target
        or (source in integers and target in integers)
        or (source in NUMBERS and target in ("float", "double", "decimal(38,10)"))
        or (source, target) == ("date", "timestamp_ntz")
    )
    assert can_store(parse_type(source), parse_type(target)) == expected
