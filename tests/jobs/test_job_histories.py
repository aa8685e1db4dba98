"""Random histories of jobs and of others who commit to the same output come out as the model says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import anabranch as ab
from tests.jobs.job_histories import JobHistory


@pytest.fixture
def sessions(store_url: str, objects_root: str) -> Iterator[tuple[ab.Repository, ab.Repository]]:
    with ab.init(store_url, objects=objects_root, author="ann") as repo, ab.open(store_url) as other:
        yield repo, other


def _play(sessions: tuple[ab.Repository, ab.Repository], seed: int, steps: int, *, keyed: bool) -> None:
    history = JobHistory(*sessions, seed, keyed=keyed)
    for n in range(steps):
        try:
            history.step()
        except AssertionError as error:
            error.add_note(f"seed {seed}, step {n}")
            raise
    assert history.runs > 0
    assert sessions[0].verify().damages == ()


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "keyless"])
@pytest.mark.parametrize("seed", range(2))
def test_random_histories(sessions: tuple[ab.Repository, ab.Repository], seed: int, keyed: bool) -> None:
    _play(sessions, seed, 25, keyed=keyed)


@pytest.mark.more
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "keyless"])
@pytest.mark.parametrize("seed", range(100, 110))
def test_more_random_histories(sessions: tuple[ab.Repository, ab.Repository], seed: int, keyed: bool) -> None:
    _play(sessions, seed, 60, keyed=keyed)
