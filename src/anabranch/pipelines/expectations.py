"""Checks what is expected of datasets, on the run's branch, before anybody sees the output.

A row meets a condition if it is true: neither false nor null.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from anabranch.model.expectations import verdict_of
from anabranch.pipelines.compute import Computed
from anabranch.pipelines.datasets import Dataset, Expectation, Verdict
from anabranch.pipelines.sources import RunState
from anabranch.pipelines.write import CHANGE_TYPE, chosen_rows, has_change_type, write_dropped


@dataclass(frozen=True)
class Checked:
    """How an expectation was met."""

    dataset: str | None
    """None for a query over all outputs."""
    name: str
    verdict: Verdict
    broken: int
    """How many rows broke it."""
    rows: int | None = None
    """How many rows were checked, if known."""
    condition: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether this forbids publishing."""
        return self.verdict == "fail" and self.broken > 0

    def __str__(self) -> str:
        of = f" of {self.rows:,}" if self.rows is not None else ""
        where = f"{self.dataset}: " if self.dataset else ""
        return f"{where}{self.broken:,}{of} rows break {self.name!r}"

    def as_document(self) -> dict[str, Any]:
        """As JSON."""
        found = {"dataset": self.dataset, "name": self.name, "action": self.verdict, "broken": self.broken}
        return {**found, "rows": self.rows, "verdict": verdict_of(self.verdict, self.broken)}

    def as_row(self) -> dict[str, Any]:
        """As a row of the catalogue."""
        said = {"table_name": self.dataset, "name": self.name, "condition": self.condition, "action": self.verdict}
        return {**said, "row_count": self.rows, "failed_count": self.broken}


@contextmanager
def without_dropped(state: RunState, dataset: Dataset, found: Computed) -> Iterator[tuple[Computed, dict[str, int]]]:
    """Move the rows that an expectation drops to a table of their own; yields the rest and the counts."""
    drops = drops_of(dataset)
    if not drops:
        yield found, {}
        return
    is_spark = hasattr(found.rows, "createOrReplaceTempView")
    rows = found.rows.persist() if is_spark else found.rows
    try:
        met = " AND ".join(f"coalesce(({e.condition}), false)" for e in drops)
        good, bad = _parted(state, dataset, replace(found, rows=rows), met)
        counts = _count(state, bad, drops)
        write_dropped(state, dataset, replace(found, rows=bad), rows)
        yield replace(found, rows=good), counts
    finally:
        if is_spark:
            rows.unpersist()


def _parted(state: RunState, dataset: Dataset, found: Computed, met: str) -> tuple[Any, Any]:
    """The rows to write, and those to keep out. A change to a row that is kept out deletes what has its key."""
    if dataset.refresh != "changes" or found.is_all:
        return chosen_rows(state, found.rows, met), chosen_rows(state, found.rows, f"NOT ({met})")
    has_type = has_change_type(state, found.rows)
    kind, others = (CHANGE_TYPE, f"* EXCEPT ({CHANGE_TYPE})") if has_type else ("'insert'", "*")
    stays = f"{kind} NOT IN ('delete', 'update_preimage')"
    good = chosen_rows(
        state, found.rows, "true", f"{others}, CASE WHEN {met} THEN {kind} ELSE 'delete' END {CHANGE_TYPE}"
    )
    return good, chosen_rows(state, found.rows, f"NOT ({met}) AND {stays}")


def drops_of(dataset: Dataset) -> list[Expectation]:
    """The expectations that keep rows out of a dataset."""
    return [e for e in dataset.expectations if e.verdict == "drop" and e.kind == "condition"]


def _count(state: RunState, rows: Any, expected: list[Expectation]) -> dict[str, int]:
    sums = ", ".join(f"count_if(NOT coalesce(({e.condition}), false)) AS n{i}" for i, e in enumerate(expected))
    (found,) = state.repo.sql(f"SELECT {sums} FROM {{rows}}", rows=rows).rows()
    return {e.name: int(found[f"n{i}"]) for i, e in enumerate(expected)}


def check_dataset(state: RunState, dataset: Dataset, dropped: dict[str, int]) -> tuple[Checked, ...]:
    """Check a dataset on the run's branch; all conditions in one query."""
    if not dataset.expectations:
        return ()
    checked = [
        Checked(dataset.name, e.name, "drop", dropped[e.name], None, e.condition) for e in drops_of(dataset) if dropped
    ]
    conditions = [e for e in dataset.expectations if e.kind == "condition" and e.verdict != "drop"]
    rows = state.repo.table(dataset.name, at=state.branch)
    if conditions:
        broken = _count(state, rows, conditions)
        total = rows.count()
        checked += [Checked(dataset.name, e.name, e.verdict, broken[e.name], total, e.condition) for e in conditions]
    for e in dataset.expectations:
        if e.kind == "unique":
            text = (
                f"SELECT count(*) AS n FROM (SELECT 1 AS one FROM {{rows}} GROUP BY {e.condition} HAVING count(*) > 1)"
            )
            (found,) = state.repo.sql(text, rows=rows).rows()
            checked.append(Checked(dataset.name, e.name, e.verdict, int(found["n"]), None, e.condition))
    return tuple(checked)


def check_queries(state: RunState) -> tuple[Checked, ...]:
    """Run the queries over all outputs: each row returned breaks one."""
    return tuple(
        Checked(None, e.name, e.verdict, state.repo.sql(e.condition, at=state.branch).count(), None, e.condition)
        for e in state.pipeline.expectations
    )
