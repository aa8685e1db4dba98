"""Random histories of a pipeline with others at work in sessions of their own, beside a model; on both catalogues."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.model.facts import PIPELINE
from tests.pipelines import beside

HISTORIES, SAMPLE, STEPS = 150, 2, 6
REFUSED = (ab.MergeConflict, ab.BranchMoved)
"""How a run ends that met what others wrote into its tables, or a branch that was reset."""


@pytest.fixture
def sessions(store_url: str, objects_root: str) -> Iterator[list[ab.Repository]]:
    """A runner's session and two of others."""
    with ExitStack() as stack:
        runner = stack.enter_context(ab.init(store_url, objects=objects_root, author="ann", engine="duck"))
        others = [stack.enter_context(ab.open(store_url, author=who, engine="duck")) for who in ("bob", "cid")]
        yield [runner, *others]


def run(repo: ab.Repository, pipeline: dp.Pipeline, **options: Any) -> dp.RunResult:
    """Run, in full where an input that is only appended to lost rows."""
    try:
        return dp.run(repo, pipeline, **options)
    except ab.InvalidRequest as error:
        if "only appends" not in str(error):
            raise
        return dp.run(repo, pipeline, full_refresh="copied", **options)


def assert_right(repo: ab.Repository, at: str, told: Any) -> None:
    """Compare all tables and files with the model."""
    tables, files = beside.model(*beside.inputs(repo, at))
    assert beside.shown(repo, at) == tables, told
    assert beside.files(repo, at) == files, told


def assert_published(repo: ab.Repository, done: dp.RunResult, told: Any) -> None:
    """A run's commit shows what its inputs make, except in tables that others changed and the run did not."""
    assert done.commit is not None
    said = PIPELINE.value(done.commit.facts)
    assert said is not None
    tables, _ = beside.model(*beside.inputs(repo, said["base"]))
    before, just_before = beside.shown(repo, said["base"]), beside.shown(repo, done.commit.parents[0])
    after = beside.shown(repo, done.commit.hash)
    theirs = {name for name in beside.TABLES if before[name] != just_before[name]}
    wrong = {name for name in beside.TABLES if after[name] != tables[name]}
    assert wrong <= theirs, told


def merge_runs_of_a_branch(repo: ab.Repository, drawn: random.Random, others: list[beside.Other]) -> None:
    """Run on a branch of the output, too, and merge it, unless the two sides are in conflict."""
    repo.branch("dev", at="main")
    try:
        for branch in drawn.choices(["dev", "main"], k=3):
            drawn.choice(others).act(branch, drawn.choice(["insert", "update", "event", "output"]))
        run(repo, beside.pipeline(lambda: None), on="dev")
        if drawn.random() < 0.5:
            run(repo, beside.pipeline(lambda: None))
        repo.merge("dev", into="main")
    except REFUSED:
        pass
    finally:
        repo.delete_branch("dev", force=True)


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.more if n >= SAMPLE else ()) for n in range(HISTORIES)]
)
def test_a_pipeline_is_right_whatever_others_do_before_and_during_its_runs(
    sessions: list[ab.Repository], seed: int
) -> None:
    repo, drawn = sessions[0], random.Random(seed)
    beside.load(repo, drawn)
    others = [beside.Other(each, drawn, n * 1000) for n, each in enumerate(sessions[1:], 1)]
    told: list[Any] = [("seed", seed), *(other.did for other in others)]

    def interfere() -> None:
        if drawn.random() < 0.3:
            drawn.choice(others).act()

    for _ in range(STEPS):
        for _ in range(drawn.randint(0, 3)):
            drawn.choice(others).act()
        if drawn.random() < 0.25:
            merge_runs_of_a_branch(repo, drawn, others)
        try:
            done = run(repo, beside.pipeline(interfere), notify=lambda _: interfere())
        except REFUSED as error:
            told.append(type(error).__name__)
            continue
        told.append([(s.name, s.action) for s in done.steps])
        if done.run is None:
            assert_right(repo, "main", told)
        else:
            assert_published(repo, done, told)
    run(repo, beside.pipeline(lambda: None))
    assert_right(repo, "main", told)
    assert run(repo, beside.pipeline(lambda: None)).run is None, told
    assert repo.verify().is_sound


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.more) for n in range(1, 10))])
def test_a_pipeline_is_right_while_others_write_at_the_same_time(sessions: list[ab.Repository], seed: int) -> None:
    repo, drawn = sessions[0], random.Random(seed)
    beside.load(repo, drawn)
    others = [beside.Other(each, random.Random(seed * 10 + n), n * 1000) for n, each in enumerate(sessions[1:], 1)]
    failed: list[BaseException] = []
    stop = threading.Event()

    def work(other: beside.Other) -> None:
        try:
            while not stop.is_set():
                other.act(chosen=other.drawn.choice(["insert", "update", "event", "note", "note", "output"]))
                stop.wait(other.drawn.random() / 4)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    published = 0
    try:
        for _ in range(STEPS):
            try:
                done = run(repo, beside.pipeline(lambda: None))
            except REFUSED:
                continue
            if done.run is not None:
                assert_published(repo, done, [other.did for other in others])
                published += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed
    run(repo, beside.pipeline(lambda: None))
    assert_right(repo, "main", [other.did for other in others])
    assert run(repo, beside.pipeline(lambda: None)).run is None
    assert repo.verify().is_sound
