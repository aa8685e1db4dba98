"""Publishes what the shards of a job made: rows and files in shard order, in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import InvalidRequest, RunFailed
from anabranch.jobs.dealt import Pinned
from anabranch.jobs.past_jobs import last_commit
from anabranch.jobs.request import JobRequest

if TYPE_CHECKING:
    from anabranch.model.commits import Commit
    from anabranch.objects.workplaces import Workplace
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.repository import Repository

Manifests = Sequence[Mapping[str, Any]]


_RETRIES = 10


class _IsPublished(Exception):
    """The branch has this job's commit already."""


@dataclass(frozen=True)
class JobOutput:
    """Where the output of a job goes, and what its commit says."""

    repo: Repository
    asked: JobRequest
    place: Workplace
    job_id: str
    facts: Mapping[str, Any]
    pins: Mapping[str, Pinned]
    replace_all: bool
    """Whether the shards made all of the output, not only what is new."""


def publish_output(output: JobOutput, done: Manifests) -> Commit:
    """Commit the rows and files of all shards.

    The branch is searched for the job's own commit only after this commit has begun, and a strict commit fails if
    anybody wrote the table since: of two drivers of one job, one publishes, and the other finds what it published.
    """
    repo, asked, place, replace_all = output.repo, output.asked, output.place, output.replace_all
    origins = {name: f"{p.repository}@{p.commit}" for name, p in output.pins.items()}
    rows, files = _rows(asked, place, done), _files(asked, done)
    if asked.keep_shards:
        _keep(repo, asked, place, done)

    def write(tx: Transaction) -> None:
        if last_commit(repo, asked.output, id=output.job_id) is not None:
            raise _IsPublished
        if rows is not None:
            _write_rows(tx, asked, rows, replace_all=replace_all)
        elif replace_all and _has_table(tx, asked):
            tx.table(str(asked.table)).delete()
        _write_files(tx, place, files, replace_all=replace_all)

    message = f"job {asked.name}, {len(done)} shard{'' if len(done) == 1 else 's'}"
    said: dict[str, Any] = {"author": asked.author, "provenance": origins, "facts": output.facts}
    try:
        made = repo.commit(asked.output, message, strict=True, allow_empty=True, retry=_RETRIES, **said)(write)
    except _IsPublished:
        made = last_commit(repo, asked.output, id=output.job_id)
    assert made is not None
    return made


def _rows(asked: JobRequest, place: Workplace, done: Manifests) -> pa.Table | None:
    parts = [_read_rows(place, d) for d in done if d["rows"]]
    if not parts:
        return None
    if asked.table is None:
        message = f"job {asked.name!r} gave rows and has no table for them"
        raise InvalidRequest(message, hint="say table= (and key=), or let the function give nothing")
    return pa.concat_tables(parts, promote_options="permissive")


def _read_rows(place: Workplace, described: Mapping[str, Any]) -> pa.Table:
    """The rows of a shard, checked against its manifest; in a folder they are memory-mapped, so read only when used."""
    with place.open(f"{described['folder']}/rows.arrow") as source:
        found = pa.ipc.open_file(source).read_all()
    if found.num_rows != described["rows"]:
        message = f"shard {described['shard']} made {described['rows']} rows, but {found.num_rows} are there"
        raise RunFailed(message, hint="forget what its shards left (`ana job rm`), then run it again")
    return found


def _write_rows(tx: Transaction, asked: JobRequest, rows: pa.Table, *, replace_all: bool) -> None:
    """Write rows to the output's table; makes the table if there is none."""
    assert asked.table is not None
    if not _has_table(tx, asked):
        tx.create_table(asked.table, rows, key=list(asked.key) or None)
    elif replace_all:
        tx.table(asked.table).overwrite(rows)
    elif asked.key:
        tx.table(asked.table).upsert(rows)
    else:
        tx.table(asked.table).insert(rows)


def _has_table(tx: Transaction, asked: JobRequest) -> bool:
    return asked.table in {name for name, kind, _ in tx.all_names() if kind == "table"}


FileParts = Mapping[str, list[tuple[str, str]]]
"""The parts of each path: verb and name in the workplace."""
_FILES_AT_ONCE = 64


def _write_files(tx: Transaction, place: Workplace, files: FileParts, *, replace_all: bool) -> None:
    """Assemble each file from its parts."""
    listed = list(files.items())
    for start in range(0, len(listed), _FILES_AT_ONCE):
        some = listed[start : start + _FILES_AT_ONCE]
        contents = iter(place.read([name for _, parts in some for _, name in parts]))
        for path, parts in some:
            write = tx.files.put if replace_all or parts[0][0] == "put" else tx.files.append
            write(path, b"".join(next(contents) for _ in parts))


def _files(asked: JobRequest, done: Manifests) -> FileParts:
    """The parts of each file in shard order; refuses a file that two shards put."""
    found: dict[str, list[tuple[str, str]]] = {}
    by: dict[str, int] = {}
    for d in done:
        for written in d["files"]:
            path, verb = written["path"], written["verb"]
            if path in found and "put" in (verb, found[path][0][0]) and by[path] != d["shard"]:
                message = f"job {asked.name!r} published nothing: shards {by[path]} and {d['shard']} both made {path!r}"
                raise RunFailed(message, hint="let them append to it, or give each a path of its own", path=path)
            if verb == "put":
                found[path] = []
            found.setdefault(path, []).append((verb, f"{d['folder']}/{written['file']}"))
            by[path] = d["shard"]
    return found


def _keep(repo: Repository, asked: JobRequest, place: Workplace, done: Manifests) -> None:
    """Make a branch for each shard with what it made, from the output's head."""
    head = repo.show(asked.output).hash
    there = {b.name for b in repo.branches()}
    for d in done:
        name = f"job/{asked.name}/shard-{d['shard']:05}"
        if name in there:
            repo.delete_branch(name, force=True)
        repo.branch(name, at=head)
        with repo.commit(name, f"shard {d['shard']} of job {asked.name}") as tx:
            rows = _rows(asked, place, [d])
            if rows is not None:
                _write_rows(tx, asked, rows, replace_all=False)
            _write_files(tx, place, _files(asked, [d]), replace_all=False)
