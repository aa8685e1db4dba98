"""What attempts at shards left in a job's folder: manifests of those that won, tracebacks of those that failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch.jobs.runner import ShardTask, manifest_path

PATHS_KEPT = 20
"""How many paths of a shard's inputs are remembered."""


@dataclass(frozen=True)
class ShardAttempts:
    """The shards of a job as its folder shows them."""

    task: ShardTask

    @property
    def waiting(self) -> list[int]:
        """The shards that no attempt has finished."""
        there = {path.name for path in Path(self.task.prefix).glob("shard-*.json")}
        return [n for n in range(self.task.count) if Path(manifest_path(self.task.prefix, n)).name not in there]

    def manifests(self) -> list[dict[str, Any]]:
        """What each shard made, in their order."""
        paths = (Path(manifest_path(self.task.prefix, n)) for n in range(self.task.count))
        return [json.loads(path.read_bytes()) for path in paths]

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """What failed attempts said, in the order of the shards."""
        return [json.loads(p.read_bytes()) for p in sorted(Path(self.task.prefix).glob("failed-*.json"))]

    def paths(self, number: int) -> list[str]:
        """The files that a shard reads."""
        return [f["path"] for dealt in self.task.files.values() for f in dealt[number]]

    def diary(self) -> list[dict[str, Any]]:
        """What became of each shard, as the catalogue keeps it."""
        begun = Counter(int(p.name.partition("-")[0]) for p in Path(self.task.prefix, "attempts").glob("*-*"))
        last = {f["shard"]: f for f in self.failures}
        failed = Counter(f["shard"] for f in self.failures)
        waiting = set(self.waiting)
        return [self._entry(n, begun[n] + failed[n], last.get(n), n in waiting) for n in range(self.task.count)]

    def _entry(self, n: int, attempts: int, failure: Mapping[str, Any] | None, waits: bool) -> dict[str, Any]:
        described = {} if waits else json.loads(Path(manifest_path(self.task.prefix, n)).read_bytes())
        state = "finished" if not waits else "failed" if failure else "waiting"
        return {
            "number": n,
            "state": state,
            "attempts": attempts,
            "path": described.get("folder"),
            "inputs": self.paths(n)[:PATHS_KEPT],
            "counts": _counts(described) if described else None,
            "error": failure and {"message": failure["error"], "trace": failure["trace"], "log": failure["log"]},
        }


def _counts(described: Mapping[str, Any]) -> dict[str, Any]:
    files: Sequence[Mapping[str, Any]] = described["files"]
    sizes = {"rows": described["rows"], "files": len(files), "bytes": sum(f["size"] for f in files)}
    return {**sizes, "seconds": described["seconds"], "log": described["log"]}
