"""The statement that creates a table like another: columns, defaults, key, checks, clustering and properties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.model.ddl import closed
from anabranch.model.schema import Column
from anabranch.model.types import quoted
from anabranch.repo.read.table import Table

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
