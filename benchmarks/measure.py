"""Timing side by side, and what a measurement says. What is measured is left to the benchmarks."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Scale:
    """How much is measured, and where."""

    folder: Path
    """Everything is written below it; it is removed at the end."""
    rows: tuple[int, ...]
    quick: bool = False
    patience: float = 0
    """Seconds to wait, before each time that something is timed, for others to leave the machine alone."""

    def rounds(self, wanted: int) -> int:
        """How often to repeat: a smoke test is content with little."""
        return min(wanted, 2) if self.quick else wanted


@dataclass(frozen=True)
class Measured:
    """Two times of one run in seconds, their ratio, and the greatest that is allowed."""

    name: str
    size: str
    baseline: float
    ours: float
    ratio: float
    limit: float

    @property
    def ok(self) -> bool:
        return self.ratio <= self.limit

    def document(self) -> dict[str, Any]:
        """The measurement as plain values."""
        times = {"baseline_seconds": self.baseline, "ours_seconds": self.ours, "ratio": round(self.ratio, 3)}
        return {"name": self.name, "size": self.size, **times, "limit": self.limit, "ok": self.ok}


@dataclass(frozen=True)
class Times:
    """How long each repetition of one task took, in seconds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def worst(self) -> float:
        return max(self.seconds)

    def over(self, baseline: Times) -> float:
        """The median of the ratios of each round: what else the machine did then slowed both alike."""
        return statistics.median(ours / theirs for ours, theirs in zip(self.seconds, baseline.seconds, strict=True))


def compared(name: str, size: str, baseline: Times, ours: Times, limit: float) -> Measured:
    """Compare two tasks that were timed side by side."""
    return Measured(name, size, baseline.median, ours.median, ours.over(baseline), limit)


@dataclass(frozen=True)
class Task:
    """What is timed, and what has to be done before each time without being timed."""

    run: Callable[[Any], object]
    prepare: Callable[[int], Any] = field(default=lambda number: number)
    """Takes the number of the round; what it returns is handed to `run`."""


def side_by_side(
    tasks: Mapping[str, Task],
    rounds: int,
    warm_up: int = 1,
    patience: float = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Time tasks in turns, every other round in reverse, so that a busy machine slows all of them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(-warm_up, rounds):
        order = list(tasks) if number % 2 == 0 else list(tasks)[::-1]
        for name in order:
            spent = _time(tasks[name], number + warm_up, patience if number >= 0 else 0, clock)
            if number >= 0:
                seconds[name].append(spent)
    return {name: Times(tuple(found)) for name, found in seconds.items()}


def tell(measured: Sequence[Measured]) -> Sequence[Measured]:
    """Say on stderr what was found so far, for those who wait; returns it."""
    for m in measured:
        print(f"{m.name}, {m.size}: {m.ratio:.2f}", file=sys.stderr, flush=True)
    return measured


def _time(task: Task, number: int, patience: float, clock: Callable[[], float]) -> float:
    given = task.prepare(number)
    _wait_until_quiet(patience)
    gc.disable()
    try:
        start = clock()
        task.run(given)
        return clock() - start
    finally:
        gc.enable()


_GLANCE_SECONDS = 0.05
_QUIET_SHARE = 0.8


def _wait_until_quiet(patience: float) -> None:
    """Wait until the processors are idle, but no longer than this many seconds; only Linux tells."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and _STATISTICS.exists():
        busy, idle = _ticks()
        time.sleep(_GLANCE_SECONDS)
        busy_after, idle_after = _ticks()
        passed = busy_after - busy + idle_after - idle
        if passed and (idle_after - idle) / passed >= _QUIET_SHARE:
            return


_STATISTICS = Path("/proc/stat")


def _ticks() -> tuple[int, int]:
    """How long all processors together have been busy and idle."""
    user, nice, system, idle, waiting, *others = map(int, _STATISTICS.read_text().split("\n")[0].split()[1:])
    return user + nice + system + sum(others), idle + waiting


def run_each(
    benchmarks: Mapping[str, Callable[[Scale, int], Iterable[Measured]]], chosen: Sequence[str], scale: Scale
) -> list[Measured]:
    """Run benchmarks one after another at each size, telling each figure as it comes."""
    made = (found for rows in scale.rows for name in chosen for found in benchmarks[name](scale, rows))
    return [told for found in made for told in tell([found])]
