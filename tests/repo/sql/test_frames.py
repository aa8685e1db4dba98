"""Frames in SQL: they come in as a table made of them would hold them, whatever zones and units they have."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anabranch as ab

NOON = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
PLAIN = NOON.replace(tzinfo=None)

FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame(
        {
            "id": [1, 3],
            "seen": pd.to_datetime([NOON, NOON]).tz_convert("Europe/Berlin").astype("datetime64[ns, Europe/Berlin]"),
            "said": pd.to_datetime([PLAIN, PLAIN]).astype("datetime64[ns]"),
        }
    ),
    "polars": pl.DataFrame(
        {
            "id": [1, 3],
            "seen": pl.Series([NOON, NOON]).dt.cast_time_unit("ns").dt.convert_time_zone("America/New_York"),
            "said": pl.Series([PLAIN, PLAIN]).dt.cast_time_unit("ns"),
        }
    ),
    "arrow": pa.table(
        {
            "id": pa.array([1, 3], pa.uint32()),
            "seen": pa.array([NOON, NOON], pa.timestamp("ns", "Asia/Tokyo")),
            "said": pa.array([PLAIN, PLAIN], pa.timestamp("ns")),
        }
    ),
    "dicts": [{"id": 1, "seen": NOON, "said": PLAIN}, {"id": 3, "seen": NOON, "said": PLAIN}],
}


@pytest.fixture
def log(repo: ab.Repository) -> ab.Repository:
    """Two events of one moment."""
    with repo.commit("main", "load") as tx:
        tx.create_table("log", [{"id": i, "seen": NOON, "said": PLAIN} for i in (1, 2)], key="id")
    return repo


@pytest.mark.parametrize("kind", FRAMES)
def test_zones_and_nanoseconds_meet_those_of_tables(log: ab.Repository, kind: str) -> None:
    frame = FRAMES[kind]
    joined = log.sql("SELECT count(*) AS n FROM log l JOIN {f} f ON l.seen = f.seen AND l.said = f.said", f=frame)
    assert joined.rows() == [{"n": 4}]
    text = """SELECT coalesce(f.seen, l.seen) AS a, coalesce(f.said, l.said) AS b, f.seen >= l.seen AS c
              FROM log l LEFT JOIN {f} f ON l.id = f.id ORDER BY l.id"""
    found = log.sql(text, f=frame)
    assert found.types == ("timestamp", "timestamp_ntz", "boolean")
    assert found.rows() == [{"a": NOON, "b": PLAIN, "c": True}, {"a": NOON, "b": PLAIN, "c": None}]
    assert {type(v) for v in found.rows()[0].values()} == {datetime, bool}
    whole = log.sql("SELECT seen, said FROM {f} UNION SELECT seen, said FROM log", f=frame)
    assert whole.rows() == [{"seen": NOON, "said": PLAIN}]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_merge_takes_frames_of_any_zone(log: ab.Repository, kind: str) -> None:
    text = """MERGE INTO log l USING {f} f ON l.id = f.id AND l.seen = f.seen
              WHEN MATCHED THEN UPDATE SET seen = f.seen, said = f.said + INTERVAL 1 DAY
              WHEN NOT MATCHED THEN INSERT *"""
    done = log.sql(text, f=FRAMES[kind])
    assert done.counts == ab.Counts(inserted=1, updated=1)
    assert [(r["id"], r["seen"], r["said"].day) for r in log.table("log").head()] == [
        (1, NOON, 2),
        (2, NOON, 1),
        (3, NOON, 1),
    ]


def test_a_frame_has_the_types_that_a_table_of_it_has(log: ab.Repository) -> None:
    frame = pa.table(
        {
            "u": pa.array([2**64 - 1], pa.uint64()),
            "d": pa.array(["a"]).dictionary_encode(),
            "l": pa.array(["b"], pa.large_string()),
            "h": pa.array([[NOON]], pa.list_(pa.timestamp("ms", "Asia/Tokyo"))),
        }
    )
    with log.commit("main", "copy") as tx:
        tx.create_table("copy", frame)
    found = log.sql("SELECT * FROM {f}", f=frame)
    assert dict(zip(found.columns, found.types, strict=True)) == {c.name: str(c.type) for c in log.table("copy").schema}
    assert found.rows() == log.table("copy").rows()
    assert found.rows()[0]["u"] == Decimal(2**64 - 1)


def test_values_that_no_table_holds_are_refused_by_name(log: ab.Repository) -> None:
    frame = pd.DataFrame({"id": [1], "seen": [pd.Timestamp("2026-01-01T00:00:00.123456789Z")]})
    with pytest.raises(ab.InvalidRequest, match=r"\{f\}: a value of column 'seen' does not fit timestamp"):
        log.sql("SELECT id FROM {f}", f=frame)


def test_a_column_of_nothing_takes_the_type_that_is_asked_of_it(log: ab.Repository) -> None:
    frame = [{"id": 1, "seen": None, "said": None}]
    found = log.sql("SELECT f.seen AS a, coalesce(f.seen, l.seen) AS b FROM log l JOIN {f} f USING (id)", f=frame)
    assert (found.types, found.rows()) == (("void", "timestamp"), [{"a": None, "b": NOON}])
    log.sql("MERGE INTO log l USING {f} f ON l.id = f.id WHEN MATCHED THEN UPDATE SET *", f=frame)
    assert log.table("log").get(1) == {"id": 1, "seen": None, "said": None}


def test_a_column_that_does_not_take_a_value_is_named(log: ab.Repository) -> None:
    text = "MERGE INTO log l USING {f} f ON l.id = f.id WHEN MATCHED THEN UPDATE SET id = CAST(f.id AS DECIMAL(20, 0))"
    with pytest.raises(ab.InvalidRequest, match=r"column 'id' is bigint, the value is decimal\(20,0\)"):
        log.sql(text, f=FRAMES["dicts"])
