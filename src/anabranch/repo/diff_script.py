"""A table's difference as statements of SQL, to be run on the state before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.queries import script
from anabranch.repo.differences import NamespaceDiff, TableDiff


def around(namespaces: Sequence[NamespaceDiff], inner: Sequence[str]) -> list[str]:
    """Statements of tables between those that make their namespaces and those that drop them."""
    told = [(n.change, script.namespace(n.name, n.change, n.renamed_from)) for n in namespaces]
    first = [text for change, text in told if change != "dropped"]
    return [*first, *inner, *(text for change, text in reversed(told) if change == "dropped")]


def statements(table: TableDiff, key: Any, where: str | None, limit: int | None) -> Iterator[str]:
    """The statements: of the table first, then of its rows, deletes before inserts."""
    if table.change == "dropped":
        yield script.dropped(table.name)
        return
    if table.change == "added":
        yield script.created(table.name, table.columns)
    if table.renamed_from:
        yield script.renamed(table.renamed_from, table.name)
    yield from script.altered(table.name, table.schema, table.columns)
    rows = table.rows(key=key, where=where, limit=limit)
    for word in ("delete", "update", "insert"):
        yield from (_row(table, row) for row in rows if row["change"] == word)


def _row(table: TableDiff, row: Mapping[str, Any]) -> str:
    columns = list(table.columns)
    key = [c for c in columns if c.name in row["key"]] or [c for c in columns if c.name in (row["before"] or {})]
    if row["change"] == "insert":
        return script.inserted(table.name, columns, row["after"])
    if row["change"] == "delete":
        return script.deleted(table.name, key, row["before"])
    changed = [c for c in columns if c.name in row["columns"]]
    return script.updated(table.name, changed, row["after"], key, row["before"])
