"""Executors without what our code needs: it is told before anything runs there, by name and with what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab

ROOT = Path(__file__).parents[2]


@pytest.mark.jvm
@pytest.mark.more
def test_executors_without_pyarrow_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "pyarrow.py").write_text("raise ImportError('not here')")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/there:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "a.csv").write_text("id,v\n1,2\n")
    with ab.init(tmp_path / "shop", engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": 1}], key="id")
        head = repo.show().hash
        script = ["-m", "tests.engines.executors_elsewhere", str(tmp_path / "shop"), str(tmp_path / "a.csv")]
        env = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
        done = subprocess.run(
            [sys.executable, *script, str(python)], cwd=ROOT, env=env, capture_output=True, text=True, timeout=500
        )
        lines = {line.partition(" ")[0]: line for line in done.stdout.splitlines()}
        assert lines.keys() == {"job", "import"}, done.stderr
        assert all("Unavailable Spark's executors have no pyarrow" in line for line in lines.values()), done.stdout
        assert repo.show().hash == head
        assert repo.jobs()[0]["state"] == "failed"
