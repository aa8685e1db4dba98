"""A run that is killed at a random moment publishes once or not at all, and the next one makes everything right."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.model.facts import PIPELINE
from tests.catalog.processes import Child
from tests.connect import ROOT
from tests.pipelines import beside, on_cluster

KILLS, SAMPLE = 30, 3
CLUSTER_KILLS = 30
"""How many processes of a cluster are killed beside runs, before their driver is."""
SLOWEST_SECONDS = 60.0


def run_once(store: str) -> float:
    """Run the pipeline in this process; returns how long that took."""
    started = time.monotonic()
    with ab.open(store, engine="duck", author="ann") as repo:
        dp.run(repo, beside.pipeline(lambda: None))
    return time.monotonic() - started


def assert_once_or_not_at_all(repo: ab.Repository, head: str) -> str:
    """Only a run's commit came after a head, with all that the run made; says whether there is one."""
    came = repo.log(f"{head}..main")
    tables, files = beside.model(*beside.inputs(repo, head))
    assert len(came) <= 1
    for commit in came:
        said = PIPELINE.value(commit.facts)
        assert said is not None
        assert said["base"] == head
        assert beside.shown(repo, commit.hash) == tables
        assert beside.files(repo, commit.hash) == files
    return "published" if came else "nothing"


@pytest.mark.parametrize("kills", [SAMPLE, pytest.param(KILLS, marks=pytest.mark.more)])
def test_a_killed_run_publishes_once_or_not_at_all(store_url: str, objects_root: str, kills: int) -> None:
    drawn = random.Random(kills)
    outcomes: list[str] = []
    with ab.init(store_url, objects=objects_root, author="bob", engine="duck") as repo:
        beside.load(repo, drawn)
        other = beside.Other(repo, drawn, 1000)
        took = Child(run_once, store_url).result()
        for _ in range(kills):
            for _ in range(drawn.randint(1, 3)):
                other.act(chosen=drawn.choice(["insert", "update", "event", "note", "output"]))
            head = repo.show("main").hash
            child = Child(run_once, store_url)
            time.sleep(drawn.uniform(0, min(took, SLOWEST_SECONDS) * 1.2))
            child.kill()
            outcomes.append(assert_once_or_not_at_all(repo, head))
            if drawn.random() < 0.5:
                _assert_right(repo, store_url, [*other.did, *outcomes])
        _assert_right(repo, store_url, [*other.did, *outcomes])
        assert repo.verify(deep=True).is_sound, outcomes
        assert dp.run(repo, beside.pipeline(lambda: None)).run is None


def _assert_right(repo: ab.Repository, store: str, told: Any) -> None:
    """The next run, in another process, is not kept out by a dead one, and makes what the inputs say."""
    Child(run_once, store).result()
    tables, files = beside.model(*beside.inputs(repo, "main"))
    assert beside.shown(repo, "main") == tables, told
    assert beside.files(repo, "main") == files, told


@pytest.mark.jvm
@pytest.mark.more
def test_runs_on_a_cluster_whose_processes_die_are_right(tmp_path: Path) -> None:
    drawn = random.Random(CLUSTER_KILLS)
    store = str(tmp_path / "shop")
    with ab.init(store, engine="duck", author="cid") as repo:
        on_cluster.load(repo)
        command = [sys.executable, "-m", "tests.pipelines.on_cluster", store, str(CLUSTER_KILLS), "1"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            told: list[str] = []
            for line in driver.stdout:
                told.append(line.strip())
                if line.startswith("last"):
                    break
            if told and told[-1].startswith("last"):
                time.sleep(drawn.uniform(0, float(told[-1].split()[1]) * 1.2))
            driver.kill()
        assert len(told) == CLUSTER_KILLS + 1, told
        assert not [line for line in told if line.startswith("failed") and len(line.split()) < 3], told
        head = repo.show("main")
        if PIPELINE.value(head.facts) is not None:
            on_cluster.assert_right(repo, "main")
        assert repo.verify(deep=True).is_sound
    again = subprocess.run(
        [sys.executable, "-m", "tests.pipelines.on_cluster", store, "0", "2"], cwd=ROOT, check=False, timeout=500
    )
    assert again.returncode == 0
