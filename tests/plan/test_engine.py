"""The choice of an engine as a table of cases."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidRequest
from anabranch.plan.engine import EngineSetting, Work, choose

SMALL, LARGE = Work(10), Work(11)


@pytest.mark.parametrize(
    ("setting", "work", "has_spark", "expected"),
    [
        ("auto", SMALL, True, "duck"),
        ("auto", SMALL, False, "duck"),
        ("auto", LARGE, True, "spark"),
        ("auto", LARGE, False, "duck"),
        ("auto", Work(0, spark_frame=True), True, "spark"),
        ("auto", Work(0, unproven="function x"), True, "spark"),
        ("auto", Work(0, not_in_duck="column 'v' is variant"), True, "spark"),
        ("spark", Work(0, not_in_duck="column 'v' is variant"), True, "spark"),
        ("duck", SMALL, True, "duck"),
        ("duck", LARGE, True, "duck"),
        ("duck", LARGE, False, "duck"),
        ("spark", SMALL, True, "spark"),
        ("spark", LARGE, True, "spark"),
        ("spark", Work(0, unproven="function x"), True, "spark"),
        ("spark", SMALL, False, "spark"),
    ],
)
def test_the_engine_follows_from_the_work(setting: EngineSetting, work: Work, has_spark: bool, expected: str) -> None:
    name, why = choose(setting, work, 10, has_spark)
    assert name == expected
    assert why


@pytest.mark.parametrize(("setting", "has_spark", "hint"), [("duck", True, "engine="), ("auto", False, "pip install")])
def test_what_only_spark_may_run_is_refused_without_it_and_named(
    setting: EngineSetting, has_spark: bool, hint: str
) -> None:
    with pytest.raises(InvalidRequest, match="function soundex") as caught:
        choose(setting, Work(0, unproven="function soundex"), 10, has_spark)
    assert hint in str(caught.value.hint)


def test_the_reason_names_the_numbers() -> None:
    assert "11" in choose("auto", LARGE, 10, True)[1]
    assert "more than 10" in choose("auto", LARGE, 10, True)[1]
    assert "no more than 10" in choose("auto", SMALL, 10, True)[1]


@pytest.mark.parametrize(("setting", "has_spark", "hint"), [("duck", True, "engine="), ("auto", False, "pip install")])
def test_what_duckdb_can_not_hold_is_refused_without_spark(setting: EngineSetting, has_spark: bool, hint: str) -> None:
    work = Work(0, not_in_duck="column 'v' of table 't' is variant, which DuckDB can't hold")
    with pytest.raises(InvalidRequest, match="'v' of table 't' is variant, which DuckDB can't hold, and ") as caught:
        choose(setting, work, 10, has_spark)
    assert hint in str(caught.value.hint)
