"""Ctrl-C while Spark starts ends the command and what it started, in silence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch as ab

COMMAND = "import sys; from anabranch.cli.main import main; sys.argv[1:] = {args!r}; main()"
LONGEST = 60


def java_in(group: int) -> list[int]:
    """The Java processes of a group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == group and b"java" in (folder / "cmdline").read_bytes().split(b"\0")[0]:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_until(holds: object) -> None:
    end = time.monotonic() + LONGEST
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.jvm
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_ctrl_c_while_spark_starts_ends_the_command_and_java(tmp_path: Path) -> None:
    ab.init(tmp_path / "s").close()
    code = COMMAND.format(args=["--engine", "spark", "sql", "SELECT 1"])
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path / "s",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        wait_until(lambda: java_in(command.pid))
        os.killpg(command.pid, signal.SIGINT)
        _, said = command.communicate(timeout=LONGEST)
    assert command.returncode == 130
    assert "Traceback" not in said
    assert "py4j" not in said
    wait_until(lambda: not java_in(command.pid))
