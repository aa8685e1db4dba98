"""Jobs and runs of pipelines as the catalogue records them; the progress of running shards is in their workplaces."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from typing import Any

from anabranch.catalog import branches
from anabranch.catalog import jobs as job_rows
from anabranch.catalog import runs as run_rows
from anabranch.catalog.history import to_datetime
from anabranch.catalog.jobs import JobRecord
from anabranch.catalog.leases import lease_holders
from anabranch.catalog.runs import RunRecord
from anabranch.errors import InvalidRequest, NotFound, Unavailable
from anabranch.model.expectations import verdict_of
from anabranch.repo.context.context import Context


def list_jobs(ctx: Context, name: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """List the jobs, newest first, as documents."""
    with ctx.catalog.read() as cx:
        held = lease_holders(cx, ctx.record.id)
        return [_document(ctx, r, held) for r in job_rows.list_jobs(cx, ctx.record.id, name, limit)]


def find_job(ctx: Context, which: str) -> dict[str, Any]:
    """Find a job, with its shards, by its id, a prefix of it, or its name, which means the newest of that name."""
    with ctx.catalog.read() as cx:
        record = find_record(ctx, which)
        held = lease_holders(cx, ctx.record.id)
        shards = [_shard(row) for row in job_rows.list_shards(cx, record.id)]
    if record.state != "published":
        shards = _finished_since(ctx, record, shards)
    options = {name: value for name, value in record.options.items() if value not in (None, [], {}, False)}
    told = {**_document(ctx, record, held), "inputs": record.inputs, "options": options, "shards": shards}
    return {**told, "finished_count": sum(s["state"] == "finished" for s in shards)} if shards else told


def find_record(ctx: Context, which: str) -> JobRecord:
    """Find a job's record in the catalogue."""
    with ctx.catalog.read() as cx:
        there = job_rows.list_jobs(cx, ctx.record.id)
    found = [r for r in there if r.id == which] or [r for r in there if r.name == which][:1]
    found = found or [r for r in there if r.id.startswith(which) and which]
    if not found:
        raise NotFound(f"there is no job {which!r}", hint="`ana job ls` lists them by id and name")
    if len(found) > 1:
        several = ", ".join(r.id for r in found[:3])
        raise InvalidRequest(f"{len(found)} jobs have ids that begin with {which!r}", hint=f"they are {several}")
    return found[0]


def remove_job(ctx: Context, which: str) -> dict[str, Any]:
    """Forget a job and remove what its shards left behind; what it published stays."""
    record = find_record(ctx, which)
    with ctx.catalog.write() as cx:
        described = _document(ctx, record, lease_holders(cx, ctx.record.id))
        if described["state"] == "running":
            raise Unavailable(f"job {record.id} ({record.name}) is running", hint="end the process that runs it first")
        job_rows.remove_job(cx, record.id)
    if ctx.owner.is_alone():
        remove_branch(ctx, side_branch_of(record.branch, record.id))
    ctx.root.workplace(record.prefix).remove()
    return described


def side_branch_of(output: str, job_id: str) -> str:
    """The name of the branch on which a job is merged with what others have in its output."""
    return f"{output}.job-{job_id}"


def remove_branch(ctx: Context, name: str) -> None:
    """Remove a branch, if there is one of this name."""
    with ctx.writing() as cx:
        found = branches.find(cx, ctx.record.id, name)
        if found is not None:
            ctx.move(cx, found, None, "delete")


def lease_of(name: str, branch: str) -> str:
    """The name of a job's lease: only one runner at a time may work for a job name on a branch."""
    return f"job {name} on {branch}"


def is_dead(holder: str) -> bool:
    """Whether the holder of a lease was a process of this machine that no longer runs."""
    host, _, rest = holder.partition(":")
    pid = rest.partition(":")[0]
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _document(ctx: Context, r: JobRecord, held: Mapping[str, str]) -> dict[str, Any]:
    said = {"id": r.id, "name": r.name, "state": _state(r, held), "output": r.branch, "shard_count": r.shard_count}
    finished = r.shard_count if r.state == "published" else len(ctx.root.workplace(r.prefix).winners())
    return {**said, "finished_count": finished, **_ended(r)}


def _ended(r: JobRecord | RunRecord) -> dict[str, Any]:
    """What the documents of jobs and runs say alike."""
    ended = None if r.finished_at is None else to_datetime(r.finished_at)
    said = {"commit": r.commit_hash, "error": r.error, "author": r.author}
    return {**said, "started_at": to_datetime(r.started_at), "finished_at": ended}


def _state(r: JobRecord, held: Mapping[str, str]) -> str:
    """The state of a job; `interrupted` if it is still marked running, but nobody works on it."""
    holder = held.get(lease_of(r.name, r.branch))
    return "interrupted" if r.state == "running" and (holder is None or is_dead(holder)) else r.state


def _finished_since(ctx: Context, r: JobRecord, shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shards with those that finished after their job had failed: Spark lets tasks that are under way go on."""
    place = ctx.root.workplace(r.prefix)
    winners = place.winners()
    late = [s["shard"] for s in shards if s["state"] != "finished" and s["shard"] in winners]
    found = dict(zip(late, map(json.loads, place.read([winners[n] for n in late])), strict=True))
    return [
        {**s, "state": "finished", "counts": counts_of(found[s["shard"]])} if s["shard"] in found else s for s in shards
    ]


def counts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a shard made, of its manifest: how many rows, files and bytes, in which time, and what it logged."""
    written = manifest["files"]
    sizes = {"rows": manifest["rows"], "files": len(written), "bytes": sum(f["size"] for f in written)}
    return {**sizes, "seconds": manifest["seconds"], "log": manifest["log"]}


def _shard(row: Any) -> dict[str, Any]:
    known = {"shard": row.number, "state": row.state, "attempts": row.attempts, "inputs": row.inputs}
    return {**known, "counts": row.counts, "error": row.error}


def list_runs(ctx: Context, pipeline: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """List the runs, newest first, as documents."""
    with ctx.catalog.read() as cx:
        return [_run_document(r) for r in run_rows.list_runs(cx, ctx.record.id, pipeline, limit)]


def find_run(ctx: Context, pipeline: str | None, number: int | None = None) -> dict[str, Any]:
    """Find one run, with its expectations; the newest, if no number is given, and of any pipeline, if none is."""
    with ctx.catalog.read() as cx:
        there = run_rows.list_runs(cx, ctx.record.id, pipeline)
        found = next((r for r in there if number in (None, r.number)), None)
        if found is None:
            which = f"no run {number}" if number is not None and there else "no run yet"
            whose = f"pipeline {pipeline!r} has" if pipeline is not None else "there is"
            raise NotFound(f"{whose} {which}", hint="`ana pipeline status` lists the runs")
        checked = run_rows.list_expectations(cx, [found.id])
    return {**_run_document(found), "expectations": [_expected(c) for c in checked]}


def list_expectations(ctx: Context, pipeline: str | None = None) -> list[dict[str, Any]]:
    """List the expectations of runs and how they were met, newest run first, as documents."""
    with ctx.catalog.read() as cx:
        there = run_rows.list_runs(cx, ctx.record.id, pipeline)
        by_run: dict[str, list[Any]] = {}
        for row in run_rows.list_expectations(cx, [r.id for r in there]):
            by_run.setdefault(row.run_id, []).append(row)
    return [
        {"pipeline": r.pipeline, "run": r.number, **_expected(c), "condition": c.condition}
        for r in there
        for c in by_run.get(r.id, ())
    ]


_EXPECTED = {
    "dataset": "table_name",
    "name": "name",
    "action": "action",
    "broken": "failed_count",
    "rows": "row_count",
}


def _expected(row: Any) -> dict[str, Any]:
    described = {name: getattr(row, own) for name, own in _EXPECTED.items()}
    return {**described, "verdict": verdict_of(row.action, row.failed_count)}


def _run_document(r: RunRecord) -> dict[str, Any]:
    said = {"pipeline": r.pipeline, "run": r.number, "state": r.state, "output": r.output, "branch": r.branch}
    return {**said, **_ended(r), "steps": list(r.steps)}
