"""`python -m benchmarks.peers`: the ten tasks by every system, one table of seconds and ratios, results checked."""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.work import SMALL_COMMITS, Work, make_warm_up, make_work

ROOT = Path(__file__).parents[2]
OURS = sys.executable


@dataclass(frozen=True)
class Peer:
    """A system: the module that speaks to it, by the interpreter of its environment."""

    name: str
    module: str
    python: str
    arguments: tuple[str, ...] = ()


def peers(environments: Path) -> dict[str, tuple[Peer, ...]]:
    """The systems of each group; ours is the first."""
    lite, spark = (str(environments / f"{kind}/bin/python") for kind in ("process", "spark"))
    return {
        "process": (
            Peer("ours", "ours", OURS),
            Peer("doltlite", "doltlite", lite),
            Peer("DuckLake", "ducklake", lite),
        ),
        "spark": (
            Peer("ours", "ours", OURS, ("--spark",)),
            Peer("raw Spark", "on_spark", spark, ("raw",)),
            Peer("Iceberg", "on_spark", spark, ("iceberg",)),
            Peer("Delta", "on_spark", spark, ("delta",)),
        ),
    }


@dataclass(frozen=True)
class Bar:
    """The greatest ratio to a peer that a task may have; without a peer, to the best of all."""

    group: str
    task: str
    peer: str | None
    limit: float


BARS = (
    Bar("process", "W3 commit on dev", "doltlite", 1.5),
    Bar("process", "W4 commit on main", "doltlite", 1.5),
    Bar("process", "W9 commit", "doltlite", 2.0),
    Bar("process", "W5 diff", "doltlite", 0.8),
    Bar("process", "W6 merge", "doltlite", 0.8),
    Bar("process", "W7 conflicts", "doltlite", 0.8),
    Bar("process", "W8 head", "DuckLake", 2.0),
    Bar("process", "W1 load", "DuckLake", 1.6),
    Bar("process", "W10 megabytes", None, 1.0),
    Bar("spark", "W3 commit on dev", "Iceberg", 0.7),
    Bar("spark", "W4 commit on main", "Iceberg", 0.7),
    Bar("spark", "W9 commit", "Iceberg", 0.7),
    Bar("spark", "W5 diff", None, 0.3),
    Bar("spark", "W6 merge", None, 0.3),
    Bar("spark", "W1 load", "Iceberg", 1.3),
    Bar("spark", "W8 head", "raw Spark", 1.15),
    Bar("spark", "W10 megabytes", None, 1.0),
)

Found = dict[str, dict[str, float]]
"""Seconds (megabytes) of each system, by task."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a group; 1 if a system failed, a result is wrong or a bar is missed."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whoever ends this ends the system that runs, too
    with tempfile.TemporaryDirectory(prefix="anabranch-peers-", dir=asked.folder) as folder:
        inputs = Path(folder) / "inputs"
        inputs.mkdir()
        work, expected = make_work(inputs, asked.rows, asked.shuffled, asked.commits)
        make_warm_up(work, asked.commits)
        chosen = [p for p in peers(asked.environments)[asked.group] if not asked.only or p.name in asked.only]
        rounds: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in chosen}
        failed: list[str] = []
        for number in range(asked.rounds):
            for peer in chosen if number % 2 == 0 else chosen[::-1]:
                try:
                    rounds[peer.name].append(_walk(peer, work, Path(folder) / f"{peer.name}-{number}", asked.limit))
                except PeerFailed as problem:
                    failed.append(f"error: {problem}")
    wrong = [text for name, found in rounds.items() for one in found for text in _wrong(name, one, expected)]
    found = {name: _median(documents, "seconds") for name, documents in rounds.items() if documents}
    print(render(found, asked.group))
    busy = {name: _median(documents, "processor") for name, documents in rounds.items() if documents}
    print("\nIn seconds of a processor, those of a JVM included:\n\n" + render(busy, asked.group))
    if asked.json:
        asked.json.write_text(json.dumps({"rows": asked.rows, "rounds": rounds}, indent=2) + "\n")
    for text in (*failed, *wrong):
        print(text, file=sys.stderr)
    missed = [bar for bar in BARS if bar.group == asked.group and (ratio := _ratio(found, bar)) and ratio > bar.limit]
    return 1 if failed or wrong or missed else 0


class PeerFailed(Exception):
    """A system that ended with an error, or did not end in its time."""


def _walk(peer: Peer, work: Work, folder: Path, limit: float) -> dict[str, Any]:
    """Let a system do everything in a process of its own, and end it, its JVM too, when its time is over."""
    command = [peer.python, "-m", f"benchmarks.peers.{peer.module}", str(work.folder), str(work.rows), str(folder)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": peer.python, "TZ": "UTC"}
    print(f"{peer.name}, for at most {limit:g} s …", file=sys.stderr, flush=True)
    with subprocess.Popen(
        [*command, *peer.arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=ROOT,
        start_new_session=True,
    ) as running:
        try:
            output, _ = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise PeerFailed(f"{peer.name} did not end within {limit:g} s (--limit)") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    if running.returncode:
        raise PeerFailed(f"{peer.name} failed ({' '.join(command)}); make bench-peers makes its environment")
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return found


def _wrong(name: str, document: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """What a system found that is not what DuckDB worked out from the inputs; what one can't do is not looked at."""
    found = {task: result for task, result in document["results"].items() if task in expected}
    return [
        f"wrong: {name}, {task}: {result}, expected {expected[task]}"
        for task, result in found.items()
        if result != expected[task]
    ]


def _median(documents: Sequence[Mapping[str, Any]], what: str) -> dict[str, float]:
    values = [{**one[what], **one["megabytes"]} for one in documents]
    return {name: statistics.median(one[name] for one in values) for name in values[0]}


def _ratio(found: Found, bar: Bar) -> float | None:
    """Ours over the bar's peer, or over the best of all others."""
    others = [bar.peer] if bar.peer else [name for name in found if name != "ours"]
    theirs = [found[name][bar.task] for name in others if name in found and bar.task in found[name]]
    ours = found.get("ours", {}).get(bar.task)
    return ours / min(theirs) if ours is not None and theirs else None


def render(found: Found, group: str) -> str:
    """Lay everything out as one Markdown table."""
    tasks = list(dict.fromkeys(task for one in found.values() for task in one))
    bars = {bar.task: bar for bar in BARS if bar.group == group}
    head = ["seconds", *found, "bar", "ratio", "ok"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for task in sorted(tasks, key=lambda task: (int(task[1:].split()[0]), tasks.index(task))):
        cells = [f"{one[task]:.3g}" if task in one else "can't" for one in found.values()]
        lines.append(f"| {task} | {' | '.join([*cells, *_judged(found, bars.get(task))])} |")
    return "\n".join(lines)


def _judged(found: Found, bar: Bar | None) -> tuple[str, str, str]:
    ratio = _ratio(found, bar) if bar else None
    if bar is None or ratio is None:
        return "", "", ""
    return f"{bar.limit:g} of {bar.peer or 'the best'}", f"{ratio:.2f}", "yes" if ratio <= bar.limit else "**no**"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("group", choices=("process", "spark"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1, help="how often; medians count")
    parser.add_argument("--only", nargs="*", help="names of systems; all if left out")
    parser.add_argument("--shuffled", action="store_true", help="load rows that lie in no order; else by their key")
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers", help="where the peers are installed")
    parser.add_argument("--folder", type=Path, help="where to put the data; a temporary folder if left out")
    parser.add_argument(
        "--commits", type=int, default=SMALL_COMMITS, help="how many small commits; their median counts"
    )
    parser.add_argument("--limit", type=float, default=1200, help="seconds that a system may take for one round")
    parser.add_argument("--json", type=Path, help="write every round to this file, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
