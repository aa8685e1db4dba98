"""All checks of a catalogue, on one state of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from sqlalchemy import Column, Connection, Table

from anabranch.catalog import remote_tables, work_tables
from anabranch.catalog import tables as t
from anabranch.catalog.checks import refs
from anabranch.catalog.checks.commits import HashCheck, check_commits
from anabranch.catalog.checks.contents import check_objects, check_schemas, check_views
from anabranch.catalog.checks.file_counts import check_file_counts
from anabranch.catalog.checks.look_ups import LookUps
from anabranch.catalog.checks.rows import CatalogReader, CatalogRow, any_text
from anabranch.catalog.checks.states import STATE_CHECKS
from anabranch.catalog.checks.unfinished import check_open_commits, check_open_merges
from anabranch.model.verification import Affected, Damage

CHECKS: Mapping[str, Callable[[LookUps], None]] = {
    "store": refs.check_store,
    "repositories": refs.check_repositories,
    "lines": refs.check_lines,
    "branches": refs.check_branches,
    "moves": refs.check_moves,
    "tags": refs.check_tags,
    "commits": lambda known: check_commits(known, (HashCheck(), *STATE_CHECKS)),
    "counts of files": check_file_counts,
    "schemas": check_schemas,
    "objects": check_objects,
    "views": check_views,
    "open commits": check_open_commits,
    "open merges": check_open_merges,
}
"""Each goes through its own tables, from end to end."""
OWN = {
    x.name
    for x in (
        *(t.store, t.repositories, t.lines, t.branches, t.branch_moves, t.tags, t.commits, t.merge_edges),
        *(t.provenance, t.facts, t.entries, t.names, t.changes, t.change_references, t.views, t.view_objects),
        *(t.schemas, t.objects, t.inline_objects, t.open_commits, t.open_entries, t.open_objects),
        *(t.open_merges, t.settled_rows),
    )
}
"""The tables of these checks; all others are checked row by row."""


def check_catalog(cx: Connection) -> tuple[list[Damage], dict[str, int]]:
    """Check every row; return the damages, known faults among them, and how many rows each table has."""
    reader = CatalogReader(cx)
    with any_text(cx):
        known = LookUps(reader)
        known.load()
        for check in CHECKS.values():
            check(known)
        check_others(known, [x for x in t.metadata.sorted_tables if x.name not in OWN])
    return list(dict.fromkeys(reader.damages)), dict(reader.counts)


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
    "database_id": remote_tables.live_databases.c.id,
    "owner_id": remote_tables.live_tables.c.id,
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
