"""Tests that are killed leave no server running."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.connect import ROOT

PATIENCE_SECONDS = 30

STARTS = """
import os, signal, sys
from pathlib import Path
from tests.servers import launch

server = launch(["sleep", "600"], Path(sys.argv[1]))
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds a process to the one that started it")
def test_a_server_ends_with_the_process_that_started_it_even_if_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS, str(tmp_path / "log")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    place, deadline = Path(f"/proc/{int(done.stdout)}"), time.monotonic() + PATIENCE_SECONDS
    while _runs(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(place)


def _runs(place: Path) -> bool:
    """Tell whether a process runs; one that ended may wait for somebody to ask how."""
    try:
        return (place / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
