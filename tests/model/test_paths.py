"""Paths of files: what is one, and what a pattern finds."""

from __future__ import annotations

import unicodedata

import pytest

import anabranch as ab
from anabranch.model.paths import (
    check_folder,
    check_path,
    fixed_folder,
    folders_above,
    join_path,
    pattern_of,
    split_path,
)

REFUSED = {
    "": "empty",
    "/a": "slash",
    "a/": "slash",
    "a//b": "part",
    ".": "part",
    "a/../b": "part",
    "a/./b": "part",
    "a\x00b": "control",
    "a\nb": "control",
    "a\x85b": "control",
    "\ud800": "surrogate",
    "é" * 128: "255",
    "/".join(["a" * 200] * 21): "4,096",
    "_ana_/x": "own use",
}


@pytest.mark.parametrize("path", REFUSED, ids=range(len(REFUSED)))
def test_a_text_that_is_no_path_is_refused_with_the_reason(path: str) -> None:
    with pytest.raises(ab.InvalidRequest, match=REFUSED[path]):
        check_path(path)


def test_what_is_no_text_is_refused() -> None:
    for path in (None, 3, b"a"):
        with pytest.raises(ab.InvalidRequest, match="not text"):
            check_path(path)  # type: ignore[arg-type]


def test_a_path_has_one_form_and_special_characters_are_legal() -> None:
    assert check_path(unicodedata.normalize("NFD", "café/ü")) == "café/ü"
    assert check_path("a*b/[x]?") == "a*b/[x]?"
    assert check_path("..%2f") == "..%2f"
    assert check_path("a/_ana_/b c") == "a/_ana_/b c"


def test_a_path_is_taken_apart_and_put_together() -> None:
    assert split_path("a/b/c") == ("a/b", "c")
    assert split_path("c") == ("", "c")
    assert [join_path("", "c"), join_path("a", "c"), join_path("a", "")] == ["c", "a/c", "a"]
    assert list(folders_above("a/b/c")) == ["a/b", "a"]
    assert [check_folder(x) for x in ("", "/", "a/", "a/b")] == ["", "", "a", "a/b"]


FOUND = [
    ("*.csv", "a.csv", True),
    ("*.csv", "x/a.csv", False),
    ("raw/**", "raw/a/b", True),
    ("raw/**", "rawer", False),
    ("raw/**/*.csv", "raw/a.csv", True),
    ("raw/**/*.csv", "raw/a/b/c.csv", True),
    ("**", "any/thing", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[ab]x", "ax", True),
    ("[!ab]x", "ax", False),
    ("[!ab]x", "cx", True),
    ("[a-c]", "b", True),
    ("a[", "a[", True),
    ("a.c", "abc", False),
]


@pytest.mark.parametrize(("pattern", "path", "finds"), FOUND)
def test_a_pattern_finds_paths(pattern: str, path: str, finds: bool) -> None:
    assert bool(pattern_of(pattern).fullmatch(path)) == finds


def test_a_pattern_without_a_slash_may_find_names_in_every_folder() -> None:
    assert pattern_of("*.json", anywhere=True).fullmatch("a/b.json")
    assert not pattern_of("x/*.json", anywhere=True).fullmatch("a/x/b.json")


def test_the_folder_of_a_pattern_is_what_it_says_without_wildcards() -> None:
    assert [fixed_folder(p) for p in ("a/b/*.c", "*", "a/*/b", "a/b")] == ["a/b", "", "a", "a"]
