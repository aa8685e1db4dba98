"""resume: continue a failed or interrupted job, from the catalogue's record and the user's own code.

A store may come from a stranger. The code to run comes from the call, or from what this machine noted when the job
began; never from the file that the catalogue names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from anabranch.catalog.jobs import JobRecord
from anabranch.errors import InvalidRequest, NotFound
from anabranch.jobs.begun_here import BegunJob, find_begun
from anabranch.jobs.code import code_hash
from anabranch.jobs.function_file import load_function, read_place
from anabranch.jobs.job import Job, JobResult, note_driver_died
from anabranch.jobs.past_jobs import last_commit, request_of
from anabranch.repo.repository import Repository


def resume_job(
    repo: Repository,
    which: str,
    function: Callable[..., Any] | str | None = None,
    rules: Mapping[str, str] | None = None,
) -> JobResult:
    """Run the unfinished shards of a job and publish it under these rules, or return the commit that it has already."""
    record = repo.workbook.find_job(which)
    done = last_commit(repo, record.branch, id=record.id)
    if done is not None:
        note_driver_died(repo, record.key, done)
        return JobResult(record.name, done, reused=True)
    if record.state == "published":
        message = f"job {record.id} ({record.name}) was published, and {record.branch!r} does not show it any more"
        raise InvalidRequest(message, hint="make the job again: it is run as if new")
    asked = replace(request_of(record, _own_function(repo, record, function)), rules=rules or {})
    if code_hash(asked.function, asked.version) != record.options.get("code"):
        message = f"the code of job {record.id} ({record.name}) changed since it began"
        raise InvalidRequest(message, hint="make the job again: what other code made is not mixed with what this makes")
    return Job(repo, asked).run(record.key)


def _own_function(repo: Repository, record: JobRecord, given: Callable[..., Any] | str | None) -> Callable[..., Any]:
    """The function as the call gives it, or else as this machine noted it; refused if there is neither."""
    if isinstance(given, str):
        return load_function(read_place(given), record.id)
    if given is not None:
        if not callable(given):
            raise InvalidRequest("function= is no function", hint="give the function, or a text 'FILE.py:FUNCTION'")
        return given
    if record.options.get("function") is None:
        return load_function(None, record.id)
    note = find_begun(repo.workbook.store_id, record)
    if note is None:
        raise _not_noted(record)
    _check_unchanged(note, record)
    return load_function(note.function, record.id)


def _not_noted(record: JobRecord) -> InvalidRequest:
    named = record.options.get("function")
    message = f"nothing on this machine says what code job {record.id} ({record.name}) began with"
    if isinstance(named, dict):
        message += f"; its store names {named.get('name')!r} in {named.get('file')!r}, which is not run on its word"
    hint = f"if you have its code, name it: `{_command(record)}`, or repo.resume_job(…, function=…)"
    return InvalidRequest(message, hint=hint)


def _check_unchanged(note: BegunJob, record: JobRecord) -> None:
    """Refuse code whose files changed since the job began; none of it has run yet."""
    path = note.changed_source()
    if path is None:
        return
    job = f"job {record.id} ({record.name})"
    hint = f"if it is still what you want to run, name it: `{_command(record)}`; or make the job again"
    if not Path(path).is_file():
        raise NotFound(f"the code of {job} was in {path}, which is gone", hint=hint)
    raise InvalidRequest(f"the code of {job} changed since it began, in {path}", hint=hint)


def _command(record: JobRecord) -> str:
    return f"ana job resume {record.id} FILE.py:FUNCTION"
