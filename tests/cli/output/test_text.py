"""How things look: numbers, sizes, texts, tables; and values in JSON."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from anabranch.cli.output.tables import Heading, cell, cell_limit, screen_width, table_lines
from anabranch.cli.output.text import clean, columns, cut, emit_json, number, plural, short, size, subject


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(1234567), "1,234,567"),
        (plural(1, "row"), "1 row"),
        (plural(2000, "row"), "2,000 rows"),
        (size(999), "999 B"),
        (size(1500), "1.5 kB"),
        (size(2_340_000_000), "2.3 GB"),
        (short("0123456789abcdef"), "0123456789"),
        (short(None), "-"),
        (subject("  first line\nsecond"), "first line"),
        (cut("abcdef", 4), "abc…"),
        (cut("abcd", 4), "abcd"),
        (cut("東京から", 8), "東京から"),
        (cut("東京から", 7), "東京か…"),
        (cut("東京から", 6), "東京…"),
        (cut("cafe\u0301s", 5), "cafe\u0301s"),
        (clean("a\u202eb"), "a\\u202eb"),
    ],
)
def test_numbers_and_texts_are_short_and_readable(shown: str, expected: str) -> None:
    assert shown == expected


def test_wide_letters_line_up() -> None:
    assert columns([("東京", "1"), ("abc", "2"), ("e\u0301", "3")]) == ["東京  1", "abc   2", "e\u0301     3"]
    lines = table_lines([Heading("a"), Heading("b")], [["東京から来た", "x" * 30], ["abc", "y"]], 40)
    assert lines[2:] == ["東京から来た   " + "x" * 24 + "…", "abc            y"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "NULL"),
        (True, "true"),
        (b"\x01\xff", "x'01ff'"),
        (Decimal("1E+3"), "1000"),
        (date(2026, 11, 1), "2026-11-01"),
        (datetime(2026, 11, 1, 12), "2026-11-01 12:00:00"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("x" * 100, "x" * 59 + "…"),
    ],
)
def test_a_cell_is_one_line_of_readable_text(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_no_text_can_act_on_the_terminal() -> None:
    assert clean("\x1b]0;title\x07\x9b31m\ttab") == "\\x1b]0;title\\x07\\x9b31m\\ttab"
    assert clean("two\nlines\x00", keep="\n") == "two\nlines\\x00"


def test_columns_are_lined_up() -> None:
    assert columns([("a", "bb", "c"), ("aaa", "b", "")]) == ["a    bb  c", "aaa  b"]
    assert columns([]) == []


def test_a_wide_table_keeps_its_first_columns_and_names_the_rest() -> None:
    headings = [Heading(f"column_{i}") for i in range(20)]
    lines = table_lines(headings, [["some text"] * 20], 60)
    assert max(map(len, lines)) <= 60
    assert lines[0].split() == [f"column_{i}" for i in range(5)]
    assert lines[-1].startswith("15 more columns: column_5, column_6")
    assert table_lines([Heading("a"), Heading("b")], [["x" * 30, "y" * 30]], 20)[-1] == "1 more column: b"


def test_a_narrow_terminal_cuts_long_cells() -> None:
    lines = table_lines([Heading("id", right=True), Heading("note")], [[1, "long " * 10], [22, "short"]], 30)
    assert max(map(len, lines)) <= 30
    assert lines[2].endswith("…")
    assert lines[3].startswith("22   short")


def test_off_a_terminal_only_cells_that_nobody_could_read_are_cut() -> None:
    limit = cell_limit(screen_width())
    assert cell("x" * 200_000, limit) == "x" * 200_000
    huge = cell("x" * 20_000_000, limit)
    assert (len(huge), huge[-2:]) == (limit, "x…")


def test_json_has_a_form_for_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime(2026, 11, 1, 12, tzinfo=UTC)
    values = [moment, date(2026, 11, 1), Decimal("1.50"), b"\x01", float("nan"), float("-inf"), 1.5, 2**60, None, "ü"]
    emit_json({"values": values})
    found = json.loads(capsys.readouterr().out)["values"]
    expected = ["2026-11-01T12:00:00+00:00", "2026-11-01", "1.50", "01", "NaN", "-Infinity", 1.5, 2**60, None, "ü"]
    assert found == expected
