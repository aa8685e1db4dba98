"""Defaults that are written differently are equal only where new rows surely get equal values."""

from __future__ import annotations

import pytest

from anabranch.model.ddl import parse_type
from anabranch.model.schema import new_column
from anabranch.plan.merge.defaults import have_equal_defaults


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        ("decimal(10,2)", "1.0", "1.00"),
        ("double", "1", " +1.0 "),
        ("double", "0.1e1", "1"),
        ("int", "- 1", "-1"),
        ("string", "'a'", '"a"'),
        ("date", "date'2026-01-01'", "DATE '2026-01-01'"),
        ("boolean", "true", "TRUE"),
        ("int", "f(1)", "f(1)"),
        ("int", None, None),
    ],
)
def test_equal_literals_are_equal_however_they_are_written(type_: str, one: str | None, other: str | None) -> None:
    columns = [new_column("a", parse_type(type_), default=text) for text in (one, other)]
    assert have_equal_defaults(*columns)
    assert have_equal_defaults(*reversed(columns))


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        ("int", "1", None),
        ("int", "1", "2"),
        ("string", "1", "1.0"),
        ("string", "'1'", "'01'"),
        ("string", "'a''b'", '"a\'b"'),
        ("string", "'A'", "'a'"),
        ("date", "date'2026-01-01'", "current_date()"),
        ("int", "1 + 1", "2"),
        ("double", "1.0 / 3", "1.00 / 3"),
        ("string", "r'a'", "'a'"),
        ("string", "x'61'", "'61'"),
        ("boolean", "true", "'true'"),
        ("string", r"'\\a'", r'"\\a"'),
        ("double", "1e9999999999", "1"),
    ],
)
def test_what_may_differ_is_not_taken_for_equal(type_: str, one: str | None, other: str | None) -> None:
    columns = [new_column("a", parse_type(type_), default=text) for text in (one, other)]
    assert not have_equal_defaults(*columns)
    assert not have_equal_defaults(*reversed(columns))
