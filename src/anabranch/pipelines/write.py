"""Writes a dataset's rows on the run's branch: all of them, those of some groups, or only new ones.

Rows that were kept out are written to a table of their own in the same way, so it shows what a full run would show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anabranch.pipelines.compute import Computed
from anabranch.pipelines.datasets import Dataset
from anabranch.pipelines.sources import RunState
from anabranch.sql.references import quoted

if TYPE_CHECKING:
    from anabranch.repo.commit.transaction import Transaction

CHANGE_TYPE = "_change_type"
DROPPED = "__dropped"
"""Suffix of the table for rows that `expect_or_drop` keeps out."""
_OTHERS = f"* EXCEPT ({CHANGE_TYPE})"
_GOES = f"{CHANGE_TYPE} IN ('delete', 'update_preimage')"


def write_rows(state: RunState, dataset: Dataset, found: Computed) -> Mapping[str, int]:
    """Commit a dataset's rows on the run's branch; returns how many were inserted, updated and deleted."""
    with state.repo.commit(state.branch, f"compute {dataset.name}") as tx:
        if found.is_all:
            rows = _without_change_type(state, dataset, found.rows)
            _overwrite(state, tx, dataset.name, dataset.key, rows, dataset.properties)
        elif found.where is not None:
            tx.table(dataset.name).overwrite(found.rows, where=found.where, args=found.args)
        elif dataset.refresh == "append":
            table = tx.table(dataset.name)
            (table.upsert if dataset.key else table.insert)(found.rows)
        else:
            _apply(state, tx, dataset, found.rows)
        counts = tx.counts.get(dataset.name)
    return {} if counts is None else {n: getattr(counts, n) for n in ("inserted", "updated", "deleted")}


def write_dropped(state: RunState, dataset: Dataset, kept_out: Computed, computed: Any) -> None:
    """Commit the rows kept out of a dataset, in place of those that earlier runs kept out of the same part of it.

    Without a key, since the key may be what is wrong with them. `computed` are all rows, those kept in as well."""
    name = f"{dataset.name}{DROPPED}"
    with state.repo.commit(state.branch, f"rows kept out of {dataset.name}") as tx:
        if kept_out.is_all or name not in {t.name for t in state.repo.tables(state.branch)}:
            rows = _without_change_type(state, dataset, kept_out.rows)
            _overwrite(state, tx, name, (), rows)
        elif kept_out.where is not None:
            tx.table(name).overwrite(kept_out.rows, where=kept_out.where, args=kept_out.args)
        else:
            if dataset.refresh == "changes":
                _delete_keys(state, tx, name, dataset, computed)
            tx.table(name).insert(_without_change_type(state, dataset, kept_out.rows))


def _overwrite(
    state: RunState, tx: Transaction, name: str, key: tuple[str, ...], rows: Any, properties: Mapping[str, str] = {}
) -> None:
    """Overwrite a table, storing only what differs; recreate it if its columns or key changed."""
    if name in {t.name for t in state.repo.tables(state.branch)}:
        table = tx.table(name)
        if tuple(table.key) == key and _has_same_columns(state, rows, table):
            table.overwrite(rows)
            return
        table.drop()
    tx.create_table(name, rows, key=list(key) or None, properties=dict(properties) or None)


def _has_same_columns(state: RunState, rows: Any, table: Any) -> bool:
    probe = state.repo.sql("SELECT * FROM {rows} LIMIT 0", rows=rows)
    found = dict(zip(probe.columns, probe.types, strict=True))
    return found == {c.name: str(c.type) for c in table.schema}


def _apply(state: RunState, tx: Transaction, dataset: Dataset, rows: Any) -> None:
    """Apply changed rows: a `_change_type` of delete or update_preimage deletes by key, all others upsert."""
    table = tx.table(dataset.name)
    if not has_change_type(state, rows):
        table.upsert(rows)
        return
    _delete_keys(state, tx, dataset.name, dataset, rows, _GOES)
    table.upsert(chosen_rows(state, rows, f"NOT ({_GOES})", _OTHERS))


def _delete_keys(
    state: RunState, tx: Transaction, name: str, dataset: Dataset, rows: Any, condition: str = "true"
) -> None:
    """Delete from a table what has the key of one of these rows."""
    keys = ", ".join(quoted(k) for k in dataset.key)
    gone = state.repo.sql(f"SELECT DISTINCT {keys} FROM {{rows}} WHERE {condition}", rows=rows)
    on = " AND ".join(f"t.{quoted(k)} <=> s.{quoted(k)}" for k in dataset.key)
    tx.sql(f"MERGE INTO {_quoted(name)} t USING {{gone}} s ON {on} WHEN MATCHED THEN DELETE", gone=gone.arrow())


def has_change_type(state: RunState, rows: Any) -> bool:
    """Tell whether rows say what became of them, in a column `_change_type`."""
    return CHANGE_TYPE in state.repo.sql("SELECT * FROM {rows} LIMIT 0", rows=rows).columns


def _without_change_type(state: RunState, dataset: Dataset, rows: Any) -> Any:
    """Drop the `_change_type` of a dataset of changes that was computed in full: there is nothing to delete."""
    if dataset.refresh != "changes":
        return rows
    return chosen_rows(state, rows, "true", _OTHERS) if has_change_type(state, rows) else rows


def chosen_rows(state: RunState, rows: Any, condition: str, columns: str = "*") -> Any:
    """Some columns of the rows for which a condition holds, on the engine that computes them."""
    found = state.repo.sql(f"SELECT {columns} FROM {{rows}} WHERE {condition}", rows=rows)
    return found.spark() if found.engine == "spark" else found.arrow()


def _quoted(name: str) -> str:
    return ".".join(map(quoted, name.split(".")))
