"""A log of pipeline runs and their expectations. How far a pipeline got is recorded by commits alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.engine import Connection, Row

from anabranch.catalog.leases import Ending, record_of
from anabranch.catalog.store import now
from anabranch.catalog.work_tables import expectations, runs
from anabranch.model.ids import RepositoryId, new_id

_AT_ONCE = 500
"""Runs per statement."""


@dataclass(frozen=True)
class RunRecord:
    """One run of a pipeline, as the catalogue keeps it."""

    id: str
    pipeline: str
    number: int
    branch: str
    output: str
    state: str
    """running, published or failed."""
    steps: Sequence[Mapping[str, Any]]
    author: str
    started_at: int
    commit_hash: str | None = None
    error: Mapping[str, Any] | None = None
    finished_at: int | None = None


def begin_run(cx: Connection, repository: RepositoryId, pipeline: str, output: str, author: str) -> RunRecord:
    """Record that a run begins, under the next number of its pipeline."""
    newest = cx.scalar(
        select(func.max(runs.c.number)).where(runs.c.repository_id == repository, runs.c.pipeline == pipeline)
    )
    number = (newest or 0) + 1
    begun: dict[str, Any] = {
        "id": new_id("u"),
        "pipeline": pipeline,
        "number": number,
        "branch": f"run/{pipeline}-{number}",
        "output": output,
        "state": "running",
        "steps": [],
        "author": author,
        "started_at": now(cx),
    }
    cx.execute(runs.insert(), [{"repository_id": repository, **begun}])
    return RunRecord(**begun)


def end_run(
    cx: Connection,
    id_: str,
    ending: Ending,
    steps: Sequence[Mapping[str, Any]],
    checked: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Record how a run ended, and how its expectations were met."""
    cx.execute(update(runs).where(runs.c.id == id_).values(steps=list(steps), **ending.values(cx)))
    if checked:
        cx.execute(expectations.insert(), [{"run_id": id_, "number": n, **c} for n, c in enumerate(checked)])


def list_runs(
    cx: Connection, repository: RepositoryId, pipeline: str | None = None, limit: int | None = None
) -> list[RunRecord]:
    """List the runs, newest first."""
    query = (
        select(runs).where(runs.c.repository_id == repository).order_by(runs.c.started_at.desc(), runs.c.number.desc())
    )
    if pipeline is not None:
        query = query.where(runs.c.pipeline == pipeline)
    return [record_of(RunRecord, row) for row in cx.execute(query.limit(limit) if limit is not None else query)]


def list_expectations(cx: Connection, run_ids: Sequence[str]) -> list[Row[Any]]:
    """List the expectations of runs, and how they were met."""
    query = select(expectations).order_by(expectations.c.run_id, expectations.c.number)
    parts = (run_ids[n : n + _AT_ONCE] for n in range(0, len(run_ids), _AT_ONCE))
    return [row for part in parts for row in cx.execute(query.where(expectations.c.run_id.in_(part)))]
