"""SQL statements as values. Expressions and queries stay text, for engines to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class SqlStatement:
    """One statement of a script."""

    text: str = field(default="", kw_only=True)
    """The original text."""


class ReadingSql(SqlStatement):
    """A statement that returns rows and changes nothing."""


class WritingSql(SqlStatement):
    """A statement that changes tables: it belongs to a commit."""


class GoverningSql(SqlStatement):
    """A statement that moves branches: never part of a commit."""


# Rows


@dataclass(frozen=True)
class SqlQuery(ReadingSql):
    """SELECT, VALUES, TABLE, WITH …, FROM …: the text itself."""


@dataclass(frozen=True)
class RowWriting(WritingSql):
    """A statement that writes rows of a table."""

    defined: str = field(default="", kw_only=True)
    """`WITH x AS (…)` before it: names that its queries may read."""


@dataclass(frozen=True)
class Insert(RowWriting):
    """INSERT INTO or OVERWRITE."""

    table: str
    source: str
    """The query, or VALUES."""
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrite: bool = False
    where: str | None = None
    """For INSERT INTO … REPLACE WHERE: the rows that are replaced."""
    partition: tuple[tuple[str, str], ...] = ()
    """Columns and their values in all rows; OVERWRITE replaces the rows with these values."""


@dataclass(frozen=True)
class Update(RowWriting):
    table: str
    alias: str | None
    values: tuple[tuple[str, str], ...]
    where: str | None = None


@dataclass(frozen=True)
class Delete(RowWriting):
    table: str
    alias: str | None = None
    where: str | None = None


When = Literal["matched", "not matched", "not matched by source"]


@dataclass(frozen=True)
class MergeClause:
    """One WHEN of a MERGE."""

    when: When
    condition: str | None
    action: Literal["update", "insert", "delete"]
    values: tuple[tuple[str, str], ...] | None = None
    """Columns and expressions; None for `*`, and for a delete."""


@dataclass(frozen=True)
class MergeInto(RowWriting):
    table: str
    alias: str | None
    source: str
    """A table reference or a query in brackets, without its alias."""
    source_alias: str | None
    on: str
    clauses: tuple[MergeClause, ...]


@dataclass(frozen=True)
class Truncate(WritingSql):
    table: str


# Tables and namespaces


@dataclass(frozen=True)
class ColumnText:
    """A column as it is defined."""

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class CreateTable(WritingSql):
    table: str
    columns: tuple[ColumnText, ...] = ()
    key: tuple[str, ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    cluster_by: tuple[str, ...] = ()
    query: str | None = None
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True)
class DropTable(WritingSql):
    table: str
    if_exists: bool = False


@dataclass(frozen=True)
class Alteration:
    """What ALTER TABLE changes."""


@dataclass(frozen=True)
class AddColumns(Alteration):
    columns: tuple[ColumnText, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumns(Alteration):
    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn(Alteration):
    old: str
    new: str


@dataclass(frozen=True)
class RenameTable(Alteration):
    name: str


@dataclass(frozen=True)
class AlterColumn(Alteration):
    name: str
    type: str | None = None
    nullable: bool | None = None
    default: str | None = None
    drop_default: bool = False
    comment: str | None = None
    """Empty to remove it."""


@dataclass(frozen=True)
class AddCheck(Alteration):
    name: str
    condition: str


@dataclass(frozen=True)
class DropCheck(Alteration):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class SetKey(Alteration):
    """ADD PRIMARY KEY; no columns for DROP PRIMARY KEY."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class SetProperties(Alteration):
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class UnsetProperties(Alteration):
    names: tuple[str, ...]


@dataclass(frozen=True)
class SetComment(Alteration):
    """COMMENT ON a table or namespace; None removes it."""

    text: str | None


@dataclass(frozen=True)
class ClusterBy(Alteration):
    columns: tuple[str, ...]


@dataclass(frozen=True)
class AlterTable(WritingSql):
    table: str
    change: Alteration


@dataclass(frozen=True)
class CreateNamespace(WritingSql):
    name: str
    if_not_exists: bool = False
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class DropNamespace(WritingSql):
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class AlterNamespace(WritingSql):
    name: str
    change: SetProperties | UnsetProperties | SetComment | RenameTable
