"""A pipeline as values: datasets, what they read, what is expected of them, where the output goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from anabranch.errors import InvalidRequest
from anabranch.jobs.dealt import FilesInput
from anabranch.jobs.inputs import DatasetInput
from anabranch.plan.pipeline import Refresh, in_order
from anabranch.plan.shards import ShardBy

DatasetKind = Literal["materialized_view", "temporary_view"]
FrameKind = Literal["spark", "arrow", "pandas", "polars", "rows"]
Verdict = Literal["count", "drop", "fail"]


@dataclass(frozen=True)
class Expectation:
    """What must hold for a dataset: a condition on each row, unique columns, or a query that returns no rows."""

    name: str
    condition: str
    verdict: Verdict = "count"
    kind: Literal["condition", "unique", "query"] = "condition"


@dataclass(frozen=True)
class Sharded:
    """How a job makes a dataset: its function gets shards, and may also write files."""

    shards: int = 1
    shard_by: ShardBy = field(default_factory=ShardBy)
    params: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, FilesInput] = field(default_factory=dict)
    """The files that it reads, by name."""
    local: bool = False


@dataclass(frozen=True)
class Dataset:
    """A table that a pipeline makes, or a view that only the pipeline sees."""

    name: str
    kind: DatasetKind = "materialized_view"
    function: Callable[..., Any] | None = None
    query: str | None = None
    inputs: Mapping[str, DatasetInput] = field(default_factory=dict)
    """By parameter of the function, or by table in the query."""
    key: tuple[str, ...] = ()
    refresh: Refresh = "full"
    group: str | None = None
    """The column of `incremental_by`."""
    expectations: tuple[Expectation, ...] = ()
    frames: FrameKind = "spark"
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    """Stands for the code, if the user gives it."""
    origin: str = ""
    """The file that declares it."""
    reads_session: bool = False
    """Whether its function reads tables by name from a Spark session, as those of `pyspark.pipelines` do."""

    sharded: Sharded | None = None
    """Set if its function runs over shards."""

    @property
    def files(self) -> tuple[FilesInput, ...]:
        """The files that it reads."""
        return tuple(self.sharded.files.values()) if self.sharded else ()

    def __post_init__(self) -> None:
        if self.sharded and any(e.verdict == "drop" for e in self.expectations):
            hint = "leave such rows out in the function, or use expect and expect_or_fail"
            raise InvalidRequest(f"dataset {self.name!r} is made by a job, whose rows can't be dropped", hint=hint)
        if self.refresh in ("changes", "incremental_by") and not self.key:
            hint = "give key=, so that rows can be replaced"
            raise InvalidRequest(f"dataset {self.name!r} is refreshed by {self.refresh} and has no key", hint=hint)


@dataclass(frozen=True)
class PipelineOutput:
    """Where the output goes."""

    branch: str | None = None
    repository: str | None = None


@dataclass(frozen=True)
class Pipeline:
    """Datasets that are computed together and published in one commit."""

    name: str
    datasets: tuple[Dataset, ...]
    output: PipelineOutput = PipelineOutput()
    sources: Mapping[str, DatasetInput] = field(default_factory=dict)
    """Outside tables, by the names that datasets use for them."""
    expectations: tuple[Expectation, ...] = ()
    """Queries over all outputs that must return no rows."""
    configuration: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [d.name for d in self.datasets]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice:
            origins = " and ".join(d.origin or "?" for d in self.datasets if d.name == twice)
            raise InvalidRequest(f"dataset {twice!r} is declared twice, in {origins}", hint="rename one of them")
        if not names:
            raise InvalidRequest(
                f"pipeline {self.name!r} has no dataset", hint="declare one with @dp.materialized_view, or in SQL"
            )

    @cached_property
    def by_name(self) -> dict[str, Dataset]:
        return {d.name: d for d in self.datasets}

    @cached_property
    def ordered(self) -> tuple[Dataset, ...]:
        """The datasets in order, each after those that it reads."""
        inputs = {d.name: [i.table for i in self.inputs_of(d).values()] for d in self.datasets}
        return tuple(self.by_name[name] for name in in_order(inputs))

    def inputs_of(self, dataset: Dataset) -> dict[str, DatasetInput]:
        """What a dataset reads, with the pipeline's names for outside tables resolved."""
        return {name: self._resolved(i) for name, i in dataset.inputs.items()}

    def _resolved(self, given: DatasetInput) -> DatasetInput:
        is_plain = given.repository is None and given.at is None
        if is_plain and given.table not in self.by_name and given.table in self.sources:
            known = self.sources[given.table]
            return replace(given, table=known.table, repository=known.repository, at=known.at)
        return given

    def is_inside(self, given: DatasetInput) -> bool:
        """Tell whether an input is a dataset of this pipeline."""
        return given.table in self.by_name and given.repository is None and given.at is None
