"""run: compute what moved on a branch of its own, check it there, and squash it into the output in one commit.

watch: do so whenever an input moved. It only asks the catalogue for heads, and starts no JVM until one moved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.catalog.runs import RunRecord
from anabranch.errors import AnabranchError, InvalidRequest, MergeConflict, NotFound, RunFailed
from anabranch.jobs.code import code_hash, text_hash
from anabranch.jobs.dealt import JobInput, Pinned
from anabranch.jobs.inputs import last_touch
from anabranch.jobs.lease import only_one
from anabranch.model.commits import Commit
from anabranch.model.facts import PIPELINE
from anabranch.pipelines.compute import Computed, NeedsAll, Since, compute, compute_new, run_job, session_tables
from anabranch.pipelines.datasets import Dataset, Pipeline
from anabranch.pipelines.expectations import Checked, check_dataset, check_queries, without_dropped
from anabranch.pipelines.sources import RunState, pin_inputs, rows_to_write
from anabranch.pipelines.write import DROPPED, write_rows
from anabranch.plan.pipeline import DatasetState, LastRun, PipelineStep, plan_run, spared
from anabranch.repo.branches.own_commits import Mark, OwnCommit
from anabranch.repo.branches.workbook import Ending
from anabranch.repo.merge.merge import merge
from anabranch.repo.merge.request import MergeRequest
from anabranch.repo.repository import Repository

log = logging.getLogger("anabranch.pipelines.run")
Notify = Callable[["StepResult"], None]


@dataclass(frozen=True)
class StepResult:
    """What a run did with one dataset."""

    step: PipelineStep
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    expectations: tuple[Checked, ...] = ()

    @property
    def name(self) -> str:
        return self.step.name

    @property
    def action(self) -> str:
        return self.step.action

    @property
    def reason(self) -> str:
        return self.step.reason

    def as_document(self) -> dict[str, Any]:
        """For JSON."""
        said = {"name": self.name, "action": self.action, "reason": self.reason}
        return {**said, "counts": dict(self.counts), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True)
class RunResult:
    """What a run did."""

    pipeline: str
    run: int | None
    """The run's number; None for a dry run, or if there was nothing to do."""
    output: str
    """The branch of the output."""
    steps: tuple[StepResult, ...]
    expectations: tuple[Checked, ...] = ()
    """Of all datasets, and of the queries over them."""
    commit: Commit | None = None
    """What was published; None if nothing changed."""


@dataclass(frozen=True)
class RunRequest:
    """What was asked of a run."""

    on: str | None = None
    """The branch for the output; None for the pipeline's own."""
    full_refresh: Collection[str] | str = ()
    dry_run: bool = False
    author: str | None = None
    notify: Notify = lambda _: None


def run(
    repo: Repository,
    pipeline: Pipeline,
    *,
    on: str | None = None,
    full_refresh: Collection[str] | str = (),
    dry_run: bool = False,
    author: str | None = None,
    notify: Notify = lambda _: None,
) -> RunResult:
    """Run a pipeline: compute, check and publish on `on` what its changed inputs affect, all of it or nothing.

    `full_refresh` names datasets to recompute, or is "all". A dry run returns what would be done.
    """
    into = output_repository(repo, pipeline)
    with nullcontext() if dry_run else only_runner(into, pipeline.name):
        return run_alone(into, pipeline, RunRequest(on, full_refresh, dry_run, author, notify))


def output_repository(repo: Repository, pipeline: Pipeline) -> Repository:
    """The repository that a pipeline writes to: the one that it names, else this one."""
    named = pipeline.output.repository
    return repo if named in (None, repo.name) else repo.sibling(str(named))


def output_branch(on: str | None, pipeline: Pipeline, usual: str) -> str:
    """The branch to publish to: the one that was asked for, else the pipeline's own, else the usual one."""
    return on if on is not None else pipeline.output.branch or usual


def only_runner(repo: Repository, pipeline: str) -> AbstractContextManager[None]:
    """A block in which no other process runs this pipeline."""
    return only_one(repo.workbook, f"pipeline {pipeline}")


def run_alone(repo: Repository, pipeline: Pipeline, asked: RunRequest) -> RunResult:
    """Run a pipeline inside `only_runner`."""
    output = output_branch(asked.on, pipeline, repo.default_branch)
    full = _named(pipeline, asked.full_refresh)
    _read_session_inputs(pipeline)
    with repo.one_state():
        head = repo.show(output).hash
        last = last_state(repo, pipeline.name, head)
        pins = pin_inputs(repo, pipeline, output)
        wanted = [_wanted(pipeline, d, pins) for d in pipeline.ordered]
        edited = _edited(repo, pipeline, head, last)
    steps = plan_run(wanted, last.datasets if last else {}, edited=edited, full=full)
    if asked.dry_run or all(s.action == "keep" for s in steps):
        return RunResult(pipeline.name, None, output, tuple(map(StepResult, steps)))
    planned = _RunPlan(head, pins, last, {w.name: w for w in wanted}, full)
    return _RunUnderWay(repo, pipeline, output, planned, asked).carry_out(steps)


def _named(pipeline: Pipeline, full_refresh: Collection[str] | str) -> frozenset[str]:
    if full_refresh == "all":
        return frozenset(pipeline.by_name)
    names = frozenset([full_refresh] if isinstance(full_refresh, str) else full_refresh)
    unknown = sorted(names - pipeline.by_name.keys())
    if unknown:
        hint = f"it has {', '.join(pipeline.by_name)}"
        raise NotFound(f"pipeline {pipeline.name!r} has no dataset {unknown[0]!r}", hint=hint)
    return names


def _read_session_inputs(pipeline: Pipeline) -> None:
    for dataset in pipeline.datasets:
        for given in pipeline.inputs_of(dataset).values():
            if dataset.reads_session and "." in given.table:
                message = f"dataset {dataset.name!r} reads {given.table!r} by its name in the Spark session"
                raise InvalidRequest(message, hint="give it a name without dots in `inputs`, and read that")


def _wanted(pipeline: Pipeline, dataset: Dataset, pins: Mapping[str, Pinned]) -> DatasetState:
    inputs = pipeline.inputs_of(dataset).values()
    labels = [i.label for i in inputs if not pipeline.is_inside(i)] + [f.label for f in dataset.files]
    outside = {label: pins[label].version for label in labels}
    inside = tuple(dict.fromkeys(i.table for i in inputs if pipeline.is_inside(i)))
    return DatasetState(dataset.name, dataset.refresh, _code(pipeline, dataset), outside, inside)


def _code(pipeline: Pipeline, dataset: Dataset) -> str:
    """A hash that changes if a dataset would be computed or checked differently."""
    own = code_hash(dataset.function, dataset.version) if dataset.function else text_hash(dataset.query or "")
    expected = [text for e in (*dataset.expectations, *pipeline.expectations) for text in (e.condition, e.verdict)]
    how = dataset.sharded
    dealt = [repr((how.shards, how.shard_by, sorted(how.params.items())))] if how else []
    inputs: dict[str, JobInput] = {**dataset.inputs, **(how.files if how else {})}
    dealt += [f"whole {name}" for name, given in inputs.items() if given.whole]
    return text_hash(own, *dealt, *dataset.key, dataset.refresh, dataset.group or "", *expected)


def _edited(repo: Repository, pipeline: Pipeline, head: str, last: LastState | None) -> dict[str, str]:
    """Datasets that are not as the last run left them, each with why."""
    if last is None:
        return {}
    stored = [d for d in pipeline.datasets if d.kind == "materialized_view"]
    if last.tables is None:
        return {d.name: "its last run does not say what others changed" for d in stored}
    there = {t.name for t in repo.tables(head)}
    undone = any(d.sharded for d in stored) and _was_undone(repo, pipeline, head, last)
    found: dict[str, str] = {}
    for dataset in stored:
        if any(_is_changed(repo, name, head, there, last) for name in _tables_of(dataset)):
            found[dataset.name] = "it was changed by somebody else, or is gone"
        elif dataset.sharded and undone:
            found[dataset.name] = "what it made was reverted"
    return found


def _tables_of(dataset: Dataset) -> tuple[str, ...]:
    """The tables that a dataset owns."""
    return dataset.name, f"{dataset.name}{DROPPED}"


def _is_changed(repo: Repository, table: str, head: str, there: Collection[str], last: LastState) -> bool:
    """Whether a table is another one than after the last run: no commit but the run's may have touched it since."""
    known = last.tables or {}
    if table not in there or table not in known:
        return (table in there) != (table in known)
    return last_touch(repo, table, head) not in (last.commit, known[table])


def _was_undone(repo: Repository, pipeline: Pipeline, head: str, last: LastState) -> bool:
    """Whether commits of the pipeline were reverted since the last run began, or brought back."""
    before = {c.hash for c in _runs_at(repo, pipeline.name, last.base)}
    return {c.hash for c in _runs_at(repo, pipeline.name, head)} != before | {last.commit}


@dataclass(frozen=True)
class _RunPlan:
    """What a run goes by: the output and the inputs as they were at one moment."""

    head: str
    """The commit of the output that the run begins from."""
    pins: Mapping[str, Pinned]
    last: LastState | None
    wanted: Mapping[str, DatasetState]
    full: frozenset[str]
    """Datasets that are to be computed in full because somebody asked for it."""


@dataclass
class _RunUnderWay:
    """One run, from its branch to what it publishes."""

    repo: Repository
    pipeline: Pipeline
    output: str
    plan: _RunPlan
    asked: RunRequest

    def carry_out(self, steps: list[PipelineStep]) -> RunResult:
        record = self.repo.workbook.begin_run(self.pipeline.name, self.output, self.asked.author)
        state = RunState(self.repo, self.pipeline, self.plan.pins, record.branch, replaces_files=self._replacing_jobs())
        done: list[StepResult] = []
        checked: tuple[Checked, ...] = ()
        try:
            self.repo.branch(record.branch, at=self.plan.head)
            for step in steps:
                done.append(self._step(state, step))
                checked += done[-1].expectations
            checked += check_queries(state)
            self._refuse(checked, record)
            made = self._publish(record, state, checked)
        except BaseException as error:
            error.add_note(f"run {record.number} of pipeline {record.pipeline} published nothing; see {record.branch}")
            self._note(record, Ending.failed(error), done, checked)
            raise
        self._note(record, Ending("published", made.hash), done, checked)
        self.repo.delete_branch(record.branch, force=True)
        return RunResult(self.pipeline.name, record.number, self.output, tuple(done), checked, made)

    def _note(self, record: RunRecord, ending: Ending, done: Sequence[StepResult], checked: Sequence[Checked]) -> None:
        """Record how the run ended."""
        steps = [s.as_document() for s in done]
        self.repo.workbook.end_run(record, ending, steps, [c.as_row() for c in checked])

    def _step(self, state: RunState, step: PipelineStep) -> StepResult:
        dataset, step = self.pipeline.by_name[step.name], spared(step, state.unchanged)
        head = self.repo.show(state.branch).hash
        started = time.monotonic()
        counts: Mapping[str, int] = {}
        checked: tuple[Checked, ...] = ()
        if step.action != "keep" and dataset.kind == "materialized_view":
            step, counts, dropped = self._store(state, dataset, step)
            checked = check_dataset(state, dataset, dropped)
        if self.repo.show(state.branch).hash == head and (dataset.kind != "temporary_view" or step.action == "keep"):
            state.unchanged.add(step.name)
        result = StepResult(step, counts, time.monotonic() - started, checked)
        log.info("%s: %s (%s)", step.name, step.action, step.reason)
        self.asked.notify(result)
        return result

    def _store(
        self, state: RunState, dataset: Dataset, step: PipelineStep
    ) -> tuple[PipelineStep, Mapping[str, int], dict[str, int]]:
        """Compute a dataset and commit it on the run's branch."""
        if dataset.sharded:
            return step, run_job(state, dataset, self.asked.author), {}
        tables = session_tables(state, dataset) if dataset.reads_session else nullcontext()
        with _naming_dataset(dataset), tables:
            step, found = self._computed(state, dataset, step)
            found = replace(found, rows=rows_to_write(state, dataset, found.rows))
            with without_dropped(state, dataset, found) as (kept, dropped):
                counts = write_rows(state, dataset, kept)
        return step, counts, dropped

    def _computed(self, state: RunState, dataset: Dataset, step: PipelineStep) -> tuple[PipelineStep, Computed]:
        last = self.plan.last
        if step.action == "incremental" and last is not None:
            try:
                return step, compute_new(state, dataset, step.moved, Since(last.commit, last.pins))
            except NeedsAll as reason:
                step = PipelineStep(step.name, "full", f"{step.reason}; {reason}", step.moved)
        return step, Computed(compute(state, dataset))

    def _refuse(self, checked: tuple[Checked, ...], record: RunRecord) -> None:
        broken = [c for c in checked if c.is_failure]
        if broken:
            said = "; ".join(str(c) for c in broken)
            message = f"run {record.number} of pipeline {record.pipeline!r} published nothing: {said}"
            hint = f"look at branch {record.branch!r}, mend the data or the code, run again"
            raise RunFailed(message, hint=hint, branch=record.branch)

    def _replacing_jobs(self) -> set[str]:
        """The jobs whose files replace others: where that was asked for, or runs did not note which files they made."""
        runs = [c.said for c in _runs_at(self.repo, self.pipeline.name, self.plan.head)]
        jobs = {d.name for d in self.pipeline.datasets if d.sharded}
        unnoted = {name for said in runs if "tables" not in said for name in said["datasets"]}
        noted = {name for said in runs for name in said.get("jobs", {})}
        return jobs & (self.plan.full | (unnoted - noted))

    def _publish(self, record: RunRecord, state: RunState, checked: tuple[Checked, ...]) -> Commit:
        """Squash the run's branch into the output; a run that changed no row is recorded by an empty commit.

        Its tables are the pipeline's: one that others changed since the run began is a conflict, whatever its rows.
        """
        said: dict[str, Any] = {
            "message": f"run {record.number} of pipeline {record.pipeline}",
            "author": self.asked.author,
            "provenance": {label: f"{pin.repository}@{pin.commit}" for label, pin in self.plan.pins.items()},
            "facts": self._facts(record, state, checked),
        }
        asked = MergeRequest(
            (record.branch,), self.output, mode="squash", strictness="table", since=self.plan.head, **said
        )
        try:
            made = merge(self.repo.workbook.ctx, asked).commit
        except MergeConflict as error:
            error.hint = "run it again: what others changed in its tables meanwhile is computed in full"
            raise
        if PIPELINE.value(made.facts) == PIPELINE.value(said["facts"]):
            return made
        with self.repo.commit(self.output, allow_empty=True, **said) as tx:
            pass
        assert tx.commit is not None
        return tx.commit

    def _facts(self, record: RunRecord, state: RunState, checked: tuple[Checked, ...]) -> dict[str, Any]:
        datasets = {w.name: {"code": w.code, "versions": dict(w.versions)} for w in self.plan.wanted.values()}
        inputs = {label: pin.commit for label, pin in self.plan.pins.items()}
        return PIPELINE.facts(
            {
                "name": record.pipeline,
                "run": record.number,
                "datasets": datasets,
                "inputs": inputs,
                "expectations": [c.as_document() for c in checked],
                "base": self.plan.head,
                "tables": self._tables(record.branch),
                "jobs": dict(state.writes),
            }
        )

    def _tables(self, branch: str) -> dict[str, str]:
        """The tables of the datasets after the run, each with what had changed it last before; "" for nothing."""
        owned = {name for d in self.pipeline.datasets if d.kind == "materialized_view" for name in _tables_of(d)}
        head = self.plan.head
        before = {t.name for t in self.repo.tables(head)}
        there = sorted(owned & {t.name for t in self.repo.tables(branch)})
        return {name: last_touch(self.repo, name, head) if name in before else "" for name in there}


@contextmanager
def _naming_dataset(dataset: Dataset) -> Iterator[None]:
    """A block in which an error of a user's function is reported with the dataset's name."""
    try:
        yield
    except AnabranchError as error:
        error.add_note(f"while computing dataset {dataset.name}")
        raise
    except Exception as error:
        message = f"dataset {dataset.name!r} ({dataset.origin}) failed: {type(error).__name__}: {error}"
        raise RunFailed(message, hint="mend its function, then run again", dataset=dataset.name) from error


@dataclass(frozen=True)
class LastState:
    """What the newest commit of a pipeline on a branch says."""

    commit: str
    datasets: Mapping[str, LastRun]
    pins: Mapping[str, str]
    """The commits at which outside tables were read, by label."""
    base: str
    """The commit that the run began from."""
    tables: Mapping[str, str] | None
    """The tables of its datasets, each with the commit that had changed it last before the run, if any had.

    None if the run was one of an older version, which did not note them."""


def last_state(repo: Repository, pipeline: str, at: str) -> LastState | None:
    """Read the newest commit of a pipeline among the first parents of a ref that is not reverted; None if none is."""
    found = _runs_at(repo, pipeline, at)
    if not found:
        return None
    newest, said = found[-1].hash, found[-1].said
    datasets = {name: LastRun(d["code"], d["versions"]) for name, d in said["datasets"].items()}
    return LastState(newest, datasets, said["inputs"], said.get("base", newest), said.get("tables"))


def _runs_at(repo: Repository, pipeline: str, at: str) -> list[OwnCommit]:
    """The commits of a pipeline among the first parents of a ref, oldest first, without those that were reverted."""
    return repo.workbook.own_commits(at, [Mark(PIPELINE, lambda said: said.get("name") == pipeline)])


def watch(
    repo: Repository,
    pipeline: Pipeline,
    *,
    on: str | None = None,
    every_seconds: float = 2.0,
    stop: Callable[[], bool] = lambda: False,
    notify: Callable[[RunResult | AnabranchError], None] = lambda _: None,
    notify_step: Notify = lambda _: None,
    author: str | None = None,
) -> None:
    """Run a pipeline now and whenever its inputs moved, until `stop()`; several commits make one run.

    While this runs, any other runner is refused.
    """
    repo = output_repository(repo, pipeline)
    with only_runner(repo, pipeline.name):
        while not stop():
            before = _heads(repo, pipeline)
            try:
                done = run_alone(repo, pipeline, RunRequest(on, author=author, notify=notify_step))
                if done.run is not None:
                    notify(done)
            except AnabranchError as error:
                notify(error)
            time.sleep(every_seconds)
            # From the same heads a run would end as this one did: something must have moved since it began.
            while not stop() and _heads(repo, pipeline) == before:
                time.sleep(every_seconds)


def _heads(repo: Repository, pipeline: Pipeline) -> dict[str, str]:
    names = {i.repository for d in pipeline.datasets for i in pipeline.inputs_of(d).values() if i.repository}
    names |= {f.repository for d in pipeline.datasets for f in d.files if f.repository}
    of = [repo, *(repo.sibling(name) for name in sorted(names))]
    return {f"{r.name}:{b.name}": b.commit for r in of for b in r.branches() if not b.name.startswith("run/")}
