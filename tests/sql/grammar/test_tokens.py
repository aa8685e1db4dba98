"""Tokens: nothing is torn apart, every character keeps its place."""

# ruff: noqa: E501 -- a query and what it becomes are read side by side

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.sql.grammar.tokens import tokenize


def kinds(text: str) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in tokenize(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b", [("word", "a"), ("symbol", "."), ("word", "b")]),
        ("`a ``b`", [("quoted", "`a ``b`")]),
        (r"'it\'s; --' x", [("string", r"'it\'s; --'"), ("word", "x")]),
        (r"r'\' x", [("string", r"r'\'"), ("word", "x")]),
        ('"a;b"', [("string", '"a;b"')]),
        ("1.5BD 2L .5 5. 1e-3 1_0 2x", [("number", t) for t in ("1.5BD", "2L", ".5", "5.", "1e-3")] + [("word", "1_0"), ("word", "2x")]),
        ("a /* x /* ; */ ' */ b -- ; c\nd", [("word", "a"), ("word", "b"), ("word", "d")]),
        (":p v:p a::int", [("parameter", ":p"), ("word", "v"), ("symbol", ":"), ("word", "p"), ("word", "a"), ("symbol", "::"), ("word", "int")]),
        ("{df} {1} |> <=>", [("frame", "{df}"), ("symbol", "{"), ("number", "1"), ("symbol", "}"), ("symbol", "|>"), ("symbol", "<=>")]),
        ("日本 é", [("word", "日本"), ("word", "é")]),
    ],
)  # fmt: skip
def test_a_text_falls_into_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(text) == expected


@given(st.text(alphabet="ab'\"`;-/*\n{}():.@1 \\"))
def test_tokens_keep_their_places_or_the_text_is_refused(text: str) -> None:
    try:
        tokens = tokenize(text)
    except ab.InvalidRequest:
        assert set(text) & set("'\"`*")
        return
    assert all(text[t.start : t.end] == t.text for t in tokens)
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)


@pytest.mark.parametrize("text", ["select 'a", 'select "a', "select `a", "select /* a"])
def test_what_never_ends_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ab.InvalidRequest, match="line 1, column 8") as caught:
        tokenize(text)
    assert caught.value.column == 8


@pytest.mark.parametrize(
    ("text", "value"), [(r"'it\'s'", "it's"), (r"'a\nb'", "a\nb"), (r"r'a\n'", r"a\n"), ("'é'", "é"), (r"'\\'", "\\")]
)
def test_a_string_says_what_spark_reads(text: str, value: str) -> None:
    assert tokenize(text)[0].value == value
