"""Datasets that a job makes: the rows and files of its shards are committed on the run's branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.errors import InvalidRequest
from anabranch.jobs.dealt import JobInput
from anabranch.jobs.inputs import DatasetInput
from anabranch.jobs.job import Job
from anabranch.jobs.request import JobRequest
from anabranch.pipelines.datasets import Dataset
from anabranch.pipelines.sources import RunState


def run_job(state: RunState, dataset: Dataset, author: str | None) -> Mapping[str, int]:
    """Run the job of a dataset over all its inputs, as of this run; returns how much it made."""
    how = dataset.sharded
    assert how is not None
    assert dataset.function is not None
    tables = {n: _as_the_run_has_it(state, i, dataset) for n, i in state.pipeline.inputs_of(dataset).items()}
    files = {n: replace(f, at=state.pins[f.label].commit) for n, f in how.files.items()}
    inputs: dict[str, JobInput] = {**tables, **files}
    asked = JobRequest(
        dataset.function,
        dataset.name,
        inputs,
        state.branch,
        dataset.name,
        dataset.key,
        shards=how.shards,
        shard_by=how.shard_by,
        params=how.params,
        version=dataset.version,
        local=how.local,
        author=author,
    )
    done = Job(state.repo, asked).run(force=True)
    return {"rows": done.rows, "files": done.files}


def _as_the_run_has_it(state: RunState, given: DatasetInput, dataset: Dataset) -> DatasetInput:
    if state.is_view(given):
        hint = "make it a materialized view"
        raise InvalidRequest(f"job {dataset.name!r} reads {given.table!r}, which is a temporary view", hint=hint)
    if state.pipeline.is_inside(given):
        return replace(given, at=state.branch)
    pinned = state.pin(given)
    return replace(given, table=pinned.table, repository=pinned.repository, at=pinned.commit)
