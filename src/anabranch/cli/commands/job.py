"""`ana job`: what jobs did, go on with one that failed or was interrupted, forget one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from anabranch.cli.options import CommandGroup, rules
from anabranch.cli.output.tables import Heading, drawn, print_table
from anabranch.cli.output.text import clean, emit, local, number, paint, show_lines
from anabranch.cli.session import Session

_job = click.argument("job", metavar="JOB")
_SHOWN = 20
"""How many shards `show` lists."""
_ID_SHOWN = 10
"""So much of an id `ls` shows, which is enough to name a job."""


@click.group("job", cls=CommandGroup, short_help="Look at jobs on Spark, and resume them.")
def command() -> None:
    """Look at jobs, functions that run over shards of their inputs; `repo.job(…)` makes them, see docs/jobs.md.

    JOB is an id, the beginning of one, or a name, which means the newest job of that name.
    """


@command.command("ls")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, help="How many jobs are shown (20).")
def ls(session: Session, name: str | None, limit: int) -> None:
    """List the jobs, or those of one name, newest first.

    \b
    $ ana job ls

    JSON: jobs (list of id, name, state, output, shard_count, finished_count, commit, error, author, started_at,
    finished_at).
    """
    found = session.repo.jobs(name, limit=limit)
    names = ("id", "name", "state", "shards", "output", "started")
    rows = [
        (j["id"][:_ID_SHOWN], j["name"], j["state"], _shards(j), j["output"], local(j["started_at"])) for j in found
    ]
    table = drawn([Heading(name, right=name == "shards") for name in names], rows)
    session.tell({"jobs": found}, table if found else "No job was run yet; repo.job(…).run() runs one.")


@command.command("show")
@_job
def show(session: Session, job: str) -> None:
    """Show a job: what it read, what it made, and what became of its shards.

    \b
    $ ana job show words

    JSON: job (as in ls, with inputs, options and shards: list of shard, state, attempts, inputs, counts, error).
    """
    found = session.repo.find_job(job)
    if session.told({"job": found}):
        return
    show_lines(_about(found))
    shards = found["shards"]
    chosen = sorted(shards, key=lambda s: (s["state"] == "finished", s["shard"]))[:_SHOWN]
    if chosen:
        names = ("shard", "state", "attempts", "rows", "files", "read")
        headings = [Heading(name, right=name not in ("state", "read")) for name in names]
        print_table(headings, [_shard_row(s) for s in chosen])
    if len(shards) > len(chosen):
        emit(f"… and {number(len(shards) - len(chosen))} more that are finished; --json shows all")


@command.command("logs")
@_job
def logs(session: Session, job: str) -> None:
    """Show what the shards of a job said with shard.log(…), and the traceback of those that failed.

    \b
    $ ana job logs words

    JSON: logs (list of shard, state, lines, error).
    """
    found = [_said(s) for s in session.repo.find_job(job)["shards"]]
    described = [s for s in found if s["lines"] or s["error"]]
    if session.told({"logs": described}):
        return
    if not described:
        emit("No shard said anything.")
    for shard in described:
        for line in shard["lines"]:
            emit(f"{shard['shard']:>5}  {clean(line)}")
        if shard["error"]:
            failed = "failed" if shard["state"] == "failed" else "failed once"
            emit(paint(f"{shard['shard']:>5}  {failed}: {clean(shard['error']['message'])}", "red"))
            emit(clean(shard["error"]["trace"].rstrip(), keep="\n"))


@command.command("resume")
@_job
@click.argument("function", metavar="[FILE.py:FUNCTION]", required=False)
@click.option(
    "--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide conflicts by a rule."
)
def resume(session: Session, job: str, function: str | None, rule: dict[str, str]) -> None:
    """Go on with a job that failed or was interrupted: shards that are finished are not run again.

    \b
    $ ana job resume words
    $ ana job resume words jobs/words.py:words
    $ ana job resume words --rule words.count=theirs --rule 'files:logs/**=ours'

    Where a job could not be merged with what others changed in its output, rules decide: ours is the output, theirs
    the job.

    Its function is read from the file that it was in, if the job began on this machine. For one that began elsewhere
    name the file and the function: what a store names is not run. Code that changed since is refused.

    JSON: id, name, commit, reused, shards, resumed, rows, files.
    """
    with session.progress(f"resuming {job}"):
        done = session.repo.resume_job(job, function=function, rules=rule)
    counts = {"shards": done.shards, "resumed": done.resumed, "rows": done.rows, "files": done.files}
    if session.told({"id": done.id, "name": done.name, "commit": done.commit.hash, "reused": done.reused, **counts}):
        return
    if done.reused:
        emit(f"{clean(done.name)} was published already, as {done.commit.hash[:10]}")
        return
    described = f"{number(done.shards)} shards ran, {number(done.resumed)} were finished before"
    emit(f"{described}; {number(done.rows)} rows, {number(done.files)} files")
    emit(f"[{done.commit.hash[:10]}] {clean(done.commit.message)}")


@command.command("rm")
@_job
def rm(session: Session, job: str) -> None:
    """Forget a job and remove what its shards left; what it published stays.

    \b
    $ ana job rm words

    JSON: removed (as in ls).
    """
    gone = session.repo.remove_job(job)
    session.tell({"removed": gone}, f"Forgot job {gone['id']} ({clean(gone['name'])}).")


def _shards(job: Mapping[str, Any]) -> str:
    done, all_ = job["finished_count"], job["shard_count"]
    return number(all_) if done == all_ else f"{number(done)} of {number(all_)}"


def _about(job: Mapping[str, Any]) -> Iterator[str]:
    yield f"job {job['id']}  {clean(job['name'])}: {job['state']}, {_shards(job)} shards, output {clean(job['output'])}"
    for name, given in job["inputs"].items():
        yield f"  {clean(name)} = {clean(given['label'])}, read at {given['repository']}@{given['commit'][:10]}"
    params = job["options"].get("params")
    if params:
        yield f"  params {clean(str(params))}"
    if job["commit"]:
        yield f"  published as {job['commit'][:10]}"
    if job["error"]:
        yield paint(f"  {clean(job['error']['message'])}", "red")
    if job["state"] in ("failed", "interrupted"):
        yield f"  `ana job resume {job['id']}` goes on with it"


def _shard_row(shard: Mapping[str, Any]) -> tuple[str, ...]:
    counts = shard["counts"] or {}
    paths = [clean(p) for p in shard["inputs"]]
    read = ", ".join(paths[:2]) + (" …" if len(paths) > 2 else "")
    described = [number(counts[n]) if n in counts else "" for n in ("rows", "files")]
    return (str(shard["shard"]), shard["state"], number(shard["attempts"]), *described, read)


def _said(shard: Mapping[str, Any]) -> dict[str, Any]:
    lines = [*((shard["error"] or {}).get("log") or ()), *((shard["counts"] or {}).get("log") or ())]
    return {"shard": shard["shard"], "state": shard["state"], "lines": lines, "error": shard["error"]}
