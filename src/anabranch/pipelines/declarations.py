"""The decorators that declare datasets, with the words of Spark's declarative pipelines and those of expectations.

from anabranch import pipelines as dp

@dp.expect_or_fail("positive", "total >= 0")
@dp.materialized_view(key="day", incremental_by="day")
def daily(orders): return orders.groupBy("day").agg(...)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from anabranch.errors import InvalidRequest
from anabranch.frames.input import key_names
from anabranch.jobs.dealt import FilesInput, read_inputs
from anabranch.jobs.inputs import DatasetInput
from anabranch.pipelines.datasets import Dataset, DatasetKind, Expectation, FrameKind, Sharded, Verdict
from anabranch.plan.pipeline import Refresh
from anabranch.plan.shards import read_shard_by
from anabranch.sql.references import quoted

F = TypeVar("F", bound=Callable[..., Any])
_EXPECTED = "_anabranch_expectations"
_DECLARED = "_anabranch_dataset"
_GIVEN = ("spark", "configuration")
"""Parameters that are not tables."""


@dataclass
class Declarations:
    """What the files of a pipeline declare, in order."""

    functions: list[Callable[..., Any]] = field(default_factory=list)
    written: list[Dataset] = field(default_factory=list)
    """Datasets of SQL files, and of functions declared by Spark's own decorators."""
    expectations: list[Expectation] = field(default_factory=list)

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        return (*map(declared_dataset, self.functions), *self.written)


_collecting: ContextVar[Declarations | None] = ContextVar("anabranch_pipeline", default=None)


@contextmanager
def declaring(into: Declarations | None = None) -> Iterator[Declarations]:
    """A block in which decorated functions become datasets of one pipeline."""
    made = into if into is not None else Declarations()
    token = _collecting.set(made)
    try:
        yield made
    finally:
        _collecting.reset(token)


def materialized_view(
    function: F | None = None,
    *,
    name: str | None = None,
    key: str | Sequence[str] = (),
    inputs: Mapping[str, str | DatasetInput] | None = None,
    mode: str | None = None,
    incremental_by: str | None = None,
    frames: FrameKind = "spark",
    comment: str | None = None,
    table_properties: Mapping[str, str] | None = None,
    version: str | None = None,
    **_spark: Any,
) -> Any:
    """Declare a table that a function computes; its parameters are the tables that it reads.

    `mode` is full, append or changes; `incremental_by` names a column whose groups are recomputed if any of their rows
    changed. `frames` is what the function gets: spark, arrow, pandas, polars or rows.
    """
    refresh = _refresh(mode, incremental_by)
    if frames not in get_args(FrameKind):
        raise InvalidRequest(f"frames={frames!r} is not known", hint=f"choose one of {', '.join(get_args(FrameKind))}")

    def decorate(f: F) -> F:
        declared = replace(_dataset(f, "materialized_view", name, inputs, frames), comment=comment, version=version)
        kept = replace(declared, key=key_names(key), properties=dict(table_properties or {}))
        return _declare(f, replace(kept, refresh=refresh, group=incremental_by))

    return decorate if function is None else decorate(function)


table = materialized_view
"""A pipeline's batch table is a materialized view."""


def temporary_view(
    function: F | None = None,
    *,
    name: str | None = None,
    inputs: Mapping[str, str | DatasetInput] | None = None,
    frames: FrameKind = "spark",
    comment: str | None = None,
    **_spark: Any,
) -> Any:
    """Declare rows that only the pipeline's datasets see."""

    def decorate(f: F) -> F:
        return _declare(f, replace(_dataset(f, "temporary_view", name, inputs, frames), comment=comment))

    return decorate if function is None else decorate(function)


def job(
    *,
    inputs: Mapping[str, str | DatasetInput | FilesInput],
    name: str | None = None,
    key: str | Sequence[str] = (),
    shards: int = 1,
    shard_by: Any = None,
    params: Mapping[str, Any] | None = None,
    local: bool = False,
    version: str | None = None,
) -> Callable[[F], F]:
    """Declare what a function over shards makes: a table of the rows that it returns, and the files that it puts.

    `inputs` are tables and `dp.files("raw/**")`, dealt to the shards; `dp.whole("rates")` is whole in each.
    Shards run on Spark's executors; with `local`, in this process.
    """
    found = read_inputs(inputs)

    def decorate(f: F) -> F:
        tables = {n: i for n, i in found.items() if isinstance(i, DatasetInput)}
        paths = {n: i for n, i in found.items() if isinstance(i, FilesInput)}
        origin = Path(inspect.getsourcefile(f) or "?").name
        how = Sharded(shards, read_shard_by(shard_by), dict(params or {}), paths, local)
        made = Dataset(name or f.__name__, function=f, inputs=tables, key=key_names(key), origin=origin, sharded=how)
        return _declare(f, replace(made, version=version))

    return decorate


def expect(name: str, condition: str) -> Callable[[F], F]:
    """Count the rows for which a condition is not true."""
    return _expecting(Expectation(name, condition, "count"))


def expect_or_drop(name: str, condition: str) -> Callable[[F], F]:
    """Keep rows for which a condition is not true out of the table; they go to `<table>__dropped`."""
    return _expecting(Expectation(name, condition, "drop"))


def expect_or_fail(name: str, condition: str) -> Callable[[F], F]:
    """Publish nothing if a condition is not true for some row."""
    return _expecting(Expectation(name, condition, "fail"))


def expect_unique(*columns: str, name: str | None = None, verdict: Verdict = "fail") -> Callable[[F], F]:
    """Publish nothing if two rows have the same values in these columns."""
    title = name or f"unique {', '.join(columns)}"
    listed = ", ".join(map(quoted, columns))
    return _expecting(Expectation(title, listed, verdict, "unique"))


def expect_query(name: str, query: str) -> Expectation:
    """Publish nothing if a query over the outputs returns any row."""
    made = Expectation(name, query, "fail", "query")
    into = _collecting.get()
    if into is not None:
        into.expectations.append(made)
    return made


def read(table: str, *, at: str | None = None, repository: str | None = None) -> DatasetInput:
    """Name a table of another repository or at a ref for a dataset to read: as a parameter's default, or in inputs=."""
    return DatasetInput(table, repository, at)


def changes(table: str, *, repository: str | None = None) -> DatasetInput:
    """Name a table whose changes a dataset reads: every changed row since the last run, with `_change_type`."""
    return DatasetInput(table, repository, form="changes")


def declared_dataset(function: Callable[..., Any]) -> Dataset:
    """The dataset that a decorated function declares, with all its expectations."""
    found: Dataset | None = getattr(function, _DECLARED, None)
    if found is None:
        hint = "decorate it with @dp.materialized_view or @dp.temporary_view"
        raise InvalidRequest(f"{getattr(function, '__name__', function)!r} is no dataset", hint=hint)
    return replace(found, expectations=tuple(getattr(function, _EXPECTED, ())))


def _refresh(mode: str | None, group: str | None) -> Refresh:
    if group is not None:
        if mode not in (None, "incremental_by"):
            raise InvalidRequest(f"incremental_by= and mode={mode!r} contradict", hint="leave one of them out")
        return "incremental_by"
    if mode in (None, "full"):
        return "full"
    if mode in ("append", "changes"):
        return mode  # type: ignore[return-value]
    raise InvalidRequest(f"mode={mode!r} is not known", hint="choose full, append or changes, or give incremental_by=")


def _dataset(
    f: Callable[..., Any],
    kind: DatasetKind,
    name: str | None,
    inputs: Mapping[str, str | DatasetInput] | None,
    frames: FrameKind,
) -> Dataset:
    known = {n: i if isinstance(i, DatasetInput) else DatasetInput(i) for n, i in (inputs or {}).items()}
    found: dict[str, DatasetInput] = {}
    parameters = inspect.signature(f).parameters
    for parameter in parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or parameter.name in _GIVEN:
            continue
        default = parameter.default if isinstance(parameter.default, DatasetInput) else None
        found[parameter.name] = known.get(parameter.name) or default or DatasetInput(parameter.name)
    extra = known.keys() - found.keys()
    if extra:
        message = f"inputs= of {f.__name__!r} names {', '.join(sorted(extra))}, which are no parameters of it"
        raise InvalidRequest(message, hint=f"its parameters are {', '.join(parameters) or 'none'}")
    origin = Path(inspect.getsourcefile(f) or "?").name
    return Dataset(name or f.__name__, kind, f, inputs=found, frames=frames, origin=origin)


def _declare(f: F, dataset: Dataset) -> F:
    setattr(f, _DECLARED, dataset)
    into = _collecting.get()
    if into is not None:
        into.functions.append(f)
    return f


def _expecting(expectation: Expectation) -> Callable[[F], F]:
    def decorate(f: F) -> F:
        setattr(f, _EXPECTED, [expectation, *getattr(f, _EXPECTED, [])])
        return f

    return decorate
