"""The example in examples/flights is run as a newcomer would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "examples" / "flights" / "run"


@pytest.mark.long
def test_the_pipeline_of_flights_tells_its_whole_story(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run([SCRIPT, tmp_path / "story"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for said in (
        "clean_flights: departed  dropped, 37 rows break it",
        "(exit code 9)",
        "daily_delays: incremental (clean_flights changed)  1 updated",
        "Nothing to do: no input changed.",
        "from story@",
    ):
        assert said in done.stdout
    assert "1 of 1,963 rows break 'plausible'" in done.stderr
