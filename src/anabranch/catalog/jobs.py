"""A log of jobs and their shards. What a job published is recorded by commits alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.engine import Connection, Row

from anabranch.catalog.leases import Ending, record_of
from anabranch.catalog.store import now
from anabranch.catalog.work_tables import job_shards, jobs
from anabranch.model.ids import RepositoryId, new_id


@dataclass(frozen=True)
class JobRecord:
    """A job as the catalogue keeps it: one code with one set of inputs, however often it was tried."""

    id: str
    name: str
    key: str
    branch: str
    state: str
    """running, failed or published."""
    inputs: Mapping[str, Any]
    """By name: what the input is called, and the commit it is read at."""
    options: Mapping[str, Any]
    """What was asked for, and where its function is."""
    prefix: str
    """The name of the folder its shards work in."""
    shard_count: int
    author: str
    started_at: int
    commit_hash: str | None = None
    error: Mapping[str, Any] | None = None
    finished_at: int | None = None


def begin_job(cx: Connection, repository: RepositoryId, asked: Mapping[str, Any]) -> JobRecord:
    """Record that a job begins, or resumes if it began before and was not published."""
    begun = {"state": "running", "error": None, "started_at": now(cx), "finished_at": None, **asked}
    known = select(jobs.c.id).where(
        jobs.c.repository_id == repository, jobs.c.key == asked["key"], jobs.c.state != "published"
    )
    found = cx.scalar(known.order_by(jobs.c.started_at.desc()).limit(1))
    if found is None:
        found = new_id("j")
        cx.execute(jobs.insert(), [{"id": found, "repository_id": repository, **begun}])
    else:
        cx.execute(update(jobs).where(jobs.c.id == found).values(**begun))
    return record_of(JobRecord, cx.execute(select(jobs).where(jobs.c.id == found)).one())


def find_unfinished(cx: Connection, repository: RepositoryId, key: str) -> JobRecord | None:
    """Find the newest record with a key that was not published."""
    known = select(jobs).where(jobs.c.repository_id == repository, jobs.c.key == key, jobs.c.state != "published")
    row = cx.execute(known.order_by(jobs.c.started_at.desc()).limit(1)).one_or_none()
    return None if row is None else record_of(JobRecord, row)


def end_job(cx: Connection, id_: str, ending: Ending, shards: Sequence[Mapping[str, Any]]) -> None:
    """Record how a job ended, and what became of each shard."""
    cx.execute(update(jobs).where(jobs.c.id == id_).values(**ending.values(cx)))
    cx.execute(job_shards.delete().where(job_shards.c.job_id == id_))
    if shards:
        cx.execute(job_shards.insert(), [{"job_id": id_, **shard} for shard in shards])


def note_published(cx: Connection, repository: RepositoryId, key: str, commit: str) -> None:
    """Record a publication for a driver that died right after it."""
    of_key = (jobs.c.repository_id == repository) & (jobs.c.key == key) & (jobs.c.state != "published")
    cx.execute(update(jobs).where(of_key).values(**Ending("published", commit).values(cx)))


def list_jobs(
    cx: Connection, repository: RepositoryId, name: str | None = None, limit: int | None = None
) -> list[JobRecord]:
    """List the jobs, newest first."""
    query = select(jobs).where(jobs.c.repository_id == repository).order_by(jobs.c.started_at.desc(), jobs.c.id)
    if name is not None:
        query = query.where(jobs.c.name == name)
    return [record_of(JobRecord, row) for row in cx.execute(query.limit(limit) if limit is not None else query)]


def list_shards(cx: Connection, job: str) -> list[Row[Any]]:
    """List what became of a job's shards."""
    return list(cx.execute(select(job_shards).where(job_shards.c.job_id == job).order_by(job_shards.c.number)))


def remove_job(cx: Connection, id_: str) -> None:
    """Forget a job; what it published stays."""
    cx.execute(job_shards.delete().where(job_shards.c.job_id == id_))
    cx.execute(jobs.delete().where(jobs.c.id == id_))
