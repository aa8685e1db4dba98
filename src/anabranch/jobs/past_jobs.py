"""What a job has read and made before, according to the facts of its newest commit on the output branch alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anabranch.jobs.dealt import Pinned, PinnedFiles
from anabranch.jobs.inputs import Pin
from anabranch.jobs.request import JobRequest

if TYPE_CHECKING:
    from anabranch.model.commits import Commit
    from anabranch.repo.repository import Repository

FACT = "job"
"""The fact in commits of jobs: name, key, code, the job's id, and what was read."""


def last_commit(repo: Repository, asked: JobRequest) -> Commit | None:
    """The newest commit of a job on its branch."""
    found = (hash_ for hash_, said in repo.workbook.facts(FACT, asked.output) if said.get("name") == asked.name)
    newest = next(found, None)
    return repo.show(newest) if newest else None


def commit_of(repo: Repository, branch: str, job_id: str) -> Commit | None:
    """The commit that a job published on a branch, however its driver ended."""
    found = (hash_ for hash_, said in repo.workbook.facts(FACT, branch) if said.get("id") == job_id)
    there = next(found, None)
    return repo.show(there) if there else None


def facts_of(asked: JobRequest, key: str, code: str, job_id: str, pins: Mapping[str, Pinned]) -> dict[str, Any]:
    """The facts of a job's commit."""
    read = {name: as_document(p) for name, p in pins.items()}
    said = {"name": asked.name, "key": key, "code": code, "id": job_id, "shards": asked.shards}
    return {FACT: {**said, "inputs": read}}


def as_document(pinned: Pinned) -> dict[str, Any]:
    """A pinned input as JSON."""
    if isinstance(pinned, Pin):
        where = {"repository": pinned.repository, "table": pinned.table}
        return {**where, "commit": pinned.commit, "version": pinned.version}
    return {"repository": pinned.repository, "commit": pinned.commit, "files": [list(f) for f in pinned.files]}


def pins_of(base: Commit | None) -> dict[str, Pinned]:
    """The inputs that a job's commit was made from."""
    said = base.facts[FACT]["inputs"] if base else {}
    return {name: _pinned(document) for name, document in said.items()}


def _pinned(said: Mapping[str, Any]) -> Pinned:
    if "table" in said:
        return Pin(said["repository"], said["table"], said["commit"], said["version"])
    return PinnedFiles(said["repository"], said["commit"], tuple((p, s, i) for p, s, i in said["files"]))
