"""Whatever dies, a job is published once or not at all; looked at in what was published.

On clusters, on Connect, and with objects on S3, where no server's promise decides which attempt counts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab
from tests.connect import ROOT
from tests.jobs.faults import SHARDS

FILES = 8


def assert_published_once(repo: ab.Repository, branch: str) -> None:
    """Every input is there once, and all that a shard made is of one attempt."""
    rows = repo.table("out", at=branch).rows()
    assert sorted((r["path"], r["n"]) for r in rows) == sorted((f"raw/{i}", n) for i in range(FILES) for n in (1, 2))
    tree = repo.files(branch)
    words = {n: tree.read(f"words/{n}").decode() for n in range(SHARDS)}
    assert {(r["shard"], r["word"]) for r in rows} == set(words.items())
    assert tree.read("all").decode() == "".join(f"{n} {word}\n" for n, word in words.items())
    assert len(repo.log(branch)) == len(repo.log("main")) + 1


@pytest.mark.jvm
@pytest.mark.more
@pytest.mark.parametrize("last", ["before", "after"])
@pytest.mark.parametrize("kind", ["cluster", "connect", "bucket"])
def test_what_died_is_published_once_or_not_at_all(
    tmp_path: Path, kind: str, last: str, request: pytest.FixtureRequest
) -> None:
    far = request.getfixturevalue("s3").new_root() if kind == "bucket" else None
    store, marks = tmp_path / "shop", tmp_path / "marks"
    marks.mkdir()
    with ab.init(store, objects=far, engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            for n in range(FILES):
                tx.files.put(f"raw/{n}", f"{n}")
        script = [sys.executable, "-m", "tests.jobs.faults", kind, str(store), str(marks), last]
        path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        env = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(script, cwd=ROOT, env=env, capture_output=True, text=True, timeout=500)
        assert done.returncode == -9, done.stderr
        if last == "before":
            told = done.stdout.split("\n")
            assert "workers 16" in told
            assert "failing 3 4" in told, done.stdout
            assert {p.name for p in marks.iterdir()} >= {"worker", "finished"}
            assert_published_once(repo, "workers")
            assert repo.log("failing") == repo.log("main")
            assert repo.find_job("failing")["finished_count"] == SHARDS - 1
        if kind == "cluster" and last == "before":
            assert (marks / "executor").exists()
            assert_published_once(repo, "executor")
        assert len(repo.log("driver")) == len(repo.log("main")) + (last == "after")
        again = repo.resume_job("driver")
        assert (again.reused, again.resumed) == ((False, SHARDS) if last == "before" else (True, 0))
        assert_published_once(repo, "driver")
        assert repo.verify().damages == ()
