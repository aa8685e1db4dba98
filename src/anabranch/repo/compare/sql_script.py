"""A table's difference as SQL statements, to be run on the state before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.model.schema import Column
from anabranch.queries import sql_script as script
from anabranch.repo.compare.table_diff import NamespaceDiff, TableDiff


def around(namespaces: Sequence[NamespaceDiff], inner: Sequence[str]) -> list[str]:
    """Put the tables' statements between those that create their namespaces and those that drop them."""
    described = [(n.change, script.namespace(n.name, n.change, n.renamed_from)) for n in namespaces]
    first = [text for change, text in described if change != "dropped"]
    return [*first, *inner, *(text for change, text in reversed(described) if change == "dropped")]


def statements(table: TableDiff, key: Any, where: str | None, limit: int | None) -> Iterator[str]:
    """The statements: for the table first, then for its rows, deletes before inserts."""
    if table.change == "dropped":
        yield script.dropped(table.name)
        return
    if table._is_made_anew:
        yield script.dropped(table.renamed_from or table.name)
        table = table._as_added()
    if table.change == "added":
        yield script.created(table.name, table.columns)
    if table.renamed_from:
        yield script.renamed(table.renamed_from, table.name)
    changed = table.schema or table._described
    yield from script.prepared(table.name, changed, table.columns)
    yield from _row_statements(table, table.rows(key=key, where=where, limit=limit))
    yield from script.finished(table.name, changed, table.columns)


def _row_statements(table: TableDiff, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if any(row["before"] and not row["key"] for row in rows):
        yield from _without_key(table, rows)
        return
    for word in ("delete", "update", "insert"):
        yield from (_row(table, row) for row in rows if row["change"] == word)


def _row(table: TableDiff, row: Mapping[str, Any]) -> str:
    columns = list(table.columns)
    if row["change"] == "insert":
        return script.inserted(table.name, columns, row["after"])
    key = [c for c in columns if c.name in row["key"]] or _shared(table, row)
    if row["change"] == "delete":
        return script.deleted(table.name, key, row["before"])
    changed = [c for c in columns if c.name in row["columns"]]
    return script.updated(table.name, changed, row["after"], key, row["before"])


def _shared(table: TableDiff, row: Mapping[str, Any]) -> list[Column]:
    """The table's columns that a row already had before."""
    return [c for c in table.columns if c.name in row["before"]]


def _without_key(table: TableDiff, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Statements for rows identified by value. Each acts on all equal rows, so those that stay are inserted again."""
    same: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["before"]:
            same.setdefault(_deletion(table, row, row["before"]), []).append(row)
    staying = _staying(table, same)
    deletes, updates, inserts = [], [], []
    for deletion, group in same.items():
        if not staying[deletion] and _is_one_update(table, group, same):
            updates.append(_row(table, group[0]))
            continue
        deletes.append(deletion)
        inserts += [*staying[deletion], *(_insertion(table, row["after"]) for row in group if row["after"])]
    yield from (*deletes, *updates, *inserts)
    yield from (_row(table, row) for row in rows if row["change"] == "insert")


def _staying(table: TableDiff, same: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Insertions of unchanged rows that equal a changed one, by the statement that deletes them all."""
    found: dict[str, list[str]] = {deletion: [] for deletion in same}
    example = next(iter(same.values()))[0]
    for values, count in table._changes.repeated():
        deletion = _deletion(table, example, values)
        if deletion in same:
            found[deletion] = [_insertion(table, values)] * (count - len(same[deletion]))
    return found


def _is_one_update(table: TableDiff, group: Sequence[Mapping[str, Any]], same: Mapping[str, Any]) -> bool:
    """Whether equal rows all changed to the same values, and no other statement matches those."""
    after = group[0]["after"]
    return all(row["after"] == after for row in group) and bool(after) and _deletion(table, group[0], after) not in same


def _deletion(table: TableDiff, like: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    return script.deleted(table.name, _shared(table, like), values)


def _insertion(table: TableDiff, values: Mapping[str, Any]) -> str:
    return script.inserted(table.name, list(table.columns), values)
