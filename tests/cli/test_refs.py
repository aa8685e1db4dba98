"""Refs on the command line: HEAD is the current branch."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from anabranch.cli.session import translate, with_zone


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, "dev"),
        ("HEAD", "dev"),
        ("@", "dev"),
        ("HEAD~2", "dev~2"),
        ("HEAD^2", "dev^2"),
        ("HEAD^2~1", "dev^2~1"),
        ("@~1", "dev~1"),
        ("~1", "dev~1"),
        ("@{1}", "dev@{1}"),
        ("HEAD@{1}", "dev@{1}"),
        ("main..HEAD", "main..dev"),
        ("HEAD~1..", "dev~1..dev"),
        ("..main", "dev..main"),
        ("main...HEAD", "main...dev"),
        ("HEADER", "HEADER"),
        ("@home", "@home"),
        ("main", "main"),
        ("main/7", "main/7"),
        ("feature/HEAD", "feature/HEAD"),
        ("main@{2026-11-01T00:00:00Z}", "main@{2026-11-01T00:00:00Z}"),
    ],
)
def test_head_and_nothing_mean_the_current_branch(given: str | None, meant: str) -> None:
    assert translate(given, "dev") == meant


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2026-07-01T12:00:00", "2026-07-01T12:00:00+02:00"),
        ("2026-01-01 12:00", "2026-01-01T12:00:00+01:00"),
        ("2026-01-01", "2026-01-01T00:00:00+01:00"),
        ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
        ("yesterday", "yesterday"),
        ("20260101", "20260101"),
    ],
)
def test_a_time_without_a_zone_is_local(given: str, meant: str) -> None:
    assert with_zone(given) == meant


@pytest.mark.usefixtures("berlin")
def test_a_time_in_a_ref_is_local_too() -> None:
    assert translate("HEAD@{2026-07-01T12:00:00}", "main") == "main@{2026-07-01T12:00:00+02:00}"
