"""Keys that users give: a value that the key's column can't hold exactly is refused, and finds no other row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import anabranch as ab

DAY = dt.date(2026, 1, 1)
NOON = dt.datetime(2026, 1, 1, 12)
EAST = dt.timezone(dt.timedelta(hours=5))

GIVEN = {
    "get": lambda repo, key: repo.table("t").get(key),
    "history": lambda repo, key: repo.history("t", key),
    "blame": lambda repo, key: repo.blame("t", key=key),
    "changes": lambda repo, key: repo.changes("t", key=key),
    "diff": lambda repo, key: repo.diff("main~1", "main")["t"].rows(key=key),
}


def load(repo: ab.Repository, type_: str, key: Any) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": key, "v": 1}], schema={"id": type_, "v": "int"}, key="id")
    with repo.commit("main", "more") as tx:
        tx.table("t").update({"v": 2})


@pytest.mark.parametrize("verb", list(GIVEN))
def test_a_key_with_a_fraction_is_no_whole_number(repo: ab.Repository, verb: str) -> None:
    load(repo, "bigint", 1)
    ask: Callable[[ab.Repository, Any], Any] = GIVEN[verb]  # type: ignore[assignment]
    for key, kind in ((1.5, "double"), (Decimal("1.9"), r"decimal\(38,18\)"), (True, "boolean"), ("1", "string")):
        with pytest.raises(ab.InvalidRequest, match=f"is not a key of 't': column 'id' is bigint, {kind} was given"):
            ask(repo, key)
    assert ask(repo, 1)


@pytest.mark.parametrize(
    ("type_", "stored", "wrong", "right"),
    [
        ("int", 1, 2**32 + 1, 1),
        ("decimal(10,1)", Decimal("0.1"), Decimal("0.14"), Decimal("0.100")),
        ("decimal(10,1)", Decimal("0.1"), 0.14, 0.1),
        ("decimal(10,1)", Decimal(7), 2**80, 7),
        ("date", DAY, dt.datetime(2026, 1, 1, 5), DAY),
        ("timestamp_ntz", NOON, NOON.replace(hour=17, tzinfo=EAST), NOON),
        ("timestamp_ntz", dt.datetime(2026, 1, 1), NOON.replace(tzinfo=dt.UTC), DAY),
        ("timestamp", NOON.replace(tzinfo=dt.UTC), NOON, NOON.replace(hour=17, tzinfo=EAST)),
        ("string", "a", b"a", "a"),
        ("binary", b"a", "a", b"a"),
    ],
)
def test_a_key_is_held_exactly(duck: ab.Repository, type_: str, stored: Any, wrong: Any, right: Any) -> None:
    load(duck, type_, stored)
    with pytest.raises(ab.InvalidRequest) as caught:
        duck.table("t").get(wrong)
    assert repr(wrong) in caught.value.message
    assert f"column 'id' is {type_}" in caught.value.message
    assert duck.table("t").get(right) == {"id": stored, "v": 2}


def test_the_nanoseconds_of_pandas_are_not_dropped(duck: ab.Repository) -> None:
    pandas = pytest.importorskip("pandas")
    load(duck, "timestamp_ntz", NOON)
    assert duck.table("t").get(pandas.Timestamp(NOON)) == {"id": NOON, "v": 2}
    with pytest.raises(ab.InvalidRequest, match="'id' is timestamp_ntz, which holds microseconds"):
        duck.table("t").get(pandas.Timestamp(NOON) + pandas.Timedelta(1, "ns"))


def test_conflicts_are_resolved_by_exact_keys_and_values(duck: ab.Repository) -> None:
    load(duck, "bigint", 1)
    duck.branch("dev")
    for branch in ("main", "dev"):
        with duck.commit(branch, branch) as tx:
            tx.table("t").update({"v": 3 if branch == "main" else 4})
    merge = duck.start_merge("dev", into="main")
    for ask in (
        lambda: merge.resolve("t", key=1.5, take="theirs"),
        lambda: merge.conflicts["t"].rows(key=1.5),
    ):
        with pytest.raises(ab.InvalidRequest, match=r"1.5 is not a key of 't': column 'id' is bigint, double"):
            ask()
    with pytest.raises(ab.InvalidRequest, match=r"set={'v': 1.5}: column 'v' is int, double was given"):
        merge.resolve("t", set={"v": 1.5})
    assert merge.conflicts.count() == 1
    assert merge.resolve("t", key=1, set={"v": 7}) == 1
    merge.finish()
    assert duck.table("t").get(1) == {"id": 1, "v": 7}
