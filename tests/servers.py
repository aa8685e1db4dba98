"""Servers of the tests' own: each ends with its process, however that ends, and never because of Ctrl-C."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

PATIENCE_SECONDS = 60
_PDEATHSIG = 1
"""PR_SET_PDEATHSIG: which signal a process gets when the one that started it is gone."""


def launch(
    command: list[str],
    log: Path,
    cwd: Path | None = None,
    ended_by: signal.Signals = signal.SIGKILL,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, so that Ctrl-C reaches the tests and not the server.

    If the tests are killed, it gets a signal; elsewhere than on Linux it lives on."""
    with log.open("wb") as out:
        quiet: dict[str, Any] = {"stdout": out, "stderr": out, "stdin": subprocess.DEVNULL, "start_new_session": True}
        return subprocess.Popen(command, cwd=cwd, preexec_fn=_bound_to(os.getpid(), ended_by), **quiet, **options)


def _bound_to(parent: int, ended_by: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # found before the fork: nothing may be loaded after it

    def bind() -> None:
        prctl(_PDEATHSIG, int(ended_by), 0, 0, 0)
        if os.getppid() != parent:  # it was killed in between
            os._exit(1)

    return bind


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Tell whether something speaks HTTP there."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5):
            return True
    except OSError as error:
        return hasattr(error, "code")


def tear_down(process: subprocess.Popen[bytes], folder: Path, owner_pid: int) -> None:
    """End a server and remove its folder."""
    if os.getpid() == owner_pid:  # a forked child leaves the server to its parent
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
