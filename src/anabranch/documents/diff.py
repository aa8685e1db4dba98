"""A difference as JSON, and which rows of it are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.plan.schema_diff import SchemaChange
    from anabranch.repo.compare.file_diff import FileDiff
    from anabranch.repo.compare.table_diff import NamespaceDiff, TableDiff

_COUNTS = ("inserted", "updated", "deleted")


@dataclass(frozen=True)
class Wanted:
    """Which rows are asked for, and how many of them."""

    where: str | None
    key: tuple[str, ...]
    limit: int | None

    @property
    def is_all(self) -> bool:
        return self.where is None and not self.key


def document(
    tables: Sequence[TableDiff], namespaces: Sequence[NamespaceDiff], wanted: Wanted, *, stat: bool, summary: bool
) -> dict[str, Any]:
    """All that differs: tables, namespaces."""
    return {
        "tables": [_table(table, wanted, stat, summary) for table in tables],
        "namespaces": [
            {
                "name": space.name,
                "change": space.change,
                "renamed_from": space.renamed_from,
                "schema": schema_document(space.schema),
            }
            for space in namespaces
        ],
    }


def file_documents(files: Iterable[FileDiff]) -> list[dict[str, Any]]:
    """Files that differ, without their content."""
    return [file.document() for file in files]


def schema_document(changes: Sequence[SchemaChange]) -> list[dict[str, Any]]:
    """Changes of columns and the like: change, name, before, after."""
    return [vars(change) for change in changes]


def chosen_rows(table: TableDiff, wanted: Wanted) -> tuple[list[dict[str, Any]], bool]:
    """The rows that are asked for, and whether there are more of them."""
    limit = None if wanted.limit is None else wanted.limit + 1
    rows = table.rows(key=key_of(table, wanted), where=wanted.where, limit=limit)
    return rows[: wanted.limit], len(rows) > len(rows[: wanted.limit])


def key_of(table: TableDiff, wanted: Wanted) -> dict[str, Any] | None:
    """The key that is asked for, in the types of the table."""
    if not wanted.key:
        return None
    from anabranch.repo.read.look_up import key_of_text

    return key_of_text(table.columns, wanted.key, table.name)


def _table(table: TableDiff, wanted: Wanted, stat: bool, summary: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": table.name,
        "change": table.change,
        "renamed_from": table.renamed_from,
        "schema": schema_document(table.schema),
    }
    if summary:
        return {**facts, **(table.touched or dict.fromkeys(_COUNTS))}
    facts |= table.counts()
    if stat:
        return facts
    rows, more = chosen_rows(table, wanted)
    return {**facts, "rows": rows, "more": more}
