"""Spark SQL's types as text: every spelling that we take, every one that we refuse, and what may be stored in what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidRequest
from anabranch.model.ddl import parse_type
from anabranch.model.types import VOID, DataType, array_of, can_store, map_of, misfit, struct_of

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
        "array",
        "array<>",
        "array<int",
        "array<int,int>",
        "map<string>",
        "map<map<int,int>,int>",
        "map<variant,int>",
        "struct<>",
        "struct<a>",
        "struct<a:int b:int>",
        "struct<a:int,A:int>",
        "struct<``:int>",
        "struct<a:int NOT NULL>",
        "array<void>",
        "array<" * 60 + "int" + ">" * 60,
        "interval",
        "interval day to year",
        "interval second to day",
        "interval week",
        "void",
        "time",
        "time(6)",
        "geometry(4326)",
        "geography(any)",
        "string collate UTF8_LCASE",
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


NESTED = {
    "ARRAY<INT>": "array<int>",
    "array < array<string> >": "array<array<string>>",
    "Map<String, Decimal(38, 18)>": "map<string,decimal(38,18)>",
    "STRUCT<a: INT, B: STRING>": "struct<a:int,B:string>",
    "struct<a int, b string>": "struct<a:int,b:string>",
    "struct<`a b`:int,`c``d`:array<struct<`x,>`:long>>>": "struct<`a b`:int,`c``d`:array<struct<`x,>`:bigint>>>",
    "struct<a:int COMMENT 'it, is > \\' fine'>": "struct<a:int>",
    "struct<größe:int,1st:int>": "struct<`größe`:int,`1st`:int>",
    "map<struct<a:int>,map<string,variant>>": "map<struct<a:int>,map<string,variant>>",
    "array<varchar(10)>": "array<string>",
    "Interval Day To Second": "interval day to second",
    "interval hour": "interval hour",
    "INTERVAL YEAR TO MONTH": "interval year to month",
    "Variant": "variant",
    "timestamp without time zone": "timestamp_ntz",
    "timestamp with local time zone": "timestamp",
    "string collate UTF8_BINARY": "string",
}


@pytest.mark.parametrize("text", NESTED)
def test_types_are_made_of_types(text: str) -> None:
    found = parse_type(text)
    assert str(found) == NESTED[text]
    assert parse_type(str(found)) == found
    assert hash(found) == hash(parse_type(str(found)))


def struct_or_none(fields: list[tuple[str, DataType]]) -> DataType | None:
    try:
        return struct_of(fields)
    except InvalidRequest:
        return None


TYPES = st.recursive(
    st.sampled_from([*PLAIN, "decimal(38,18)", "variant", "interval day to second", "interval month"]).map(parse_type),
    lambda inner: st.one_of(
        inner.map(array_of),
        st.tuples(st.sampled_from(PLAIN).map(parse_type), inner).map(lambda pair: map_of(*pair)),
        st.lists(st.tuples(st.text(min_size=1, max_size=4), inner), min_size=1, max_size=3).map(struct_or_none),
    ).filter(lambda t: t is not None),
    max_leaves=6,
)


@given(TYPES)
def test_a_nested_type_is_read_back_from_its_text(type_: DataType) -> None:
    assert parse_type(str(type_)) == type_


@given(st.text(max_size=20))
def test_any_text_is_a_type_or_is_refused(text: str) -> None:
    try:
        found = parse_type(text)
    except InvalidRequest:
        return
    assert parse_type(str(found)) == found


@pytest.mark.parametrize(
    "text", ["variant", "array<int>", "map<string,int>", "struct<a:int>", "interval day to second", "interval year"]
)
def test_what_has_no_place_in_a_key_range_can_not_be_a_key(text: str) -> None:
    assert not parse_type(text).can_be_key


@pytest.mark.parametrize(
    ("text", "expected"),
    [("array<int>", False), ("map<string,variant>", True), ("struct<a:array<interval day>>", True), ("variant", True)],
)
def test_some_types_only_spark_holds(text: str, expected: bool) -> None:
    assert parse_type(text).only_spark == expected


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


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ("array<int>", "array<bigint>", None),
        ("array<int>", "int", "int, array<int> was given"),
        ("array<string>", "array<int>", "its element is int, string was given"),
        ("map<string,int>", "map<string,double>", None),
        ("map<string,string>", "map<string,double>", "its value is double, string was given"),
        ("struct<a:int>", "struct<a:int,b:int>", None),
        ("struct<B:int,a:int>", "struct<a:int,b:int>", None),
        ("struct<a:int,c:int>", "struct<a:int,b:int>", "struct<a:int,b:int>, which has no field 'c'"),
        ("array<struct<a:struct<x:string>>>", "array<struct<a:struct<x:int>>>", "its element.a.x is int, string"),
        ("interval hour", "interval day to second", None),
        ("interval day to second", "interval hour", "interval hour, interval day to second was given"),
        ("interval year", "interval month", None),
        ("interval month", "interval year", "interval year, interval month"),
        ("interval month", "interval day", "interval day, interval month"),
        ("string", "variant", "variant, string was given"),
        ("int", "interval month", "interval month, int was given"),
        ("array<struct<key:int,value:int>>", "map<int,int>", "map<int,int>, array"),
    ],
)
def test_nested_values_go_where_every_part_does(source: str, target: str, problem: str | None) -> None:
    found = misfit(parse_type(source), parse_type(target))
    assert (found is None) == (problem is None)
    assert problem is None or problem in str(found)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("string", "variant"),
        ("array<string>", "array<variant>"),
        ("int", "interval year to month"),
        ("struct<a:bigint>", "struct<a:interval month>"),
        ("interval day to second", "interval day"),
        ("array<struct<key:int,value:int>>", "map<int,bigint>"),
    ],
)
def test_rows_in_memory_bring_some_types_in_another_form(source: str, target: str) -> None:
    assert can_store(parse_type(source), parse_type(target), from_memory=True)


def test_nothing_but_nulls_goes_anywhere() -> None:
    assert can_store(VOID, parse_type("map<string,int>"))
    assert can_store(array_of(VOID), parse_type("array<struct<a:int>>"))
    assert can_store(array_of(VOID), parse_type("map<string,int>"), from_memory=True)
