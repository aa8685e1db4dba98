"""Which names are legal: git's rules for branches and tags, Spark's backticks for tables and columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidRequest
from anabranch.model.names import HIDDEN_PREFIX, check_part, check_ref_name, check_repository_name, split_table_name
from anabranch.model.refs import parse_ref

LEGAL_REFS = [
    "main",
    "feature/login",
    "a/b/c",
    "v1.0",
    "1.2.3",
    "dev.2",
    "7",
    "feature/7x",
    "feature/x7",
    "été",
    "日本語",
    "🚀",
    "a@b",
    "@a",
    "a{b}",
    "a-b_c+d=e,f;g!h#i$j%k&l(m)",
    "HEADS",
    "head",
    "feature/HEAD",
    "abcdef",
    "x.lock.y",
    "_ana_branch",
    "a" * 255,
    "é" * 127,
]
ILLEGAL_REFS = [
    "",
    "@",
    "HEAD",
    "a b",
    " a",
    "a ",
    "a\tb",
    "a\nb",
    "main\n",
    "a\x00b",
    "a\x1fb",
    "a\x7fb",
    "a~b",
    "a^b",
    "a:b",
    "a?b",
    "a*b",
    "a[b",
    "a\\b",
    "a..b",
    "a@{b",
    "a//b",
    "/a",
    "a/",
    "-a",
    ".a",
    "a/.b",
    "a.",
    "a.lock",
    "a.lock/b",
    "a/b.lock",
    "main/7",
    "main/0",
    "feature/x/12",
    "a" * 256,
    "é" * 128,
    "a\ud800b",
]


@pytest.mark.parametrize("name", LEGAL_REFS)
def test_a_branch_may_have_a_name_that_git_allows(name: str) -> None:
    assert check_ref_name(name, "branch") == name


@pytest.mark.parametrize("name", LEGAL_REFS)
def test_a_legal_name_is_a_ref_without_steps(name: str) -> None:
    found = parse_ref(name)
    assert (found.name, found.steps, found.position) == (name, (), None)


@pytest.mark.parametrize("name", [*ILLEGAL_REFS, None, 7, b"main"])
def test_a_branch_may_not_have_a_name_that_git_refuses_or_that_looks_like_a_commit(name: object) -> None:
    with pytest.raises(InvalidRequest, match="branch") as caught:
        check_ref_name(name, "branch")  # type: ignore[arg-type]
    assert caught.value.hint


@given(st.text(max_size=12))
def test_every_legal_name_can_be_written_as_a_ref(name: str) -> None:
    try:
        check_ref_name(name, "branch")
    except InvalidRequest:
        return
    assert parse_ref(name).name == name
    assert parse_ref(f"{name}~2").name == name
    name.encode("utf-8")


LEGAL_PARTS = [
    "orders",
    "Order Items",
    "order-items",
    "1st",
    "été",
    "日本語",
    "🚀",
    "`",
    "a`b",
    "'",
    '"; DROP TABLE orders --',
    "%s",
    ":name",
    "{df}",
    "a\\b",
    "select",
    "ana_x",
    "_anax",
    "x_ana_",
    " ",
    "a" * 255,
    "é" * 127,
]
ILLEGAL_PARTS = [
    "",
    "a.b",
    ".",
    "a/b",
    "/",
    "a\x00b",
    "a\nb",
    "a\x7fb",
    "a\x85b",
    "a\x9fb",
    "_ana_op",
    "_ANA_op",
    HIDDEN_PREFIX,
    "a" * 256,
    "é" * 128,
    "a\ud800b",
]


@pytest.mark.parametrize("name", LEGAL_PARTS)
def test_a_table_may_have_any_name_that_spark_takes_in_backticks(name: str) -> None:
    assert check_part(name, "table") == name
    assert check_repository_name(name) == name


@pytest.mark.parametrize("name", [*ILLEGAL_PARTS, None, 7, b"orders"])
def test_a_table_may_not_have_a_name_with_dots_slashes_control_characters_or_our_prefix(name: object) -> None:
    with pytest.raises(InvalidRequest, match="table") as caught:
        check_part(name, "table")  # type: ignore[arg-type]
    assert caught.value.hint
    with pytest.raises(InvalidRequest, match="repository"):
        check_repository_name(name)  # type: ignore[arg-type]


def test_255_bytes_are_counted_in_utf8() -> None:
    assert check_part("é" * 127 + "a", "column") == "é" * 127 + "a"
    with pytest.raises(InvalidRequest, match="255 bytes"):
        check_part("é" * 128, "column")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("orders", ((), "orders")),
        ("sales.orders", (("sales",), "orders")),
        ("sales.eu.orders", (("sales", "eu"), "orders")),
        ("Order Items", ((), "Order Items")),
    ],
)
def test_a_table_name_is_split_at_its_dots(text: str, parts: tuple[tuple[str, ...], str]) -> None:
    assert split_table_name(text) == parts


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a/b.c", "_ana_x.t", "a._ana_t", None, 7])
def test_every_part_of_a_table_name_is_checked(text: object) -> None:
    with pytest.raises(InvalidRequest):
        split_table_name(text)  # type: ignore[arg-type]
