"""Commands that permissions bind: they do not bind root, whom many test machines run as."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DROP, _OVERRIDE, _READ_ALL = 24, 1, 2
"""PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH."""
_ANA = "from anabranch.cli.main import main; main()"


def run_bound(program: str, *arguments: str, cwd: Path | str = "/") -> subprocess.CompletedProcess[str]:
    """Run a Python program for which permissions count."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, preexec_fn=_give_up_overrides)


def start_bound(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python program for which permissions count, and speak with it."""
    command, pipe = [sys.executable, "-c", program, *arguments], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, preexec_fn=_give_up_overrides)


def ana_bound(*arguments: str, cwd: Path | str = "/") -> subprocess.CompletedProcess[str]:
    """Run a command line for which permissions count."""
    return run_bound(_ANA, *arguments, cwd=cwd)


def _give_up_overrides() -> None:
    if os.geteuid() == 0:
        for capability in (_OVERRIDE, _READ_ALL):
            ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)


@contextmanager
def forbidden(place: Path) -> Iterator[None]:
    """Take all permissions from a place for a while."""
    mode = place.stat().st_mode
    place.chmod(0)
    try:
        yield
    finally:
        place.chmod(mode)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write to a folder and what is in it for a while."""
    places = {place: place.stat().st_mode for place in (*folder.rglob("*"), folder)}
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        yield
    finally:
        for place, mode in reversed(places.items()):
            place.chmod(mode)
