"""Progress of long work: a spinner with the phase and seconds on stderr, only on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import RenderableType


Tasks = Callable[[], tuple[int, int] | None]
"""How many of Spark's tasks are done, and of how many; None if Spark does not run."""


class Progress(Protocol):
    """Where a command reports its progress."""

    def phase(self, text: str) -> None:
        """Say what comes next."""

    def so_far(self, done: int, of: int | None = None) -> None:
        """Say how much of it is done, and of how much, if known."""


class Quiet:
    """Shows nothing."""

    def phase(self, text: str) -> None:
        return None

    def so_far(self, done: int, of: int | None = None) -> None:
        return None


@contextmanager
def show_progress(phase: str, tasks: Tasks, *, visible: bool) -> Iterator[Progress]:
    """Show a spinner while the block runs."""
    if not visible:
        yield Quiet()
        return
    from rich.console import Console
    from rich.live import Live

    spinner = _Spinner(phase, tasks)
    # A stream of its own, since stderr may be redirected meanwhile, to silence a JVM.
    settings: dict[str, Any] = {
        "refresh_per_second": 5,
        "transient": True,
        "redirect_stdout": False,
        "redirect_stderr": False,
    }
    with os.fdopen(os.dup(sys.stderr.fileno()), "w") as stream, Live(spinner, console=Console(file=stream), **settings):
        yield spinner


class _Spinner:
    """The phase, and how long it has taken."""

    def __init__(self, phase: str, tasks: Tasks) -> None:
        from rich.spinner import Spinner

        self._spinner, self._tasks = Spinner("dots"), tasks
        self.phase(phase)

    def phase(self, text: str) -> None:
        self._text, self._since, self._done = text, time.monotonic(), ""

    def so_far(self, done: int, of: int | None = None) -> None:
        self._done = f", {done:,}" + ("" if of is None else f" of {of:,} {_bar(done, of)}")

    def __rich__(self) -> RenderableType:
        done = ""
        with suppress(Exception):  # The work itself will report whatever is wrong.
            found = self._tasks()
            done = f", task {found[0]:,} of {found[1]:,}" if found else ""
        self._spinner.update(text=f"{self._text} … {time.monotonic() - self._since:.0f} s{self._done}{done}")
        return self._spinner


_BAR_WIDTH = 20


def _bar(done: int, of: int) -> str:
    full = _BAR_WIDTH * done // max(of, 1)
    return "━" * full + "╌" * (_BAR_WIDTH - full)
