"""job: run a function over shards of its inputs on Spark's executors, and publish what they made in one commit.

read: pin the inputs · plan: deal them · run: one action, whose attempts write to a folder that nobody else reads ·
publish: one commit with provenance, or none.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, fields
from functools import cached_property
from typing import Any

from anabranch.catalog.jobs import JobRecord
from anabranch.errors import AnabranchError, InvalidRequest, MergeConflict, NotFound, RunFailed, Unavailable
from anabranch.frames.input import key_names
from anabranch.jobs import dealt, runner
from anabranch.jobs.begun_here import forget_begun, note_begun
from anabranch.jobs.code import code_hash
from anabranch.jobs.dealt_rows import deal_gone, write_input_rows, write_whole_input
from anabranch.jobs.function_file import loaded_from_files
from anabranch.jobs.inputs import Pin
from anabranch.jobs.lease import only_one
from anabranch.jobs.output import JobOutput, publish_output, remove_side
from anabranch.jobs.past_jobs import facts_of, last_commit, own_commits, pins_of, to_remember
from anabranch.jobs.request import JobRequest
from anabranch.jobs.runner import ShardTask
from anabranch.model.clock import Position
from anabranch.model.commits import Commit, CommitHead
from anabranch.model.facts import JOB
from anabranch.objects import workplaces
from anabranch.objects.workplaces import Workplace
from anabranch.plan.shards import read_shard_by
from anabranch.repo.branches.jobs import counts_of, lease_of
from anabranch.repo.branches.workbook import Ending
from anabranch.repo.repository import Repository

log = logging.getLogger("anabranch.jobs.job")
KEPT_SECONDS = 86_400
"""How long finished shards of a failed job are kept for the next run."""


def _said(commit: Commit, part: str) -> Any:
    """A part of what a commit says of the job that made it; None if it says nothing."""
    return (JOB.value(commit.facts) or {}).get(part)


@dataclass(frozen=True)
class JobResult:
    """What a job did."""

    name: str
    commit: Commit | None
    """The commit that the job published."""
    reused: bool = False
    """Whether nothing ran, because the same code had already read the same inputs."""
    shards: int = 0
    """How many shards ran."""
    resumed: int = 0
    """How many an earlier run had finished."""
    rows: int = 0
    files: int = 0
    id: str | None = None
    """Its id for `repo.find_job`; None if nothing ran."""
    writes: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The writes of the files that it made, by which they are told from those of others."""


@dataclass(frozen=True)
class _Begun:
    """What identifies a run of a job: equal ones take up each other's finished shards."""

    key: str
    code: str
    pins: Mapping[str, dealt.Pinned]
    base: Commit | None
    """The commit from which an incremental job goes on."""

    @property
    def prefix(self) -> str:
        """The name of its workplace; it depends on the base, so shards of other changes are not reused."""
        return _hash(self.key, self.base.hash if self.base else "")[:32]


@dataclass(frozen=True)
class Job:
    """A function, its inputs and its output, ready to run."""

    repo: Repository
    asked: JobRequest

    def run(self, resumed_key: str | None = None, *, force: bool = False) -> JobResult:
        """Run the job. If its last commit is by the same code from the same inputs, return that, unless `force`."""
        with only_one(self.repo.workbook, lease_of(self.asked.name, self.asked.output)):
            return self._run(resumed_key, force)

    def _run(self, resumed_key: str | None, force: bool) -> JobResult:
        asked = self.asked
        pins = {n: dealt.pin(self.repo, i, asked.output, f"job {asked.name!r}") for n, i in asked.inputs.items()}
        code = code_hash(asked.function, asked.version)
        parent = self._parent()
        key = _key(self.repo.name, asked, pins, code, parent)
        last = last_commit(self.repo, asked.output, name=asked.name)
        if last and _said(last, "key") == key and not force and resumed_key in (None, key):
            log.info("job %s: the same code read the same inputs for commit %s", asked.name, last.hash)
            note_driver_died(self.repo, key, last)
            return JobResult(asked.name, last, reused=True)
        base = self._base(last, code, pins)
        begun = _Begun(resumed_key or (self._forced_key(key) if force else key), code, pins, base)
        parent = self._parent_of_begun(begun) or parent
        record = self._begin(begun, parent, key)
        place = self.repo.workbook.place(record.prefix)
        place.remove_older(KEPT_SECONDS)
        facts = facts_of(asked, key, code, record.id, pins, base)
        return self._carry_out(record, place, begun, facts, parent.position)

    def _forced_key(self, key: str) -> str:
        """A key of its own, so that no finished shard is taken up: unless rules settle what stopped a forced run."""
        if self.asked.rules:
            stopped = self.repo.workbook.find_stopped_jobs(self.asked.name, MergeConflict.__name__)
            for record in stopped:
                if record.options.get("forced") == key:
                    return record.key
        return _hash(key, time.time_ns())

    def _parent(self) -> CommitHead:
        """The commit of the output that the job works from."""
        return self.repo.workbook.find_parent(self.asked.output, self.asked.parent)

    def _parent_of_begun(self, begun: _Begun) -> CommitHead | None:
        """The parent of a run that some shards were finished in, if the output still has it."""
        if self.asked.parent is not None or not self.repo.workbook.place(begun.prefix).winners():
            return None
        record = self.repo.workbook.find_unfinished_job(begun.key)
        if record is not None:
            remove_side(self.repo, record.branch, record.id)
        known = record and record.options.get("parent_commit")
        if not known:
            return None
        try:
            return self.repo.workbook.find_parent(self.asked.output, str(known))
        except (InvalidRequest, NotFound):
            return None  # The output was reset since.

    def _begin(self, begun: _Begun, parent: CommitHead, key: str) -> JobRecord:
        """Record that the job begins."""
        asked = self.asked
        known = {"name": asked.name, "key": begun.key, "branch": asked.output, "prefix": begun.prefix}
        kept = to_remember(asked, begun.code, begun.pins)
        kept["options"] |= {"parent_commit": parent.hash, **({"forced": key} if key != begun.key else {})}
        asks = {**known, "author": asked.author, "shard_count": asked.shards, **kept}
        record = self.repo.workbook.begin_job(asks)
        note_begun(self.repo.workbook.store_id, record, asked.function)
        return record

    def _carry_out(
        self,
        record: JobRecord,
        place: Workplace,
        begun: _Begun,
        facts: Mapping[str, Any],
        parent: Position,
    ) -> JobResult:
        """Run the unfinished shards and publish; record in the catalogue how it ended."""
        diary: list[dict[str, Any]] = []
        pins, base = begun.pins, begun.base
        try:
            before = ShardAttempts(self._task(pins, place, base))
            try:
                self._run_shards(before)
            finally:
                after = before.again()
                diary = after.diary()
            done = list(after.manifests.values())
            output = JobOutput(self.repo, self.asked, place, record.id, facts, pins, parent, replace_all=base is None)
            published = publish_output(output, done)
        except BaseException as error:
            self.repo.workbook.end_job(record, Ending.failed(error), diary)
            raise
        self.repo.workbook.end_job(record, Ending("published", published.commit.hash), diary)
        forget_begun(self.repo.workbook.store_id, record)
        place.remove()
        ran = len(before.waiting)
        rows, files = sum(d["rows"] for d in done), sum(len(d["files"]) for d in done)
        counts = (ran, self.asked.shards - ran, rows, files)
        return JobResult(self.asked.name, published.commit, False, *counts, record.id, published.writes)

    def _task(self, pins: Mapping[str, dealt.Pinned], place: Workplace, base: Commit | None) -> runner.ShardTask:
        """Deal the inputs; deterministic, so a rerun deals them as the failed run did."""
        place.make()
        asked, known = self.asked, pins_of(base)
        files: dict[str, list[list[dict[str, Any]]]] = {}
        deleted: dict[str, list[list[Any]]] = {}
        for name, pinned in pins.items():
            if isinstance(pinned, dealt.PinnedFiles):
                parts = self._deal_files(name, pinned, known.get(name))
                files[name], deleted[name] = parts.files, parts.gone
            else:
                deleted[name] = self._deal_rows(name, pinned, known.get(name), place)
        tables = tuple(n for n, p in pins.items() if isinstance(p, Pin))
        return runner.ShardTask(
            place, asked.function, asked.shards, dict(asked.params), files, deleted, tables, self._whole, asked.schema
        )

    @property
    def _whole(self) -> tuple[str, ...]:
        """The inputs that each shard gets whole."""
        return tuple(name for name, given in self.asked.inputs.items() if given.whole)

    def _deal_files(self, name: str, pinned: dealt.PinnedFiles, then: dealt.Pinned | None) -> dealt.DealtFiles:
        asked = self.asked
        if name in self._whole:
            paths = [f[0] for f in pinned.files]
            (all_,) = dealt.deal_input_files(self.repo, pinned, paths, (), 1, asked.shard_by).files
            return dealt.DealtFiles([all_] * asked.shards, [[]] * asked.shards)
        new, gone = dealt.changed_since(pinned, then)  # type: ignore[arg-type]
        return dealt.deal_input_files(self.repo, pinned, new, gone, asked.shards, asked.shard_by)

    def _deal_rows(self, name: str, pinned: Pin, then: dealt.Pinned | None, place: Workplace) -> list[list[Any]]:
        """Write the rows of an input for its shards; returns by shard those that are gone."""
        asked, folder = self.asked, f"inputs/{name}"
        if name in self._whole:
            write_whole_input(self.repo, pinned, place, folder, asked)
            return [[]] * asked.shards
        if then is None:
            write_input_rows(self.repo, pinned, None, place, folder, asked)
            return [[]] * asked.shards
        came, went = dealt.rows_since(self.repo, pinned, then.commit)
        write_input_rows(self.repo, pinned, came, place, folder, asked)
        return deal_gone(self.repo, pinned, came, went, asked)

    def _base(self, last: Commit | None, code: str, pins: Mapping[str, dealt.Pinned]) -> Commit | None:
        """The commit from which an incremental job goes on; None if it reads everything.

        What was looked up in an input that is whole counts for all rows and files, so a change to it is one to all.
        """
        if last is None or not self.asked.incremental or _said(last, "code") != code:
            return None
        known = pins_of(last)
        if not self._builds_on_what_is_there(last):
            return None
        moved = [n for n in self._whole if n not in known or dealt.identity(known[n]) != dealt.identity(pins[n])]
        return None if moved else last

    def _builds_on_what_is_there(self, last: Commit) -> bool:
        """Whether no commit that an incremental run went on from was reverted."""
        own = own_commits(self.repo, self.asked.output, name=self.asked.name)
        before = {c.hash: c.said.get("base") for c in own}
        at: str | None = last.hash
        while at in before:
            at = before[at]
        return at is None

    def _run_shards(self, attempts: ShardAttempts) -> None:
        """Run the shards that no attempt has finished yet."""
        waiting, task = attempts.waiting, attempts.task
        if not waiting:
            return
        _ = attempts.failures  # Seen now, so that those of later attempts can be told from them.
        if self.asked.local:
            self._run_here(attempts, waiting)
            return
        from anabranch.engines.spark_errors import reason_of
        from anabranch.engines.spark_shards import is_failure_of_spark, run_on_executors

        sent = [runner, workplaces, *loaded_from_files(task.function)]
        try:
            described = run_on_executors(self.repo.spark_session, runner.run_shards, task, waiting, sent)
        except Exception as error:
            if isinstance(error, AnabranchError) or not is_failure_of_spark(error):
                raise
            raise self._failed(attempts, reason_of(error)) from error
        unseen = next((d[runner.UNSEEN] for d in described if runner.UNSEEN in d), None)
        if unseen is not None:
            message = f"the executors of Spark do not see {task.place.path}, where shards work: {unseen}"
            hint = "let them reach the store's objects: the folder at the same path, the bucket with keys of their own"
            raise Unavailable(message, hint=hint)

    def _run_here(self, attempts: ShardAttempts, waiting: list[int]) -> None:
        try:
            for number in waiting:
                runner.run_shard(attempts.task, number)
        except Exception as error:
            raise self._failed(attempts, str(error)) from error

    def _failed(self, before: ShardAttempts, said: str) -> RunFailed:
        """Name the shard that failed in this run, what it read, and the error of the user's code."""
        attempts = before.again()
        waiting = set(attempts.waiting)
        new = [f for f in attempts.failures if f not in before.failures]
        first = next((f for f in new if f["shard"] in waiting), None)
        finished = "shards that finish are kept for a day"  # others may still be running: their number is not known
        if first is None:
            message = f"job {self.asked.name!r} published nothing: it failed on Spark: {said}"
            return RunFailed(message, hint=f"run it again to go on; {finished}", job=self.asked.name)
        number, read = first["shard"], attempts.paths(first["shard"])
        shown = f" (it read {', '.join(read[:3])}{' …' if len(read) > 3 else ''})" if read else ""
        message = f"job {self.asked.name!r} published nothing: shard {number}{shown} failed: {first['error']}"
        hint = f"mend the function or its input; {finished}"
        tries = sum(f["shard"] == number for f in attempts.failures)
        made = RunFailed(message, hint=hint, shard=number, inputs=read, trace=first["trace"], attempts=tries)
        made.add_note(first["trace"])
        return made


def note_driver_died(repo: Repository, key: str, commit: Commit) -> None:
    """Record that a job was published whose driver died before it could, and remove what that driver left."""
    record = repo.workbook.find_unfinished_job(key)
    if record is not None:
        remove_side(repo, record.branch, record.id)
        repo.workbook.note_published(key, commit.hash)


def make_job(
    repo: Repository,
    function: Callable[[Any], Any],
    inputs: Mapping[str, Any],
    output: str | None,
    name: str | None,
    options: Mapping[str, Any],
) -> Job:
    """Make a job from the arguments of `repo.job(…)`."""
    own = {**options, "key": key_names(options.get("key") or ()), "shard_by": read_shard_by(options.get("shard_by"))}
    known = {f.name for f in fields(JobRequest)}
    unknown = sorted(own.keys() - known)
    if unknown:
        raise InvalidRequest(f"a job has no option {unknown[0]}=", hint=f"it has {', '.join(sorted(known))}")
    if "" in (name, output):
        hint = "leave it out: a job is called as its function, and its output is the default branch"
        raise InvalidRequest("name= or output= of a job is empty text", hint=hint)
    title = name or str(getattr(function, "__name__", "job"))
    return Job(repo, JobRequest(function, title, dealt.read_inputs(inputs), output or repo.default_branch, **own))


def _key(repository: str, asked: JobRequest, pins: Mapping[str, dealt.Pinned], code: str, parent: CommitHead) -> str:
    """A hash that is equal if a job would make the same output again."""
    read = {name: [*dealt.identity(p), *(["whole"] * asked.inputs[name].whole)] for name, p in sorted(pins.items())}
    described = [asked.name, code, dict(asked.params), read, asked.shards, astuple(asked.shard_by)]
    described += [asked.table, asked.key, asked.incremental]
    if asked.mode != "own" or asked.mode_of_files != "own":
        described.append({"mode": asked.mode, "files": asked.mode_of_files})
    if asked.parent is not None:
        described.append({"parent": parent.hash})
    return hashlib.sha256(json.dumps([repository, asked.output, *described], sort_keys=True).encode()).hexdigest()


def _hash(*parts: object) -> str:
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()


PATHS_KEPT = 20
"""How many paths of a shard's inputs are remembered."""


@dataclass(frozen=True)
class ShardAttempts:
    """The shards of a job as its workplace showed them at one time; later attempts don't change what was seen."""

    task: ShardTask

    def again(self) -> ShardAttempts:
        """A fresh view of the workplace."""
        return ShardAttempts(self.task)

    @cached_property
    def waiting(self) -> list[int]:
        """The shards that no attempt has finished."""
        return [n for n in range(self.task.count) if n not in self._winners]

    @cached_property
    def manifests(self) -> dict[int, dict[str, Any]]:
        """What each finished shard made, in shard order."""
        numbers = sorted(self._winners)
        found = self.task.place.read([self._winners[n] for n in numbers])
        return {n: json.loads(content) for n, content in zip(numbers, found, strict=True)}

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """What failed attempts reported, in shard order, each with the file that says so."""
        names = self.task.place.names("failed")
        found = self.task.place.read([f"failed/{n}" for n in names])
        return [{**json.loads(content), "file": name} for name, content in zip(names, found, strict=True)]

    @cached_property
    def _winners(self) -> dict[int, str]:
        found: dict[int, str] = self.task.place.winners()
        return found

    def paths(self, number: int) -> list[str]:
        """The files that a shard reads."""
        return [f["path"] for dealt in self.task.files.values() for f in dealt[number]]

    def diary(self) -> list[dict[str, Any]]:
        """What became of each shard, as the catalogue records it."""
        begun = Counter(int(name.partition("-")[0]) for name in self.task.place.names("attempts"))
        last = {f["shard"]: f for f in self.failures}
        failed = Counter(f["shard"] for f in self.failures)
        waiting = set(self.waiting)
        return [self._entry(n, begun[n] + failed[n], last.get(n), n in waiting) for n in range(self.task.count)]

    def _entry(self, n: int, attempts: int, failure: Mapping[str, Any] | None, waits: bool) -> dict[str, Any]:
        described = self.manifests.get(n, {})
        state = "finished" if not waits else "failed" if failure else "waiting"
        return {
            "number": n,
            "state": state,
            "attempts": attempts,
            "path": described.get("folder"),
            "inputs": self.paths(n)[:PATHS_KEPT],
            "counts": counts_of(described) if described else None,
            "error": failure and {"message": failure["error"], "trace": failure["trace"], "log": failure["log"]},
        }
