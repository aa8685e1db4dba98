"""Check the tables that no other check reads: their values have the right types, and what they name exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import Column, Table

from anabranch.catalog import live_tables, remote_tables, work_tables
from anabranch.catalog import tables as t
from anabranch.catalog.checks.look_ups import LookUps
from anabranch.catalog.checks.rows import CatalogRow
from anabranch.model.verification import Affected, Damage

NAMED: Mapping[str, Column[str]] = {
    "repository_id": t.repositories.c.id,
    "object_id": t.objects.c.id,
    "pack_id": t.objects.c.id,
    "manifest_id": t.objects.c.id,
    "schema_id": t.schemas.c.id,
    "thing_id": t.entries.c.thing_id,
    "column_id": t.schema_columns.c.column_id,
    "branch_id": t.branches.c.id,
    "location_id": remote_tables.locations.c.id,
    "job_id": work_tables.jobs.c.id,
    "run_id": work_tables.runs.c.id,
    "database_id": live_tables.live_databases.c.id,
    "owner_id": live_tables.live_tables.c.id,
}
"""Where the id in a column of this name must be found."""


def check_others(known: LookUps, tables: Iterable[Table]) -> None:
    """Check tables row by row."""
    for table in tables:
        for row in known.reader.rows(table, *table.primary_key):
            known.reader.check(row, _row(known, row))


def _row(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    repository = known.repositories.get(row.values.get("repository_id", ""))
    affects = Affected(repository.name if repository else None, object=row.values.get("object_id"))
    for name, target in NAMED.items():
        id_ = row.values.get(name)
        if id_ is None or target.table is row.table or known.is_there(target.table, target == id_):
            continue
        if target is not t.objects.c.id or not known.is_listed(id_):
            yield row.damage(f"{name} {id_!r} is not there", affects)
    if "line_id" in row.values and known.commit(row.line_id, row.commit_index) is None:
        yield row.damage(f"commit {known.commit_name(row.line_id, row.commit_index)} is not there", affects)
    if row.table is t.schema_columns:
        yield from _schema_column(known, row)


def _schema_column(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    schema = known.schema(row.schema_id) if known.knows_schema(row.schema_id) else None
    if schema is not None and row.column_id not in {c.id for c in schema}:
        yield row.damage(f"schema {row.schema_id} has no column {row.column_id!r}")
