"""Computes a dataset: in full, or from what changed in its inputs since the last run; or by a job over its shards."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidRequest, MergeConflict, NotFound
from anabranch.jobs.dealt import JobInput
from anabranch.jobs.inputs import DatasetInput, repository_of
from anabranch.jobs.job import Job
from anabranch.jobs.request import JobRequest
from anabranch.model.facts import PIPELINE
from anabranch.pipelines.datasets import Dataset
from anabranch.pipelines.sources import RunState, in_form, rows_of
from anabranch.repo.branches.own_commits import Mark
from anabranch.sql.references import find_references, quoted, splice

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.repo.repository import Repository

GROUPS_AT_MOST = 10_000
"""Above this many groups, a full refresh costs less than naming them."""


@dataclass(frozen=True)
class Since:
    """What the last run read: its own commit, and outside tables by label."""

    commit: str
    pins: Mapping[str, str]


@dataclass(frozen=True)
class Computed:
    """Rows of a dataset, and which rows they replace."""

    rows: Any
    is_all: bool = True
    """Whether these are all rows, or only new ones."""
    where: str | None = None
    """A condition for the rows that they replace, if not all."""
    args: Mapping[str, Any] | None = None


class NeedsAll(Exception):
    """The change can't be separated out: the dataset must be computed in full."""


def compute(state: RunState, dataset: Dataset) -> Any:
    """Compute all rows of a dataset."""
    inputs = {name: _whole(state, given, dataset) for name, given in state.pipeline.inputs_of(dataset).items()}
    return _called(state, dataset, inputs)


def compute_new(state: RunState, dataset: Dataset, moved: tuple[str, ...], since: Since) -> Computed:
    """Compute what the changed inputs mean for a dataset; raise NeedsAll if that can't be told."""
    inputs = state.pipeline.inputs_of(dataset)
    changed = {name: given for name, given in inputs.items() if _name(state, given) in moved}
    if any(state.is_view(given) for given in changed.values()):
        raise NeedsAll("a temporary view changed")
    if dataset.refresh == "incremental_by":
        return _by_group(state, dataset, inputs, changed, since)
    if len(changed) > 1:
        raise NeedsAll("several inputs changed")
    ((name, given),) = changed.items()
    rows = _difference(state, given, since)
    new = _only_inserts(rows, dataset, given) if dataset.refresh == "append" else rows
    others = {n: _whole(state, i, dataset) for n, i in inputs.items() if n != name}
    found = _called(state, dataset, {**others, name: _as_frame(state, new, dataset)})
    return Computed(found, is_all=False)


def _name(state: RunState, given: DatasetInput) -> str:
    return given.table if state.pipeline.is_inside(given) else given.label


def _whole(state: RunState, given: DatasetInput, dataset: Dataset) -> Any:
    if state.is_view(given):
        return _view(state, given.table)
    if given.form == "changes":
        return _as_frame(state, _all_as_inserts(state, given), dataset)
    return state.table(given)


def _view(state: RunState, name: str) -> Any:
    """The rows of a temporary view, computed once per run."""
    if name not in state.computed:
        dataset = state.pipeline.by_name[name]
        state.computed[name] = rows_of(compute(state, dataset), dataset)
    return state.computed[name]


def _called(state: RunState, dataset: Dataset, inputs: Mapping[str, Any]) -> Any:
    if dataset.query is not None:
        return _by_query(state, dataset, inputs)
    function = dataset.function
    assert function is not None
    given = {name: in_form(rows, dataset.frames) for name, rows in inputs.items()}
    parameters = inspect.signature(function).parameters
    if dataset.reads_session:
        return function()
    if "spark" in parameters:
        given["spark"] = state.repo.spark_session
    if "configuration" in parameters:
        given["configuration"] = dict(state.pipeline.configuration)
    return function(**given)


def _by_query(state: RunState, dataset: Dataset, inputs: Mapping[str, Any]) -> Any:
    """Run a query over the inputs, whatever their names stand for elsewhere."""
    text = dataset.query or ""
    references = [r for r in find_references(text) if not r.frame]
    names = {name: f"input_{n}" for n, name in enumerate(inputs)}
    spliced = splice(text, references, [f"{{{names[r.name]}}}" for r in references])
    frames = {names[name]: rows for name, rows in inputs.items()}
    return state.repo.sql(spliced, at=state.branch, **frames)


def _since(state: RunState, given: DatasetInput, since: Since) -> tuple[Repository, str, str, str]:
    """The repository and table of an input, the commit last read and the one to read now."""
    if state.pipeline.is_inside(given):
        return state.repo, given.table, since.commit, state.branch
    pin = state.pin(given)
    old = since.pins.get(given.label)
    if old is None:
        raise NeedsAll(f"it is not known what was read of {given.label}")
    return repository_of(state.repo, pin), pin.table, old, pin.commit


def _difference(state: RunState, given: DatasetInput, since: Since) -> pa.Table:
    """What changed in an input since the last run: one change per row, in Spark's form; computed once per run."""
    repo, table, old, new = _since(state, given, since)
    known = (repo.name, given.label)
    if known not in state.differences:
        state.differences[known] = _changed_rows(repo, given, table, old, new)
    return state.differences[known]


def _changed_rows(repo: Repository, given: DatasetInput, table: str, old: str, new: str) -> pa.Table:
    try:
        found = repo.diff(old, new, table=table)
        there = next((t for t in found if t.name == table), None)
    except NotFound as error:
        raise NeedsAll(f"what was read last is gone: {error.message}") from error
    if there is None:
        return repo.table(table, at=new, limit=0).arrow().slice(0, 0)
    if there.schema:
        raise NeedsAll(f"the columns of {given.label} changed")
    return there.arrow()


def _all_as_inserts(state: RunState, given: DatasetInput) -> pa.Table:
    import pyarrow as pa

    rows = state.table(replace(given, form="rows")).arrow()
    return rows.append_column("_change_type", pa.array(["insert"] * rows.num_rows, pa.string()))


def _only_inserts(rows: pa.Table, dataset: Dataset, given: DatasetInput) -> pa.Table:
    if "_change_type" not in rows.column_names:
        return rows
    kinds = set(rows.column("_change_type").to_pylist())
    if kinds - {"insert"}:
        message = f"dataset {dataset.name!r} only appends, but rows of {given.label!r} were changed or deleted"
        raise InvalidRequest(message, hint=f"compute it anew: --full-refresh {dataset.name}")
    return rows.drop_columns(["_change_type"])


def _as_frame(state: RunState, rows: pa.Table, dataset: Dataset) -> Any:
    """Changed rows in the form that the function takes."""
    if dataset.query is not None or dataset.frames == "arrow":
        return rows
    if dataset.frames == "spark":
        return state.repo.spark_session.createDataFrame(rows)
    return state.repo.sql("SELECT * FROM {rows}", rows=rows).__getattribute__(dataset.frames)()


def _by_group(
    state: RunState,
    dataset: Dataset,
    inputs: Mapping[str, DatasetInput],
    changed: Mapping[str, DatasetInput],
    since: Since,
) -> Computed:
    """Recompute the groups in which any row changed, appeared or disappeared, from all of their rows."""
    group = dataset.group or ""
    values: set[Any] = set()
    for given in changed.values():
        rows = _difference(state, given, since)
        if group not in rows.column_names:
            raise NeedsAll(f"{given.label} changed and has no column {group}")
        values |= set(rows.column(group).unique().to_pylist())
    if len(values) > GROUPS_AT_MOST:
        raise NeedsAll(f"{len(values):,} groups changed")
    where, args = _in_groups(group, values)
    chosen = {n: _groups_of(state, given, dataset, where, args) for n, given in inputs.items()}
    return Computed(_called(state, dataset, chosen), False, where, args)


def _groups_of(state: RunState, given: DatasetInput, dataset: Dataset, where: str, args: Mapping[str, Any]) -> Any:
    if state.is_view(given):
        raise NeedsAll("it reads a temporary view")
    found = state.table(given)
    if dataset.group not in [c.name for c in found.schema]:
        return found
    return state.table(given, where=where, args=args)


def _in_groups(group: str, values: set[Any]) -> tuple[str, dict[str, Any]]:
    """A condition that holds for rows of these groups."""
    column = quoted(group)
    known = sorted((v for v in values if v is not None), key=repr)
    args = {f"g{n}": value for n, value in enumerate(known)}
    parts = [f"{column} IN ({', '.join(f':{name}' for name in args)})"] if args else []
    parts += [f"{column} IS NULL"] if None in values else []
    return " OR ".join(parts) or "false", args


@contextmanager
def session_tables(state: RunState, dataset: Dataset) -> Iterator[None]:
    """A block in which the Spark session knows a dataset's inputs by name."""
    names: list[str] = []
    session = state.repo.spark_session
    try:
        _name_in_session(state, dataset, names)
        yield
    finally:
        for name in names:
            session.catalog.dropTempView(name)


def _name_in_session(state: RunState, dataset: Dataset, names: list[str]) -> None:
    """Register the inputs of a dataset, those of views first: Connect resolves names only when it runs."""
    for given in state.pipeline.inputs_of(dataset).values():
        if given.table in names:
            continue
        if state.is_view(given):
            _name_in_session(state, state.pipeline.by_name[given.table], names)
        rows = in_form(_whole(state, given, dataset), "spark")
        rows.createOrReplaceTempView(given.table)
        names.append(given.table)


def run_job(state: RunState, dataset: Dataset, author: str | None) -> Mapping[str, int]:
    """Run the job of a dataset over all its inputs, as of this run; returns how much it made."""
    how = dataset.sharded
    assert how is not None
    assert dataset.function is not None
    tables = {n: _as_the_run_has_it(state, i, dataset) for n, i in state.pipeline.inputs_of(dataset).items()}
    files = {n: replace(f, at=state.pins[f.label].commit) for n, f in how.files.items()}
    inputs: dict[str, JobInput] = {**tables, **files}
    dealt = {name: getattr(how, name) for name in ("shards", "shard_by", "params", "local")}
    what = (dataset.function, dataset.name, inputs, state.branch, dataset.name, dataset.key)
    asked = JobRequest(
        *what,
        version=dataset.version,
        author=author,
        mode="replace",
        file_mode="replace" if dataset.name in state.replaces_files else "own",
        also_own=(files_of_runs(state.pipeline.name, dataset.name),),
        **dealt,
    )
    try:
        done = Job(state.repo, asked).run(force=True)
    except MergeConflict as error:
        error.hint = f"bring these files back as the job made them, or let it replace them: --full-refresh {asked.name}"
        raise
    state.writes[dataset.name] = sorted(done.writes)
    return {"rows": done.rows, "files": done.files}


def files_of_runs(pipeline: str, dataset: str) -> Mark:
    """The commits of a pipeline in which a job of it made files."""

    def is_own(said: Mapping[str, Any]) -> bool:
        return said.get("name") == pipeline and dataset in said.get("jobs", {})

    return Mark(PIPELINE, is_own, lambda said: said["jobs"][dataset])


def _as_the_run_has_it(state: RunState, given: DatasetInput, dataset: Dataset) -> DatasetInput:
    if state.is_view(given):
        hint = "make it a materialized view"
        raise InvalidRequest(f"job {dataset.name!r} reads {given.table!r}, which is a temporary view", hint=hint)
    if state.pipeline.is_inside(given):
        return replace(given, at=state.branch)
    pinned = state.pin(given)
    return replace(given, table=pinned.table, repository=pinned.repository, at=pinned.commit)
