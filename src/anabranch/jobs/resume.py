"""resume: continue a failed or interrupted job, from the catalogue's record and its function's file."""

from __future__ import annotations

from anabranch.errors import InvalidRequest
from anabranch.jobs.code import code_hash
from anabranch.jobs.function_file import load_function
from anabranch.jobs.job import Job, JobResult
from anabranch.jobs.past_jobs import last_commit, request_of
from anabranch.repo.repository import Repository


def resume_job(repo: Repository, which: str) -> JobResult:
    """Run the unfinished shards of a job and publish it; if it was published already, return that commit."""
    record = repo.workbook.find_job(which)
    done = last_commit(repo, record.branch, id=record.id)
    if done is not None:
        repo.workbook.note_published(record.key, done.hash)
        return JobResult(record.name, done, reused=True)
    if record.state == "published":
        message = f"job {record.id} ({record.name}) was published, and {record.branch!r} does not show it any more"
        raise InvalidRequest(message, hint="make the job again: it is run as if new")
    asked = request_of(record, load_function(record.options["function"], record.id))
    if code_hash(asked.function, asked.version) != record.options["code"]:
        message = f"the code of job {record.id} ({record.name}) changed since it began"
        raise InvalidRequest(message, hint="make the job again: what other code made is not mixed with what this makes")
    return Job(repo, asked).run(record.key)
