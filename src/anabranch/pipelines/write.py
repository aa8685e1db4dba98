"""Writes a dataset's rows on the run's branch: all of them, those of some groups, or only new ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anabranch.pipelines.compute import Computed
from anabranch.pipelines.datasets import Dataset
from anabranch.pipelines.sources import RunState

if TYPE_CHECKING:
    from anabranch.repo.commit.transaction import Transaction

CHANGE_TYPE = "_change_type"


def write_rows(state: RunState, dataset: Dataset, found: Computed) -> Mapping[str, int]:
    """Commit a dataset's rows on the run's branch; returns how many were inserted, updated and deleted."""
    with state.repo.commit(state.branch, f"compute {dataset.name}") as tx:
        if found.is_all:
            _write_all(state, tx, dataset, found.rows)
        elif found.where is not None:
            tx.table(dataset.name).overwrite(found.rows, where=found.where, args=found.args)
        elif dataset.refresh == "append":
            table = tx.table(dataset.name)
            (table.upsert if dataset.key else table.insert)(found.rows)
        else:
            _apply(state, tx, dataset, found.rows)
        counts = tx.counts.get(dataset.name)
    return {} if counts is None else {n: getattr(counts, n) for n in ("inserted", "updated", "deleted")}


def _write_all(state: RunState, tx: Transaction, dataset: Dataset, rows: Any) -> None:
    """Overwrite a table, storing only what differs; recreate it if its columns or key changed."""
    there = {t.name for t in state.repo.tables(state.branch)}
    rows = _without_change_type(state, dataset, rows)
    if dataset.name in there:
        table = tx.table(dataset.name)
        if tuple(table.key) == dataset.key and _has_same_columns(state, rows, table):
            table.overwrite(rows)
            return
        table.drop()
    tx.create_table(dataset.name, rows, key=list(dataset.key) or None, properties=dict(dataset.properties) or None)


def _has_same_columns(state: RunState, rows: Any, table: Any) -> bool:
    probe = state.repo.sql("SELECT * FROM {rows} LIMIT 0", rows=rows)
    found = dict(zip(probe.columns, probe.types, strict=True))
    return found == {c.name: str(c.type) for c in table.schema}


def _apply(state: RunState, tx: Transaction, dataset: Dataset, rows: Any) -> None:
    """Apply changed rows: a `_change_type` of delete or update_preimage deletes by key, all others upsert."""
    probe = state.repo.sql("SELECT * FROM {rows} LIMIT 0", rows=rows)
    table = tx.table(dataset.name)
    if CHANGE_TYPE not in probe.columns:
        table.upsert(rows)
        return
    keys = ", ".join(f"`{k.replace('`', '``')}`" for k in dataset.key)
    gone = state.repo.sql(
        f"SELECT {keys} FROM {{rows}} WHERE {CHANGE_TYPE} IN ('delete', 'update_preimage')", rows=rows
    )
    new = _chosen(state, rows, f"{CHANGE_TYPE} NOT IN ('delete', 'update_preimage')")
    on = " AND ".join(f"t.`{k.replace('`', '``')}` <=> s.`{k.replace('`', '``')}`" for k in dataset.key)
    tx.sql(f"MERGE INTO {_quoted(dataset.name)} t USING {{gone}} s ON {on} WHEN MATCHED THEN DELETE", gone=gone.arrow())
    table.upsert(new)


def _without_change_type(state: RunState, dataset: Dataset, rows: Any) -> Any:
    """Drop the `_change_type` of a dataset of changes that was computed in full: there is nothing to delete."""
    if dataset.refresh != "changes":
        return rows
    probe = state.repo.sql("SELECT * FROM {rows} LIMIT 0", rows=rows)
    return _chosen(state, rows, "true") if CHANGE_TYPE in probe.columns else rows


def _chosen(state: RunState, rows: Any, condition: str) -> Any:
    found = state.repo.sql(f"SELECT * EXCEPT ({CHANGE_TYPE}) FROM {{rows}} WHERE {condition}", rows=rows)
    return found.spark() if found.engine == "spark" else found.arrow()


def _quoted(name: str) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))
