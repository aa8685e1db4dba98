"""Jobs on a cluster whose workers, executors and drivers are killed come out as the model of jobs says.

`ANA_KILLS=300 pytest --all tests/jobs/test_kill_histories.py` kills as often as it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import anabranch as ab
from tests.jobs.kill_histories import KillHistory

KILLS = int(os.environ.get("ANA_KILLS", "30"))
KILLS_EACH = 15
"""Kills in one history; those of odd seeds have a table with a key."""
SEED = int(os.environ.get("ANA_SEED", "0"))


@pytest.mark.jvm
@pytest.mark.more
def test_whoever_is_killed_jobs_come_out_as_the_model_says(tmp_path: Path) -> None:
    store, folder, seed = tmp_path / "shop", tmp_path / "marks", SEED
    folder.mkdir()
    killed = 0
    while killed < KILLS:
        place = str(store / str(seed))
        with ab.init(place, engine="duck", author="ann") as repo, ab.open(place) as other:
            history = KillHistory(repo, other, seed, place, folder / str(seed))
            history.folder.mkdir()
            try:
                while killed + sum(history.killed.values()) < KILLS and sum(history.killed.values()) < KILLS_EACH:
                    history.step()
            except AssertionError as error:
                error.add_note(f"seed {seed}, after {history.killed}")
                raise
            finally:
                history.end()
            killed += sum(history.killed.values())
            print(seed, history.killed, history.runs, "runs", history.conflicts, "conflicts")
            assert [b.name for b in repo.branches()] == ["main"]
            assert repo.verify().damages == ()
        seed += 1
