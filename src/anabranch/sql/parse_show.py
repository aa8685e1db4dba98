"""Parse SHOW, DESCRIBE, EXPLAIN."""

from __future__ import annotations

from typing import Literal

from anabranch.sql import statements as s
from anabranch.sql.cursor import Cursor
from anabranch.sql.parse_versions import ref
from anabranch.sql.references import arguments

_WHAT: dict[
    str, Literal["branches", "tags", "tables", "namespaces", "log", "status", "conflicts", "columns", "properties"]
] = {
    "BRANCHES": "branches",
    "TAGS": "tags",
    "TABLES": "tables",
    "NAMESPACES": "namespaces",
    "SCHEMAS": "namespaces",
    "DATABASES": "namespaces",
    "LOG": "log",
    "STATUS": "status",
    "CONFLICTS": "conflicts",
    "COLUMNS": "columns",
    "TBLPROPERTIES": "properties",
}


def show(cursor: Cursor) -> s.ReadingSql:
    """Read SHOW and what is to be shown."""
    cursor.expect("SHOW")
    if cursor.accept("CREATE"):
        cursor.expect("TABLE")
        return s.ShowCreate(cursor.path("a table"))
    what = _WHAT[cursor.expect_any(*_WHAT)]
    name = pattern = limit = None
    if what in ("columns", "properties"):
        if what == "columns":
            cursor.expect_any("IN", "FROM")
        name = cursor.path("a table")
    elif what in ("tables", "namespaces") and cursor.accept_any("IN", "FROM"):
        name = cursor.path("a namespace")
    elif what == "log" and not cursor.done and cursor.token.word != "LIMIT":
        cursor.accept_any("OF", "FROM")
        name = ref(cursor)
    elif what == "conflicts" and cursor.accept_any("IN", "FROM"):
        name = cursor.path("a table")
    if cursor.accept("LIKE") or cursor.token.kind == "string":
        pattern = cursor.string("a pattern in quotes")
    if cursor.accept("LIMIT"):
        limit = cursor.number("a number")
    return s.Show(what, name, pattern, limit)


def describe(cursor: Cursor) -> s.ReadingSql:
    """Read DESCRIBE [HISTORY] t."""
    cursor.expect_any("DESCRIBE", "DESC")
    if cursor.sees("HISTORY") and cursor.look().is_name:
        cursor.step()
        table = cursor.path("a table")
        return s.DescribeHistory(table, cursor.number("a number") if cursor.accept("LIMIT") else None)
    if cursor.sees("TABLE") and (cursor.look().is_name):
        cursor.step()
    extended = cursor.token.word in ("EXTENDED", "FORMATTED") and cursor.look().is_name
    if extended:
        cursor.step()
    table = cursor.path("a table")
    takes = table.lower().startswith("ana.") and cursor.token.is_symbol("(")
    return s.Describe(table, extended, arguments(cursor) if takes else None)


def explain(cursor: Cursor) -> s.Explain:
    """Read EXPLAIN query."""
    cursor.expect("EXPLAIN")
    cursor.accept_any("EXTENDED", "FORMATTED", "CODEGEN", "COST")
    return s.Explain(cursor.rest("a query"))
