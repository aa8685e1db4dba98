"""Times: what people write to travel, without an engine."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from anabranch.sql.moments import plain_time

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now()", "2026-11-15T12:30:00+00:00"),
        ("current_timestamp", "2026-11-15T12:30:00+00:00"),
        ("CURRENT_TIMESTAMP() - INTERVAL 1 DAY", "2026-11-14T12:30:00+00:00"),
        ("current_date() - interval '2' weeks", "2026-11-01T00:00:00+00:00"),
        ("now() - INTERVAL 1 HOUR + INTERVAL 30 MINUTES", "2026-11-15T12:00:00+00:00"),
    ],
)
def test_plain_times_need_no_engine(text: str, expected: str) -> None:
    found = plain_time(text, NOW)
    assert found is not None
    assert found.isoformat() == expected


@pytest.mark.parametrize(
    "text", ["now() - INTERVAL 1 MONTH", "to_timestamp('x')", "now() + 1", "now", "INTERVAL 1 DAY"]
)
def test_other_forms_are_left_to_an_engine(text: str) -> None:
    assert plain_time(text, NOW) is None
