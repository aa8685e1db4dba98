"""Which views go: a table of cases over the views of one table."""

from __future__ import annotations

from datetime import timedelta

import pytest

from anabranch.model.clock import Position
from anabranch.model.garbage import ViewRecord
from anabranch.model.ids import LineId, ThingId, ViewId
from anabranch.plan.folding import superseded

NOW = 1_000_000_000


def view(id_: str, index: int, since: int | None = None, *, age: int = 0, first: bool = False, line: str = "main"):  # type: ignore[no-untyped-def]
    """A snapshot, or a fold on the snapshot at `since`; `age` in seconds."""
    base = None if since is None else Position(LineId(line), since)
    kind = "snapshot" if since is None else "fold"
    at = Position(LineId(line), index)
    return ViewRecord(ViewId(id_), ThingId("t"), kind, at, base, NOW - age * 1_000_000, first)  # type: ignore[arg-type]


VIEWS = (
    view("first", 1, age=90, first=True),
    view("fold 1", 9, since=1, age=80),
    view("snapshot 2", 17, age=70),
    view("fold 2", 25, since=17, age=60),
    view("fold 3", 33, since=17, age=50),
    view("snapshot 3", 41, age=40),
    view("snapshot 3 again", 41, age=30),
    view("fold 4", 49, since=41, age=20),
    view("on dev", 7, age=10, line="dev"),
)


@pytest.mark.parametrize(
    ("read", "keep", "stay"),
    [
        (set(), 0, {"first"}),
        ({"snapshot 3 again", "fold 4"}, 0, {"first", "snapshot 3 again", "fold 4"}),
        ({"fold 3", "snapshot 2"}, 0, {"first", "snapshot 2", "fold 3"}),
        (set(), 1, {"first", "fold 4", "snapshot 3 again", "on dev"}),
        (set(), 2, {"first", "fold 4", "snapshot 3 again", "on dev"}),
        (set(), 4, {"first", "fold 4", "snapshot 3 again", "snapshot 3", "fold 3", "snapshot 2", "on dev"}),
        (set(), 99, {v.id for v in VIEWS}),
        (set(), timedelta(seconds=25), {"first", "fold 4", "snapshot 3 again", "on dev"}),
        (set(), timedelta(seconds=55), {v.id for v in VIEWS} - {"fold 1", "fold 2"}),
        (set(), timedelta(0), {"first"}),
    ],
)
def test_views_stay_that_are_read_or_kept_with_the_snapshots_below(
    read: set[str], keep: int | timedelta, stay: set[str]
) -> None:
    gone = superseded(VIEWS, {ViewId(v) for v in read}, keep, NOW)
    assert {v.id for v in VIEWS} - gone == stay
