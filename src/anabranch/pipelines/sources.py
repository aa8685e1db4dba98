"""What a run reads: outside tables as pinned to commits, and the pipeline's datasets as computed so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidRequest
from anabranch.frames.relation import Relation
from anabranch.jobs.dealt import Pinned, pin
from anabranch.jobs.inputs import DatasetInput, Pin, pin_input, repository_of
from anabranch.pipelines.datasets import Dataset, Pipeline
from anabranch.repo.read.sql_result import SqlResult

if TYPE_CHECKING:
    from anabranch.repo.read.table import Table
    from anabranch.repo.repository import Repository


def pin_inputs(repo: Repository, pipeline: Pipeline, branch: str) -> dict[str, Pinned]:
    """Find the commit at which to read each outside table and file, all at one moment."""
    found: dict[str, Pinned] = {}
    with repo.one_state():
        for dataset in pipeline.ordered:
            for given in pipeline.inputs_of(dataset).values():
                if not pipeline.is_inside(given) and given.label not in found:
                    found[given.label] = pin_input(repo, given, branch, f"dataset {dataset.name!r}")
            for files in dataset.files:
                found[files.label] = pin(repo, files, branch, f"dataset {dataset.name!r}")
    return found


@dataclass
class RunState:
    """What datasets of a run read, and where the run writes."""

    repo: Repository
    pipeline: Pipeline
    pins: Mapping[str, Pinned]
    branch: str
    """The run's branch."""
    computed: dict[str, Any] = field(default_factory=dict)
    """Rows of temporary views, by name."""
    differences: dict[tuple[str, str], Any] = field(default_factory=dict)
    """What changed in tables since the last run, by repository and label; shared by datasets."""
    unchanged: set[str] = field(default_factory=set)
    """Datasets that this run did not change."""
    replaces_files: Collection[str] = ()
    """Jobs whose files take the place of whatever has their paths."""
    writes: dict[str, list[str]] = field(default_factory=dict)
    """For each job of this run, the writes of its files, by which they are told from those of others."""

    def table(self, given: DatasetInput, **chosen: Any) -> Table:
        """An input as a table: as computed so far in the run, or as pinned."""
        if self.pipeline.is_inside(given):
            return self.repo.table(given.table, at=self.branch, **chosen)
        pinned = self.pin(given)
        return repository_of(self.repo, pinned).table(pinned.table, at=pinned.commit, **chosen)

    def pin(self, given: DatasetInput) -> Pin:
        """Where an outside table is read."""
        found = self.pins[given.label]
        assert isinstance(found, Pin)
        return found

    def is_view(self, given: DatasetInput) -> bool:
        """Tell whether an input is a temporary view."""
        dataset = self.pipeline.by_name.get(given.table)
        return self.pipeline.is_inside(given) and dataset is not None and dataset.kind == "temporary_view"


def in_form(rows: Any, frames: str) -> Any:
    """Convert a table or SQL result to the form that a function takes; frames stay as they are."""
    return getattr(rows, frames)() if isinstance(rows, Relation) else rows


def rows_to_write(state: RunState, dataset: Dataset, result: Any) -> Any:
    """A dataset's result as rows to write; an empty result without columns gets those of its table."""
    rows = rows_of(result, dataset)
    if not _is_blank(rows):
        return rows
    if dataset.name not in {t.name for t in state.repo.tables(state.branch)}:
        hint = "let it return a frame with columns, such as pa.table({'day': pa.array([], pa.date32())})"
        raise InvalidRequest(f"dataset {dataset.name!r} gave no rows, and no columns for its table", hint=hint)
    return state.repo.table(dataset.name, at=state.branch, limit=0).arrow()


def _is_blank(rows: Any) -> bool:
    """Tell whether the rows are empty and show no columns: an empty list, or a frame without columns."""
    return len(rows) == 0 if isinstance(rows, list | tuple) else len(getattr(rows, "columns", (None,))) == 0


def rows_of(result: Any, dataset: Dataset) -> Any:
    """A dataset's result as rows; results of SQL on Spark stay on Spark."""
    if result is None:
        hint = "let it return a DataFrame, a table or rows"
        raise InvalidRequest(f"dataset {dataset.name!r} returned nothing", hint=hint)
    if isinstance(result, SqlResult) and result.engine == "spark":
        return result.spark()
    return result.arrow() if isinstance(result, Relation) else result
