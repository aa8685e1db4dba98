"""Schemas from text, their keys, and the way back from the catalogue."""

from __future__ import annotations

import json

import pytest

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.ddl import parse_type
from anabranch.model.schema import Schema, make_schema, new_column, parse_columns, read_schema, schema_document


def described(**columns: str) -> list[tuple[str, str, bool, str | None]]:
    return [(c.name, str(c.type), c.nullable, c.default) for c in parse_columns(columns)]


@pytest.mark.parametrize(
    ("text", "type_", "nullable", "default"),
    [
        ("bigint", "bigint", True, None),
        ("bigint NOT NULL", "bigint", False, None),
        ("bigint not null", "bigint", False, None),
        ("  bigint   NOT   NULL  ", "bigint", False, None),
        ("bigint\tNOT\nNULL", "bigint", False, None),
        ("int DEFAULT 0", "int", True, "0"),
        ("int default 0", "int", True, "0"),
        ("int  DEFAULT   0 ", "int", True, "0"),
        ("int\nDEFAULT 0", "int", True, "0"),
        ("int NOT NULL DEFAULT 0", "int", False, "0"),
        ("int DEFAULT 0 NOT NULL", "int", False, "0"),
        ("int DEFAULT 1 + 2", "int", True, "1 + 2"),
        ("int DEFAULT -1", "int", True, "-1"),
        ("string DEFAULT 'x'", "string", True, "'x'"),
        ("string DEFAULT ''", "string", True, "''"),
        ("string DEFAULT 'a  b'", "string", True, "'a  b'"),
        ("string DEFAULT 'NOT NULL'", "string", True, "'NOT NULL'"),
        ("string DEFAULT 'x NOT NULL'", "string", True, "'x NOT NULL'"),
        ("string DEFAULT ' DEFAULT '", "string", True, "' DEFAULT '"),
        ("string NOT NULL DEFAULT 'a DEFAULT b'", "string", False, "'a DEFAULT b'"),
        ("decimal(12, 2) NOT NULL DEFAULT 0.00", "decimal(12,2)", False, "0.00"),
        ("string DEFAULT 'ß NOT NULL'", "string", True, "'ß NOT NULL'"),
        ("timestamp DEFAULT current_timestamp()", "timestamp", True, "current_timestamp()"),
    ],
)
def test_a_column_is_described_by_type_nullability_and_default(
    text: str, type_: str, nullable: bool, default: str | None
) -> None:
    assert described(c=text) == [("c", type_, nullable, default)]


@pytest.mark.parametrize(
    "text",
    ["", "NOT NULL", "DEFAULT 0", "int DEFAULT", "int DEFAULT ", "int NOT", "int NULL NULL", "numbre", "int, b int"],
)
def test_a_description_without_a_type_or_a_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_columns({"c": text})


@pytest.mark.parametrize("text", [None, 7, b"int", ["int"]])
def test_a_description_that_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(InvalidRequest, match="'c'"):
        parse_columns({"c": text})  # type: ignore[dict-item]


@pytest.mark.parametrize("name", ["", "a.b", "_ana_op", "a\nb", 7, None])
def test_a_column_needs_a_legal_name(name: object) -> None:
    with pytest.raises(InvalidRequest, match="column"):
        parse_columns({name: "int"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "nullable", "default", "comment"),
    [
        ("int COMMENT 'x'", True, None, "x"),
        ("int DEFAULT 1 COMMENT 'x'", True, "1", "x"),
        ("int COMMENT 'it''s' NOT NULL DEFAULT (1 + 2)", False, "(1 + 2)", "it's"),
        ('string DEFAULT \'a COMMENT b\' COMMENT "say \\"n, \\n"', True, "'a COMMENT b'", 'say "n, \n'),
        ("boolean DEFAULT 1 IS NOT NULL", True, "1 IS NOT NULL", None),
        ("array<string> DEFAULT array('a, b', 'NOT NULL') NOT NULL", False, "array('a, b', 'NOT NULL')", None),
        ("int COMMENT ''", True, None, None),
    ],
)
def test_a_default_ends_where_a_comment_begins(
    text: str, nullable: bool, default: str | None, comment: str | None
) -> None:
    (column,) = parse_columns({"c": text})
    assert (column.nullable, column.default, column.comment) == (nullable, default, comment)


@pytest.mark.parametrize(
    "text",
    ["int COMMENT x", "int COMMENT 'a' 'b'", "int COMMENT 'a' COMMENT 'b'", "int NOT 1", "int NOT NULL NOT NULL"],
)
def test_what_follows_a_type_is_known_or_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="comes after int"):
        parse_columns({"c": text})


def test_columns_keep_their_order_and_get_ids_of_their_own() -> None:
    schema = make_schema(parse_columns({"b": "int", "a": "string", "c": "date"}), ["a"])
    assert schema.names == ("b", "a", "c")
    assert len({c.id for c in schema}) == len(schema) == 3
    again = make_schema(parse_columns({"b": "int", "a": "string", "c": "date"}), ["a"])
    assert not {c.id for c in again} & {c.id for c in schema}
    assert again.id != schema.id


def test_key_columns_come_in_the_order_of_the_key_and_may_not_be_null() -> None:
    schema = make_schema(parse_columns({"a": "int", "b": "int", "c": "int"}), ["c", "a"])
    assert [c.name for c in schema.key_columns] == ["c", "a"]
    assert [c.name for c in schema.plain_columns] == ["b"]
    assert {c.name: c.nullable for c in schema} == {"a": False, "b": True, "c": False}


def test_a_key_is_found_as_spark_finds_columns() -> None:
    schema = make_schema(parse_columns({"Id": "int", "v": "int"}), ["ID"])
    assert [c.name for c in schema.key_columns] == ["Id"]


@pytest.mark.parametrize(
    ("columns", "key", "kind"),
    [
        ({"a": "int"}, ["b"], NotFound),
        ({"a": "int"}, ["a", "a"], InvalidRequest),
        ({"a": "int"}, ["a", "A"], InvalidRequest),
        ({"a": "float"}, ["a"], InvalidRequest),
        ({"a": "double", "b": "int"}, ["b", "a"], InvalidRequest),
        ({"a": "int", "A": "int"}, ["a"], InvalidRequest),
        ({"ä": "int", "Ä": "int"}, ["ä"], InvalidRequest),
        ({}, [], InvalidRequest),
    ],
)
def test_a_key_that_can_not_identify_rows_is_refused(
    columns: dict[str, str], key: list[str], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        make_schema(parse_columns(columns), key)


def test_a_column_is_found_by_its_exact_name_first() -> None:
    twins = Schema(
        make_schema(parse_columns({"a": "int"}), ["a"]).id,
        (new_column("a", parse_type("int")), new_column("A", parse_type("string"))),
        (),
    )
    assert twins.column("a").name == "a"
    assert twins.column("A").name == "A"


def test_a_missing_column_is_told_with_the_nearest_name() -> None:
    schema = make_schema(parse_columns({"price": "int", "quantity": "int"}), ["price"])
    with pytest.raises(NotFound, match="prise") as caught:
        schema.column("prise")
    assert "price" in str(caught.value.hint)
    assert caught.value.column == "prise"
    with pytest.raises(NotFound, match="zzz") as caught:
        schema.column("zzz")
    assert "price, quantity" in str(caught.value.hint)


def test_columns_are_selected_in_the_order_asked_for() -> None:
    schema = make_schema(parse_columns({"a": "int", "b": "int", "c": "int"}), ["a"])
    assert [c.name for c in schema.select(["c", "A"])] == ["c", "a"]
    assert schema.select(None) == schema.columns


def test_a_schema_is_read_back_from_its_document() -> None:
    schema = make_schema(
        parse_columns({"id": "bigint", "price": "decimal(12,2) NOT NULL DEFAULT 0", "été": "string DEFAULT '\"'"}),
        ["id"],
    )
    document = json.loads(json.dumps(schema_document(schema)))
    assert read_schema(schema.id, document) == schema
