"""What jobs have read and made before: told by their newest commit, or by their record if they are unfinished."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from anabranch.catalog.jobs import JobRecord
from anabranch.jobs.dealt import FilesInput, JobInput, Pinned, PinnedFiles
from anabranch.jobs.function_file import place_of
from anabranch.jobs.inputs import DatasetInput, Pin
from anabranch.jobs.request import JobRequest
from anabranch.model.commits import Commit
from anabranch.model.facts import JOB
from anabranch.plan.shards import ShardBy
from anabranch.repo.branches.own_commits import Mark, OwnCommit
from anabranch.repo.repository import Repository


def last_commit(repo: Repository, branch: str, **told: str) -> Commit | None:
    """The newest commit of a job among a branch's first parents that was not reverted, by the job's name or id."""
    found = own_commits(repo, branch, **told)
    return repo.show(found[-1].hash) if found else None


def own_commits(repo: Repository, branch: str, **told: str) -> list[OwnCommit]:
    """The commits of a job among a branch's first parents, oldest first, without those that were reverted."""
    return repo.workbook.own_commits(branch, [Mark(JOB, lambda said: told.items() <= said.items())])


def facts_of(
    asked: JobRequest, key: str, code: str, job_id: str, pins: Mapping[str, Pinned], base: Commit | None
) -> dict[str, Any]:
    """The facts of a job's commit."""
    read = {name: as_document(p) for name, p in pins.items()}
    said = {"name": asked.name, "key": key, "code": code, "id": job_id, "shards": asked.shards}
    modes = {name: getattr(asked, name) for name in ("mode", "file_mode") if getattr(asked, name) not in ("own", None)}
    since = {"base": base.hash} if base else {}
    return JOB.facts({**said, **modes, **since, "inputs": read})


def as_document(pinned: Pinned) -> dict[str, Any]:
    """A pinned input as JSON."""
    described = dict(vars(pinned))
    return described if isinstance(pinned, Pin) else {**described, "files": [list(f) for f in pinned.files]}


def pins_of(base: Commit | None) -> dict[str, Pinned]:
    """The inputs that a job's commit was made from."""
    said = JOB.value(base.facts) if base else None
    return {name: _pinned(document) for name, document in said["inputs"].items()} if said else {}


def _pinned(said: Mapping[str, Any]) -> Pinned:
    if "table" in said:
        return Pin(said["repository"], said["table"], said["commit"], said["version"])
    return PinnedFiles(said["repository"], said["commit"], tuple((p, s, i) for p, s, i in said["files"]))


_KEPT = ("table", "key", "shards", "params", "version", "incremental", "keep_shards", "local", "author")
_KEPT_LATER = ("mode", "file_mode", "parent")
"""Options that records of earlier versions do not have."""


def to_remember(asked: JobRequest, code: str, pins: Mapping[str, Pinned]) -> dict[str, Any]:
    """What the catalogue keeps of a job, by name."""
    by = [asked.shard_by.files, asked.shard_by.rows, asked.shard_by.column]
    schema = None if asked.schema is None else base64.b64encode(asked.schema.serialize()).decode()
    options = {name: getattr(asked, name) for name in (*_KEPT, *_KEPT_LATER)}
    where = {"function": place_of(asked.function), "code": code, "shard_by": by, "schema": schema}
    inputs = {name: _input(asked.inputs[name], pinned) for name, pinned in pins.items()}
    return {"options": {**options, "params": dict(asked.params), **where}, "inputs": inputs}


def _input(given: JobInput, pinned: Pinned) -> dict[str, Any]:
    own = {"pattern": given.pattern} if isinstance(given, FilesInput) else {"table": given.table}
    label = replace(given, at=None if given.at == pinned.commit else given.at).label
    described: dict[str, Any] = {"label": label, **own, "repository": pinned.repository, "commit": pinned.commit}
    described |= {"whole": True} if given.whole else {}
    return {**described, "files": len(pinned.files)} if isinstance(pinned, PinnedFiles) else described


def request_of(record: JobRecord, function: Any) -> JobRequest:
    """The original request, with each input at the commit that it was read at."""
    options = {name: record.options[name] for name in _KEPT}
    options |= {name: record.options[name] for name in _KEPT_LATER if name in record.options}
    files, rows, column = record.options["shard_by"]
    schema = record.options["schema"]
    return JobRequest(
        function,
        record.name,
        {name: _pinned_input(said) for name, said in record.inputs.items()},
        record.branch,
        **{**options, "key": tuple(options["key"])},
        shard_by=ShardBy(files, rows, column),
        schema=None if schema is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema))),
    )


def _pinned_input(said: Mapping[str, Any]) -> JobInput:
    """An input at the commit that it was read at."""
    whole = said.get("whole", False)
    if "pattern" in said:
        return FilesInput(said["pattern"], said["repository"], said["commit"], whole)
    return DatasetInput(said["table"], said["repository"], said["commit"], whole=whole)
