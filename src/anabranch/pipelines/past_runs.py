"""How far a pipeline got, read only from the facts and provenance of its newest commit on the output branch.

So a reset or a revert of the output also rewinds the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.plan.pipeline import LastRun

if TYPE_CHECKING:
    from anabranch.repo.repository import Repository

FACT = "pipeline"
"""The fact in commits of pipelines: name, run, datasets with their code and what they read."""


@dataclass(frozen=True)
class LastState:
    """What the newest commit of a pipeline on a branch says."""

    commit: str
    datasets: Mapping[str, LastRun]
    pins: Mapping[str, str]
    """The commits at which outside tables were read, by label."""
    commits: frozenset[str]
    """All commits of the pipeline, to tell its own changes from others'."""


def last_state(repo: Repository, pipeline: str, branch: str) -> LastState | None:
    """Read the newest commit of a pipeline that a branch reaches; None if there is none."""
    found = [(hash_, said) for hash_, said in repo.workbook.facts(FACT, branch) if said.get("name") == pipeline]
    if not found:
        return None
    newest, said = found[0]
    datasets = {name: LastRun(d["code"], d["versions"]) for name, d in said["datasets"].items()}
    return LastState(newest, datasets, said["inputs"], frozenset(hash_ for hash_, _ in found))
