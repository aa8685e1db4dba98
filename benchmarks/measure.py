"""Timing side by side, and what a measurement says. What is measured is left to the benchmarks."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
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

    def rounds(self, wanted: int) -> int:
        """How often to repeat: a smoke test is content with little."""
        return min(wanted, 2) if self.quick else wanted


@dataclass(frozen=True)
class Measured:
    """Two times of one run, and the greatest ratio that is allowed."""

    name: str
    size: str
    baseline: float
    ours: float
    limit: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline

    @property
    def ok(self) -> bool:
        return self.limit is None or self.ratio <= self.limit

    def document(self) -> dict[str, Any]:
        """The measurement as plain values."""
        times = {"baseline_seconds": self.baseline, "ours_seconds": self.ours, "ratio": round(self.ratio, 3)}
        return {"name": self.name, "size": self.size, **times, "limit": self.limit, "ok": self.ok}


@dataclass(frozen=True)
class Times:
    """How long each repetition of one task took, in seconds."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def worst(self) -> float:
        return max(self.seconds)


@dataclass(frozen=True)
class Task:
    """What is timed, and what has to be done before each time without being timed."""

    run: Callable[[Any], object]
    prepare: Callable[[int], Any] = field(default=lambda number: number)
    """Takes the number of the round; what it returns is handed to `run`."""


def side_by_side(tasks: Mapping[str, Task], rounds: int, warm_up: int = 1) -> dict[str, Times]:
    """Time tasks in turns, every other round in reverse, so that a busy machine slows all of them alike."""
    gc.collect()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(-warm_up, rounds):
        order = list(tasks) if number % 2 == 0 else list(reversed(tasks))
        for name in order:
            spent = _time(tasks[name], number + warm_up)
            if number >= 0:
                seconds[name].append(spent)
    return {name: Times(tuple(found)) for name, found in seconds.items()}


def _time(task: Task, number: int) -> float:
    given = task.prepare(number)
    gc.disable()
    try:
        start = time.perf_counter()
        task.run(given)
        return time.perf_counter() - start
    finally:
        gc.enable()
