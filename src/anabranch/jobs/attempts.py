"""What attempts at shards left in a job's workplace: manifests of those that count, tracebacks of failed ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from anabranch.jobs.runner import ShardTask
from anabranch.repo.branches.jobs import counts_of

PATHS_KEPT = 20
"""How many paths of a shard's inputs are remembered."""


@dataclass(frozen=True)
class ShardAttempts:
    """The shards of a job as its workplace showed them at one time; later attempts don't change what was seen."""

    task: ShardTask

    def again(self) -> ShardAttempts:
        """A fresh view of the workplace."""
        return ShardAttempts(self.task)

    @cached_property
    def waiting(self) -> list[int]:
        """The shards that no attempt has finished."""
        return [n for n in range(self.task.count) if n not in self._winners]

    @cached_property
    def manifests(self) -> dict[int, dict[str, Any]]:
        """What each finished shard made, in shard order."""
        numbers = sorted(self._winners)
        found = self.task.place.read([self._winners[n] for n in numbers])
        return {n: json.loads(content) for n, content in zip(numbers, found, strict=True)}

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """What failed attempts reported, in shard order, each with the file that says so."""
        names = self.task.place.names("failed")
        found = self.task.place.read([f"failed/{n}" for n in names])
        return [{**json.loads(content), "file": name} for name, content in zip(names, found, strict=True)]

    def see_failures(self) -> None:
        """Look at the failures now, so that those of later attempts can be told from them."""
        _ = self.failures

    @cached_property
    def _winners(self) -> dict[int, str]:
        found: dict[int, str] = self.task.place.winners()
        return found

    def paths(self, number: int) -> list[str]:
        """The files that a shard reads."""
        return [f["path"] for dealt in self.task.files.values() for f in dealt[number]]

    def diary(self) -> list[dict[str, Any]]:
        """What became of each shard, as the catalogue records it."""
        begun = Counter(int(name.partition("-")[0]) for name in self.task.place.names("attempts"))
        last = {f["shard"]: f for f in self.failures}
        failed = Counter(f["shard"] for f in self.failures)
        waiting = set(self.waiting)
        return [self._entry(n, begun[n] + failed[n], last.get(n), n in waiting) for n in range(self.task.count)]

    def _entry(self, n: int, attempts: int, failure: Mapping[str, Any] | None, waits: bool) -> dict[str, Any]:
        described = self.manifests.get(n, {})
        state = "finished" if not waits else "failed" if failure else "waiting"
        return {
            "number": n,
            "state": state,
            "attempts": attempts,
            "path": described.get("folder"),
            "inputs": self.paths(n)[:PATHS_KEPT],
            "counts": counts_of(described) if described else None,
            "error": failure and {"message": failure["error"], "trace": failure["trace"], "log": failure["log"]},
        }
