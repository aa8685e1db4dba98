"""Executors run Python where nobody activated a virtual environment: by our sessions, or they say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    """A store for a process of its own, with a table and a file to import beside it."""
    (tmp_path / "a.csv").write_text("id,v\n1,2\n")
    with ab.init(tmp_path / "shop", engine="duck", author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.create_table("t", [{"id": 1}], key="id")
        yield made


def attempts(tmp_path: Path, kind: str, **more: str) -> dict[str, str]:
    """What a process says of its attempts in which `python3` on PATH is one without any packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    given = {"PATH": f"{tmp_path}/bare/bin:/usr/bin:/bin", "HOME": str(tmp_path), **more}
    java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    script = ["-m", "tests.engines.executors_elsewhere", str(tmp_path / "shop"), str(tmp_path / "a.csv"), kind]
    done = subprocess.run(
        [sys.executable, *script], cwd=ROOT, env=given | java, capture_output=True, text=True, timeout=500
    )
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    found = {what: said for what, _, said in lines}
    assert found.keys() >= {"job", "import"}, done.stderr
    return found


@pytest.mark.jvm
def test_a_session_that_we_start_runs_this_python_on_its_executors(tmp_path: Path, repo: ab.Repository) -> None:
    assert attempts(tmp_path, "ours") == {"job": "1", "import": "1", "function": "[42]"}
    assert repo.table("out").count() == 1


@pytest.mark.jvm
@pytest.mark.more
def test_a_session_of_spark_connect_that_we_start_does_so_too(tmp_path: Path, repo: ab.Repository) -> None:
    found = attempts(tmp_path, "ours", SPARK_REMOTE="local[1]", SPARK_TESTING="1")
    assert found == {"job": "1", "import": "1", "function": "[42]"}


@pytest.mark.jvm
def test_in_a_session_of_the_users_the_message_names_what_ran(tmp_path: Path, repo: ab.Repository) -> None:
    head = repo.show().hash
    found = attempts(tmp_path, "user")
    for what in ("job", "import"):
        assert found[what].startswith(f"Unavailable Spark's executors run {tmp_path}/bare/bin/python3 (Python 3.")
        assert "no pyarrow; 23 or newer was expected" in found[what]
        assert f"set PYSPARK_PYTHON to a Python like this driver's, {sys.executable}: it is not set" in found[what]
    assert repo.show().hash == head
    assert repo.jobs()[0]["state"] == "failed"


@pytest.mark.jvm
@pytest.mark.more
def test_a_python_that_is_not_there_is_named(tmp_path: Path, repo: ab.Repository) -> None:
    found = attempts(tmp_path, "user", PYSPARK_PYTHON="/nowhere/python")
    assert found["job"].startswith("Unavailable Spark's executors can't run functions of Python 3.")
    assert found["job"].endswith("it is /nowhere/python)")
