"""The graph of a history, drawn from nothing but hashes."""

from __future__ import annotations

from textwrap import dedent

import pytest

from anabranch.cli.output.graph import Edges, draw, simplify

CASES: dict[str, tuple[Edges, str]] = {
    "a line": (
        {"c": "b", "b": "a", "a": ""},
        """
        * c
        * b
        * a
        """,
    ),
    "a merge": (
        {"m": "bc", "c": "a", "b": "a", "a": ""},
        r"""
        *   m
        |\
        | * c
        * | b
        |/
        * a
        """,
    ),
    "a merge of an older branch while another goes on": (
        {"n": "md", "m": "bc", "d": "c", "c": "a", "b": "a", "a": ""},
        r"""
        *   n
        |\
        * |   m
        |\ \
        | | * d
        | |/
        | * c
        * | b
        |/
        * a
        """,
    ),
    "an octopus": (
        {"m": "abc", "a": "r", "b": "r", "c": "r", "r": ""},
        r"""
        *     m
        |\
        | |\
        * | | a
        | * | b
        |/ /
        | * c
        |/
        * r
        """,
    ),
    "two roots": (
        {"m": "bc", "b": "", "c": "d", "d": ""},
        r"""
        *   m
        |\
        * | b
         /
        * c
        * d
        """,
    ),
    "a merge whose first parent is on the left already": (
        {"x": "a", "m": "ab", "b": "a", "a": ""},
        r"""
        * x
        | *   m
        |/|
        | * b
        |/
        * a
        """,
    ),
    "a criss-cross": (
        {"x": "ab", "y": "ab", "b": "r", "a": "r", "r": ""},
        r"""
        *   x
        |\
        | | *   y
        | |/
        |/|
        | * b
        * | a
        |/
        * r
        """,
    ),
}


def drawn(edges: Edges) -> list[str]:
    return [line for part, name in zip(draw(list(edges), edges), edges, strict=True) for line in part.with_text([name])]


@pytest.mark.parametrize("name", CASES)
def test_a_history_is_drawn_with_its_merges(name: str) -> None:
    edges, expected = CASES[name]
    assert drawn(edges) == dedent(expected).strip("\n").split("\n")


def test_text_of_several_lines_stands_beside_the_columns_that_go_on() -> None:
    edges = {"m": "bc", "c": "a", "b": "a", "a": ""}
    merge = next(draw(list(edges), edges))
    assert list(merge.with_text(["one", "two", "three"])) == ["*   one", "|\\  two", "| | three"]


def test_what_is_not_shown_is_bridged() -> None:
    edges = {"m": "bc", "c": "a", "b": "a", "a": "r", "r": ""}
    assert simplify(edges, {"m", "c", "r"}) == {"m": ["r", "c"], "c": ["r"], "r": []}


def test_edges_that_lead_out_of_the_list_end() -> None:
    assert simplify({"c": "b", "b": "a"}, {"c", "b"}) == {"c": ["b"], "b": []}


def test_what_a_limit_cut_off_stays_open_below() -> None:
    edges = {"m": "bc", "c": "a", "b": "a", "a": ""}
    parts = draw(["m", "c"], edges)
    assert [line for part, name in zip(parts, "mc", strict=True) for line in part.with_text([name])] == [
        "*   m",
        "|\\",
        "| * c",
    ]
