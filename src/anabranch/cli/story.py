"""How the demo speaks: numbered steps, the Python code for each, tables, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import indent
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.tables import Heading, screen_width, table_lines
from anabranch.cli.output.text import emit, flush, paint

if TYPE_CHECKING:
    from anabranch import Repository
    from anabranch.cli.session import Session

_LABEL = "   "
"""The indentation of everything in a step."""


@dataclass
class StepOutput:
    """A story in steps. With --json it is silent, and only keeps the times."""

    session: Session
    repo: Repository
    times: list[dict[str, Any]] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        """Print a line."""
        if not self.session.json:
            emit(text)
            flush()

    def table(self, headings: Sequence[Heading], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table."""
        if not self.session.json:
            for line in table_lines(headings, rows, screen_width() - len(_LABEL)):
                self.say(_LABEL + line)

    @contextmanager
    def step(self, title: str, code: str = "") -> Iterator[None]:
        """Run a step: print its title and code, then its output, then how long it took."""
        self.say()
        self.say(paint(f"{len(self.times) + 1}. {title}", "bold"))
        if code:
            self.say(paint(indent(code.strip("\n"), _LABEL), "cyan"))
        started = time.perf_counter()
        kept: dict[str, Any] = {"step": title, "seconds": 0.0}
        self.times.append(kept)
        yield
        if not kept["seconds"]:
            self.clock(started)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Time the part of a step that does the work, showing a spinner."""
        started = time.perf_counter()
        with self.session.progress(what, self.repo):
            yield
        self.clock(started)

    def clock(self, started: float) -> None:
        """Print and keep the time since then."""
        seconds = time.perf_counter() - started
        self.times[-1]["seconds"] = round(seconds, 4)
        shown = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
        self.say(paint(f"{_LABEL}→ {shown}", "green"))
