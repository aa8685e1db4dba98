"""Executors of our own sessions import from where this process does: not from a folder that may be a stranger's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.jvm

SCRIPT = """
import sys
import anabranch as ab

with ab.init(sys.argv[1], engine="spark") as repo:
    def same(batches):
        yield from batches
    print(repo.spark_session.range(3).mapInArrow(same, "id long").count())
"""
HOSTILE = 'open(r"{}", "a").write("it ran"); raise ImportError("hostile")\n'


def run(place: Path, script: Path, here: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONSAFEPATH", "PYSPARK_PYTHON", "PYTHONPATH")}
    command = [sys.executable, str(script), str(place)]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, timeout=300)
    return f"{done.stdout}\n{done.stderr}"


def test_a_file_of_the_current_folder_is_not_imported_by_executors(tmp_path: Path) -> None:
    theirs, marker = tmp_path / "theirs", tmp_path / "ran"
    theirs.mkdir()
    for name in ("pyarrow", "pandas", "json"):
        (theirs / f"{name}.py").write_text(HOSTILE.format(marker))
    script = tmp_path / "mine" / "script.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    said = run(tmp_path / "store", script, theirs)
    assert not marker.exists(), marker.read_text()
    assert said.startswith("3\n"), said[-3000:]
