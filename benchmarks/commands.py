"""How soon commands that read the catalogue answer, each in a fresh process, against half a second."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anabranch as ab
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, side_by_side, tell

HALF_A_SECOND = 0.5
COMMANDS = ("log", "status", "branch", "tag", "ls", "show", "diff --summary v1 main")
ROUNDS = 21


def start(scale: Scale) -> Iterator[Measured]:
    """Run commands in a repository with two commits; the median counts, as everywhere."""
    folder = scale.folder / "commands"
    with ab.init(folder, engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", [{"id": i, "quantity": 1} for i in range(100)], key="id")
        repo.tag("v1")
        with repo.commit("main", "change") as tx:
            tx.table("orders").update({"quantity": "2"}, where="id < 10")
    tasks = {command: Task(lambda _, c=command: _run(folder, c)) for command in COMMANDS}
    times = side_by_side(tasks, scale.rounds(ROUNDS), patience=scale.patience)
    for command, spent in times.items():
        ratio = spent.median / HALF_A_SECOND
        yield Measured(f"ana {command}", "2 commits", HALF_A_SECOND, spent.median, ratio, LIMITS["start"])


def _run(folder: Path, command: str) -> None:
    ana = Path(sys.executable).with_name("ana")
    subprocess.run([ana, "--store", folder, *command.split()], check=True, stdout=subprocess.DEVNULL)


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run the only benchmark there is."""
    return [told for found in start(scale) for told in tell([found])]
