"""Take one system through the tasks, in a process of its own: seconds, results and megabytes, as one line of JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.work import Work

SCANS = 8


class System(Protocol):
    """What is measured of a system; what it can't do raises `NotImplementedError`."""

    def prepare(self, work: Work) -> None:
        """Get the inputs into the shape that the system takes; not timed."""

    def load(self) -> None: ...

    def branch(self) -> None: ...

    def change_dev(self) -> None: ...

    def change_main(self) -> None: ...

    def diff(self) -> dict[str, int]: ...

    def merge(self) -> None: ...

    def totals(self) -> list[str]:
        """Rows, sum of prices, sum of quantities at the head; not timed."""

    def prepare_conflicts(self) -> None:
        """Two branches of main that set the same prices otherwise; not timed."""

    def conflicts(self) -> int:
        """Merge them and list the conflicts row by row."""

    def leave_conflicts(self) -> None:
        """Go back to main, and leave that merge; not timed."""

    def scan(self, first: bool = False) -> dict[str, str]: ...

    def small_commit(self, name: str) -> None: ...

    def compact(self) -> None: ...

    def close(self) -> None: ...


class Walk:
    """Times and results of one system."""

    def __init__(self, system: System, work: Work, folder: Path) -> None:
        self._system, self._work, self._folder = system, work, folder
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.results: dict[str, Any] = {}

    def document(self) -> dict[str, Any]:
        """Do everything; returns what was found."""
        system = self._system
        system.prepare(self._work)
        self._time("W1 load", system.load)
        loaded = megabytes(self._folder)
        self._time("W2 branch", system.branch)
        self._time("W3 commit on dev", system.change_dev)
        self._time("W4 commit on main", system.change_main)
        self._time("W5 diff", system.diff, keep=True)
        self._time("W6 merge", system.merge)
        self.results["W6 merge"] = system.totals()
        self._conflicts()
        self._best("W8 head", system.scan)
        self._best("W8 first", lambda: system.scan(first=True))
        self._small_commits()
        self._best("W9 scan", system.scan)
        self._time("W10 compact", system.compact)
        self._best("W10 scan", system.scan)
        system.close()
        sizes = {"W1 megabytes": loaded, "W10 megabytes": megabytes(self._folder)}
        return {"seconds": self.seconds, "processor": self.processor, "results": self.results, "megabytes": sizes}

    def _conflicts(self) -> None:
        try:
            self._system.prepare_conflicts()
        except NotImplementedError:
            return
        self._time("W7 conflicts", self._system.conflicts, keep=True)
        self._system.leave_conflicts()

    def _small_commits(self) -> None:
        times = []
        for name in self._work.small:
            self._time("W9 commit", lambda name=name: self._system.small_commit(name))
            times.append((self.seconds["W9 commit"], self.processor["W9 commit"]))
        self.seconds["W9 commit"], self.processor["W9 commit"] = map(statistics.median, zip(*times, strict=True))

    def _best(self, name: str, run: Callable[[], Any]) -> None:
        """The best of several: a JVM is at full speed only after some rounds, and not every system used it before."""
        for _ in range(SCANS):
            before = [spent.get(name, float("inf")) for spent in (self.seconds, self.processor)]
            self._time(name, run, keep=True)
            for least, spent in zip(before, (self.seconds, self.processor), strict=True):
                spent[name] = min(least, spent[name])

    def _time(self, name: str, run: Callable[[], Any], keep: bool = False) -> None:
        others, busy, start = seconds_of_others(), time.process_time(), time.perf_counter()  # looking takes time, too
        try:
            found = run()
        except NotImplementedError:
            return
        self.seconds[name], busy = time.perf_counter() - start, time.process_time() - busy
        self.processor[name] = busy + seconds_of_others() - others
        told = f"  {name} {self.seconds[name]:.3f} s, of a processor {self.processor[name]:.3f} s"
        print(told, file=sys.stderr, flush=True)
        if keep:
            self.results[name] = found


def seconds_of_others() -> float:
    """What processes that this one started, a JVM above all, have worked so far."""
    others = (Path(entry.path) for entry in os.scandir("/proc") if entry.name.isdigit())
    return sum(map(_ticks, others)) / os.sysconf("SC_CLK_TCK")


def _ticks(process: Path) -> int:
    """The time of another process, and of its children that ended, if it is of the session that we lead."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    ours = int(fields[3]) == os.getpid() and process.name != str(os.getpid())
    return sum(map(int, fields[11:15])) if ours else 0


def megabytes(folder: Path) -> float:
    """All that the system has on disk."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main(make: Callable[[Path], System]) -> None:
    """Run a system: `python -m benchmarks.peers.X INPUTS ROWS FOLDER`.

    It goes through everything once with few rows before, so that nobody pays for imports and first plans.
    """
    inputs, rows, folder = sys.argv[1:4]
    for name, work in (("warm", Work(Path(inputs) / "warm", 0)), ("run", Work(Path(inputs), int(rows)))):
        place = Path(folder) / name
        place.mkdir(parents=True)
        found = Walk(make(place), work, place).document()
    print(json.dumps(found), flush=True)
