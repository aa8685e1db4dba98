"""Parts of timestamps, and timestamps cut short, in time zones whose clocks change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from anabranch.engines.duck import DuckEngine
from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType
from anabranch.proven.query import bound, prove_query
from anabranch.queries.query import Rows, reading_of

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
PARTS = [*(f"date_trunc('{unit}', t)" for unit in UNITS), "year(t)", "month(t)", "day(t)", "hour(t)", "minute(t)"]
TYPES = {"t": DataType("timestamp"), "d": DataType("date")}


def _moments(zone: str) -> list[datetime]:
    """Random moments, and moments around every change of the clock in some years."""
    rng, found = random.Random(zone), []
    found += [datetime.fromtimestamp(rng.randrange(0, 2**31), UTC).replace(microsecond=7) for _ in range(40)]
    hours = [datetime(2023, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(365 * 24)]
    offsets = [h.astimezone(ZoneInfo(zone)).utcoffset() for h in hours]
    shifts = [h for h, one, next_ in zip(hours, offsets, offsets[1:], strict=False) if one != next_]
    steps = (-49, -25, -2, -1, 0, 1, 2, 23, 49)
    return found + [s + timedelta(hours=n, minutes=31) for s in shifts for n in steps]


def _table(moments: list[datetime], zone: str) -> pa.Table:
    days = [m.astimezone(ZoneInfo(zone)).date() for m in moments]
    return pa.table({"t": pa.array(moments, pa.timestamp("us", "UTC")), "d": pa.array(days, pa.date32())})


def _in_duck(duck: DuckEngine, text: str, zone: str, rows: pa.Table) -> list[Any]:
    """The values; None for rows that are left to Spark, which are found by halves."""
    proven = prove_query(f"SELECT {text} AS v FROM a", {"a": list(TYPES.items())}, {}, zone)
    try:
        found = duck.fetch(bound(proven, {"a": reading_of(Rows(rows), rows.column_names)}))
    except InvalidRequest as problem:
        if problem.facts.get("only_spark") is None:
            raise
        half = rows.num_rows // 2
        return [x for part in (rows[:half], rows[half:]) for x in _in_duck(duck, text, zone, part)] if half else [None]
    return list(found.column("v").to_pylist())


@pytest.fixture(scope="module")
def duck() -> DuckEngine:
    return DuckEngine(122_880)


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def on_spark(spark: Any, zone: str) -> Iterator[Any]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def test_what_duckdb_answers_is_what_spark_answers(duck: DuckEngine, zone: str, on_spark: Any) -> None:
    moments = _moments(zone)
    rows = _table(moments, zone)
    texts = [*PARTS, *(f"date_trunc('{unit}', d)" for unit in UNITS)]
    frame = on_spark.createDataFrame(rows)
    expected = frame.selectExpr(*(f"{text} AS v{n}" for n, text in enumerate(texts))).toArrow()
    answered = 0
    for n, text in enumerate(texts):
        for found, value, moment in zip(
            _in_duck(duck, text, zone, rows), expected.column(n).to_pylist(), moments, strict=True
        ):
            answered += found is not None
            assert found in (None, value), (text, zone, moment)
    assert answered > 0.5 * len(texts) * len(moments)


def test_moments_near_a_change_of_the_clock_are_left_to_spark(duck: DuckEngine) -> None:
    at_change = _table([datetime(2023, 3, 26, 0, 30, tzinfo=UTC)], "Europe/Berlin")
    assert _in_duck(duck, "date_trunc('hour', t)", "Europe/Berlin", at_change) == [None]
    assert _in_duck(duck, "date_trunc('month', t)", "Europe/Berlin", at_change) == [
        datetime(2023, 3, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    ]
