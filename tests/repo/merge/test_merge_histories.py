"""Random histories of commits, merges and diffs against states kept whole; `merge_histories.py` runs more by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.connect import QUICK, set_in
from tests.repo.merge.merge_histories import place, play, play_on_both

SHORT = 60
LANES = 1_000
LANE_SEEDS = (300_000, 300_021)
VERBS = ("insert", "update", "delete", "replace", "upsert", "patch")
EXPECTED = (*VERBS, "two-sided", "columns", "virtual", "keyless", "conflicts", "diffs")
"""What there must be among histories that run side by side."""


@pytest.fixture(scope="module")
def folder() -> Iterator[str]:
    """One store for many histories: each has a repository of its own."""
    with place() as found:
        yield found


@pytest.fixture
def quick_spark(spark: Any) -> Iterator[Any]:
    """The session, quick on small tables for as long as the test runs."""
    with set_in(spark, QUICK):
        yield spark


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.more) for n in range(20, SHORT, 20))])
def test_merges_and_diffs_of_random_histories_are_those_of_whole_states(folder: str, first: int) -> None:
    for seed in range(first, first + 20):
        play(folder, seed, 3, engine="duck")


def test_a_long_history_stays_right(folder: str) -> None:
    assert play(folder, 100_000, 12, engine="duck").counts["merges"] > 0


@pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.more) for n in (200_000, 200_002)] + [200_003])
def test_both_engines_say_the_same_of_random_histories(folder: str, spark: Any, seed: int) -> None:
    play_on_both(folder, seed, 3, spark=spark)


@pytest.mark.more
def test_both_engines_say_the_same_of_thousands_of_random_histories(folder: str, quick_spark: Any) -> None:
    counts: Counter[str] = Counter()
    for seed in LANE_SEEDS:
        counts += play_on_both(folder, seed, 0, LANES, spark=quick_spark)
    assert counts["lanes"] >= 2_000
    missing = [what for what in EXPECTED if not counts[what]]
    assert not missing, f"none of the histories has {missing}: {counts}"
