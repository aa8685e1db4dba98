"""Runs the SQL statements that show: lists by pattern, columns and history of a table, the statement to create it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.ddl import closed
from anabranch.model.schema import Column
from anabranch.model.types import quoted
from anabranch.repo.compare.history import table_history
from anabranch.repo.context.context import Context
from anabranch.repo.read.table import Table, open_table
from anabranch.repo.sql.relations import argument_value
from anabranch.repo.sql.system_listings import column_rows
from anabranch.repo.sql.system_names import is_system, system_table, unknown_system
from anabranch.repo.sql.system_relation import Columns, declared, rows_table
from anabranch.sql.version_statements import Describe, DescribeHistory, Show, ShowCreate

if TYPE_CHECKING:
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.read.table import Table

_PROPERTIES = declared("key string, value string")
_CREATE = declared("createtab_stmt string")
_DESCRIBE = declared("col_name string, data_type string, nullable boolean, default string, key boolean, comment string")
_UNSAID: dict[str, Any] = dict.fromkeys(name for name, _ in _DESCRIBE)
_HISTORY = declared(
    "version string, timestamp timestamp, author string, operation string, message string, inserted bigint, "
    "updated bigint, deleted bigint"
)
_MATCHED = {"log": "message", "conflicts": "table", "properties": "key"}
"""The column that LIKE matches, if not the name."""


def show(
    ctx: Context,
    statement: Show | ShowCreate | Describe | DescribeHistory,
    branch: str,
    at: str | None,
    tx: Transaction | None = None,
) -> pa.Table:
    """Show what is on a branch, at a ref, or in an unfinished commit."""

    def opened(name: str) -> Table:
        return tx.table(name) if tx and at is None else open_table(ctx, name, branch if at is None else at)

    def listed(name: str, *arguments: Any) -> pa.Table:
        return system_table(ctx, f"ana.{name}", arguments, branch, at, tx).arrow()

    match statement:
        case ShowCreate():
            return rows_table(_CREATE, [{"createtab_stmt": create_statement(opened(statement.table))}])
        case Describe() if is_system(statement.table) or statement.arguments is not None:
            given = [argument_value(a, {}) for a in statement.arguments or ()]
            described = system_table(ctx, statement.table, given, branch, at, tx)
            return rows_table(_DESCRIBE, _system_columns(described.columns))
        case Describe():
            try:
                return rows_table(_DESCRIBE, _described(opened(statement.table), statement.extended))
            except NotFound as error:
                raise unknown_system(statement.table) or error from None
        case DescribeHistory():
            return rows_table(_HISTORY, _history(ctx, statement, branch if at is None else at))
        case Show():
            found = _shown(statement, listed, opened)
            return found if statement.limit is None else found.slice(0, statement.limit)


def _shown(statement: Show, listed: Callable[..., pa.Table], open_table: Callable[[str], Table]) -> pa.Table:
    what, name = statement.what, statement.name
    if what == "properties":
        properties = open_table(_needed(statement)).properties
        found = rows_table(_PROPERTIES, ({"key": k, "value": v} for k, v in sorted(properties.items())))
    elif what == "columns":
        found = listed("columns", _needed(statement))
    elif what in ("log", "conflicts"):
        found = listed(what, *([name] if name is not None else []))
    else:
        found = listed(what)
    if what == "tables" and name is not None:
        found = _in_namespace(found, name, listed("namespaces"))
    return _like(found, _MATCHED.get(what, "name"), statement.pattern)


def _needed(statement: Show) -> str:
    if statement.name is None:
        raise InvalidRequest(f"SHOW {statement.what.upper()} needs a table", hint="write IN and its name after it")
    return statement.name


def _in_namespace(tables: pa.Table, namespace: str, known: pa.Table) -> pa.Table:
    if namespace not in known.column("name").to_pylist():
        raise NotFound(f"there is no namespace {namespace!r}", hint="SHOW NAMESPACES lists them")
    names = tables.column("name").to_pylist()
    return tables.filter(pa.array([name.rpartition(".")[0] == namespace for name in names], pa.bool_()))


def _like(rows: pa.Table, column: str, pattern: str | None) -> pa.Table:
    """Keep the rows whose name, with or without its namespace, matches the pattern."""
    if pattern is None:
        return rows
    wanted = like_pattern(pattern)
    names = rows.column(column).to_pylist()
    fits = [bool(wanted.fullmatch(n) or wanted.fullmatch(n.rpartition(".")[2])) for n in names]
    return rows.filter(pa.array(fits, pa.bool_()))


def like_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of SHOW: `*` and `%` match any text, `|` separates choices, case is ignored."""
    choices = [re.sub(r"\\\*|%", ".*", re.escape(choice.strip())) for choice in pattern.split("|")]
    return re.compile("|".join(f"(?:{choice})" for choice in choices), re.IGNORECASE | re.DOTALL)


def _system_columns(columns: Columns) -> Iterator[dict[str, Any]]:
    for name, type_ in columns:
        yield {**_UNSAID, "col_name": name, "data_type": str(type_), "nullable": True, "key": False}


def _described(table: Table, extended: bool) -> Iterator[dict[str, Any]]:
    for row in column_rows(table.name, table.schema):
        yield {**row, "col_name": row["name"], "data_type": row["type"]}
    for name, value in _details(table) if extended else ():
        yield {**_UNSAID, "col_name": name, "data_type": value}


def _details(table: Table) -> Iterator[tuple[str, str]]:
    """A table's details besides its columns, under the same heading as in Spark."""
    yield "", ""
    yield "# Detailed Table Information", ""
    yield "Name", table.name
    yield "Rows", str(table.count())
    yield "Key", ", ".join(table.key)
    yield "Clustering", ", ".join(table.clustering)
    yield from ((f"Check {name}", text) for name, text in table.checks.items())
    yield from ((f"Property {name}", value) for name, value in sorted(table.properties.items()))


def _history(ctx: Context, statement: DescribeHistory, ref: str) -> Iterator[dict[str, Any]]:
    for entry in table_history(ctx, statement.table, None, statement.limit, ref):
        yield {
            **vars(entry),
            "version": entry.commit.id,
            "timestamp": entry.commit.finished_at,
            "author": entry.commit.author,
            "operation": ", ".join(entry.operations),
            "message": entry.commit.message,
        }


_WORDS = """
    ALL ANALYZE AND ANTI ANY AS AT AUTHORIZATION BETWEEN BOTH BY CASE CAST CHECK CLUSTER COLLATE COLLATION COLUMN
    CONSTRAINT CREATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT DISTINCT ELSE END ESCAPE
    EXCEPT EXISTS FALSE FETCH FILTER FOR FOREIGN FROM FULL GRANT GROUP HAVING IN INNER INTERSECT INTO IS JOIN KEY
    LATERAL LEADING LEFT LIKE LIMIT MINUS NATURAL NOT NULL OF ON ONLY OR ORDER OUTER OVERLAPS PRIMARY REFERENCES RIGHT
    SELECT SEMI SESSION_USER SET SOME TABLE THEN TIME TO TRAILING TRUE UNION UNIQUE UNKNOWN USER USING VALUES WHEN WHERE
    WINDOW WITH WITHIN
"""
_RESERVED = frozenset(_WORDS.split())
"""Words that need backticks as names: those reserved in Spark's ANSI mode, and those that begin a clause here."""


def create_statement(table: Table) -> str:
    """Write the statement that creates an equal table without rows."""
    parts = [_column(column) for column in table.schema]
    if table.key:
        parts.append(f"PRIMARY KEY ({_names(table.key)})")
    parts += [f"CONSTRAINT {_name(name)} CHECK ({closed(text)})" for name, text in table.checks.items()]
    name = ".".join(_name(part) for part in table.name.split("."))
    return "\n".join([f"CREATE TABLE {name} (", ",\n".join(f"  {part}" for part in parts), ")", *_after(table)])


def _after(table: Table) -> Iterator[str]:
    if table.is_clustered:
        yield f"CLUSTER BY ({_names(table.clustering)})"
    properties = table.properties
    comment = properties.pop("comment", None)
    if comment is not None:
        yield f"COMMENT {_text(comment)}"
    if properties:
        pairs = [f"  {_text(name)} = {_text(value)}" for name, value in sorted(properties.items())]
        yield "\n".join(["TBLPROPERTIES (", ",\n".join(pairs), ")"])


def _column(column: Column) -> str:
    not_null = "" if column.nullable else " NOT NULL"
    default = "" if column.default is None else f" DEFAULT {closed(column.default)}"
    comment = "" if column.comment is None else f" COMMENT {_text(column.comment)}"
    return f"{_name(column.name)} {column.type}{not_null}{default}{comment}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(_name, names))


def _name(name: str) -> str:
    return f"`{name}`" if name.upper() in _RESERVED else quoted(name)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
