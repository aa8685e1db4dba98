"""The groups of benchmarks, and how one is run: in a fresh interpreter, so that none sees another's imports or JVM."""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.measure import Measured, Scale


@dataclass(frozen=True)
class Group:
    """Benchmarks that share a process and what they measure on."""

    name: str
    module: str
    benchmarks: tuple[str, ...]


GROUPS = (
    Group("spark", "benchmarks.on_spark", ("load", "load-driver", "scan", "scan-changed")),
    Group("process", "benchmarks.in_process", ("update-where", "update-rows", "slowest-commit", "branch")),
    Group("folds", "benchmarks.folds", ("fold-process", "fold-spark")),
    Group("damage", "benchmarks.damage", ("damage-process", "damage-spark")),
    Group("overwrites", "benchmarks.overwrites", ("overwrite-process", "overwrite-spark")),
    Group("imports", "benchmarks.imports", ("import-spark",)),
    Group("merges", "benchmarks.merges", ("merge-process", "merge-by-size", "merge-rounds", "merge-spark")),
    Group("sources", "benchmarks.several_sources", ("nway",)),
    Group("sharded", "benchmarks.shard_outputs", ("jobs",)),
    Group("incremental", "benchmarks.incremental", ("pipelines",)),
    Group("commands", "benchmarks.commands", ("start",)),
    Group("queries", "benchmarks.tpch", ("tpch",)),
    Group("objects", "benchmarks.file_counts", ("files-count",)),
    Group("files", "benchmarks.versioned_files", ("file-puts", "file-paths", "file-appends", "file-insert")),
    Group("files-classic", "benchmarks.files_on_spark", ("file-spark",)),
    Group("files-connect", "benchmarks.files_on_spark", ("file-connect",)),
    Group("roots", "benchmarks.roots", ("roots-process", "roots-on-spark", "roots-counts")),
    Group("flat", "benchmarks.flat", ("commits", "branches", "tables")),
)
NAMES = tuple(name for group in GROUPS for name in (group.name, *group.benchmarks))


def choose(asked: Sequence[str]) -> list[Group]:
    """Find benchmarks by their names, or all of a group by the group's; everything if nothing is named."""
    chosen = []
    for group in GROUPS:
        wanted = tuple(n for n in group.benchmarks if not asked or n in asked or group.name in asked)
        if wanted:
            chosen.append(Group(group.name, group.module, wanted))
    return chosen


def run_apart(group: Group, scale: Scale) -> list[Measured]:
    """Run a group in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run, group, scale).result()


def _run(group: Group, scale: Scale) -> list[Measured]:
    found: list[Measured] = importlib.import_module(group.module).run(group.benchmarks, scale)
    return found
