"""job: run a function over shards of its inputs on Spark's executors, and publish what they made in one commit.

read: pin the inputs · plan: deal them · run: one action, whose attempts write below a folder that nobody reads ·
publish: one commit with provenance, or none."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError, InvalidRequest, RunFailed
from anabranch.jobs import runner
from anabranch.jobs.code import code_hash
from anabranch.jobs.dealt import (
    Pinned,
    PinnedFiles,
    changed_since,
    deal_input_files,
    identity,
    job_folder,
    pin,
    read_inputs,
    rows_since,
    write_input_rows,
)
from anabranch.jobs.inputs import Pin
from anabranch.jobs.output import publish_output
from anabranch.jobs.request import JobRequest
from anabranch.plan.shards import read_shard_by
from anabranch.repo.branches.facts import find_facts

if TYPE_CHECKING:
    from anabranch.model.commits import Commit
    from anabranch.repo.repository import Repository

log = logging.getLogger("anabranch.jobs.job")
FACT = "job"
"""What commits of jobs say of themselves."""
KEPT_SECONDS = 86_400
"""How long finished shards of a job that failed are kept for the next try."""


@dataclass(frozen=True)
class JobResult:
    """What a job did."""

    name: str
    commit: Commit | None
    """What the branch shows of it; None if it made nothing new."""
    reused: bool = False
    """Whether nothing ran, because the same code had read the same inputs before."""
    shards: int = 0
    """How many shards ran."""
    resumed: int = 0
    """How many were finished by a run before."""
    rows: int = 0
    files: int = 0


@dataclass(frozen=True)
class Job:
    """A function, its inputs and its output, ready to run."""

    repo: Repository
    asked: JobRequest

    def run(self, *, force: bool = False) -> JobResult:
        """Run it; if the same code read the same inputs last, that commit is the result, unless `force`."""
        asked, started = self.asked, time.time()
        pins = {n: pin(self.repo, i, asked.output, asked.name) for n, i in asked.inputs.items()}
        code = code_hash(asked.function, asked.version)
        key = _key(asked, pins, code)
        last = _last(self.repo, asked)
        if last and last.facts[FACT]["key"] == key and not force:
            log.info("job %s: the same code read the same inputs for commit %s", asked.name, last.hash)
            return JobResult(asked.name, last, reused=True)
        salt = hashlib.sha256(str(started).encode()).hexdigest() if force else ""
        folder = job_folder(self.repo, salt or key)
        _remove_old(folder.parent)
        base = last if asked.incremental and last and last.facts[FACT]["code"] == code else None
        task = self._task(pins, folder, base)
        done, resumed = self._run_shards(task)
        made = publish_output(
            self.repo, asked, folder, done, _facts(asked, key, code, pins), pins, replace_all=base is None
        )
        shutil.rmtree(folder, ignore_errors=True)
        rows, files = sum(d["rows"] for d in done), sum(len(d["files"]) for d in done)
        return JobResult(asked.name, made, False, asked.shards - resumed, resumed, rows, files)

    def _task(self, pins: Mapping[str, Pinned], folder: Path, base: Commit | None) -> runner.ShardTask:
        """Deal the inputs; what was dealt for a run that failed is dealt again alike."""
        folder.mkdir(parents=True, exist_ok=True)
        asked, known = self.asked, _pins_of(base)
        files: dict[str, list[list[dict[str, Any]]]] = {}
        deleted: dict[str, list[Any]] = {}
        for name, pinned in pins.items():
            if isinstance(pinned, PinnedFiles):
                new, gone = changed_since(self.repo, pinned, known.get(name))  # type: ignore[arg-type]
                files[name] = deal_input_files(self.repo, pinned, new, asked.shards, asked.shard_by)
                deleted[name] = gone
                continue
            then = known.get(name)
            rows, deleted[name] = (None, []) if then is None else rows_since(self.repo, pinned, then.commit)
            if not (folder / "inputs" / name / "_SUCCESS").exists():
                write_input_rows(self.repo, pinned, rows, folder / "inputs" / name, asked.shards, asked.shard_by)
        tables = tuple(n for n, p in pins.items() if isinstance(p, Pin))
        return runner.ShardTask(
            str(folder), asked.function, asked.shards, dict(asked.params), files, deleted, tables, asked.schema
        )

    def _run_shards(self, task: runner.ShardTask) -> tuple[list[dict[str, Any]], int]:
        """Run the shards that no attempt has finished yet; give all manifests."""
        from anabranch.engines.spark_shards import is_failure_of_spark, run_on_executors

        waiting = [n for n in range(task.count) if not Path(runner.manifest_path(task.prefix, n)).exists()]
        try:
            if waiting:
                run_on_executors(self.repo.spark_session, runner.run_shards, task, waiting, [runner])
        except Exception as error:
            if isinstance(error, AnabranchError) or not is_failure_of_spark(error):
                raise
            raise self._failed(task, error) from error
        told = [json.loads(Path(runner.manifest_path(task.prefix, n)).read_text("utf-8")) for n in range(task.count)]
        return told, task.count - len(waiting)

    def _failed(self, task: runner.ShardTask, error: Exception) -> RunFailed:
        """Name the shard that failed, what it read, and what the user's code said."""
        failures = [json.loads(p.read_text("utf-8")) for p in sorted(Path(task.prefix).glob("failed-*.json"))]
        if not failures:
            message = f"job {self.asked.name!r} failed on Spark: {str(error).splitlines()[0]}"
            return RunFailed(message, hint="finished shards are kept: run it again to go on", job=self.asked.name)
        first = failures[0]
        number = first["shard"]
        read = [f["path"] for dealt in task.files.values() for f in dealt[number]]
        shown = f" (it read {', '.join(read[:3])}{' …' if len(read) > 3 else ''})" if read else ""
        finished = sum(Path(runner.manifest_path(task.prefix, n)).exists() for n in range(task.count))
        message = f"job {self.asked.name!r} published nothing: shard {number}{shown} failed: {first['error']}"
        hint = f"mend the function or its input; {finished} of {task.count} shards are finished and kept for a day"
        made = RunFailed(message, hint=hint, shard=number, inputs=read, trace=first["trace"], attempts=len(failures))
        made.add_note(first["trace"])
        return made


def make_job(
    repo: Repository,
    function: Callable[[Any], Any],
    inputs: Mapping[str, Any],
    output: str | None,
    name: str | None,
    options: Mapping[str, Any],
) -> Job:
    """Make a job of what `repo.job(…)` was given."""
    key, own = options.get("key") or (), dict(options)
    own["key"] = (key,) if isinstance(key, str) else tuple(key)
    own["shard_by"] = read_shard_by(options.get("shard_by"))
    known = {f.name for f in fields(JobRequest)}
    unknown = sorted(own.keys() - known)
    if unknown:
        raise InvalidRequest(f"a job has no option {unknown[0]}=", hint=f"it has {', '.join(sorted(known))}")
    title = name or str(getattr(function, "__name__", "job"))
    return Job(repo, JobRequest(function, title, read_inputs(inputs), output or repo.default_branch, **own))


def _key(asked: JobRequest, pins: Mapping[str, Pinned], code: str) -> str:
    """What tells whether a job would make the same output again."""
    read = {name: identity(p) for name, p in sorted(pins.items())}
    by = [asked.shard_by.files, asked.shard_by.rows, asked.shard_by.column]
    told = [asked.name, code, dict(asked.params), read, asked.shards, by, asked.table, asked.key, asked.incremental]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _last(repo: Repository, asked: JobRequest) -> Commit | None:
    """The newest commit of this job on its branch."""
    found = (hash_ for hash_, said in find_facts(repo._ctx, FACT, asked.output) if said.get("name") == asked.name)
    newest = next(found, None)
    return repo.show(newest) if newest else None


def _facts(asked: JobRequest, key: str, code: str, pins: Mapping[str, Pinned]) -> dict[str, Any]:
    read = {name: _document(p) for name, p in pins.items()}
    return {FACT: {"name": asked.name, "key": key, "code": code, "shards": asked.shards, "inputs": read}}


def _document(pinned: Pinned) -> dict[str, Any]:
    if isinstance(pinned, Pin):
        return {
            "repository": pinned.repository,
            "table": pinned.table,
            "commit": pinned.commit,
            "version": pinned.version,
        }
    return {"repository": pinned.repository, "commit": pinned.commit, "files": [list(f) for f in pinned.files]}


def _pins_of(base: Commit | None) -> dict[str, Pinned]:
    said = base.facts[FACT]["inputs"] if base else {}
    return {name: _pinned(document) for name, document in said.items()}


def _pinned(said: Mapping[str, Any]) -> Pinned:
    if "table" in said:
        return Pin(said["repository"], said["table"], said["commit"], said["version"])
    return PinnedFiles(said["repository"], said["commit"], tuple((p, s, i) for p, s, i in said["files"]))


def _remove_old(jobs: Path) -> None:
    """Remove what runs left that failed more than a day ago."""
    for folder in jobs.iterdir() if jobs.is_dir() else ():
        if folder.is_dir() and time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
