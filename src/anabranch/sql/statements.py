"""SQL statements as values. Expressions and queries stay text, for engines to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class StatementPart:
    """A value: each of its kinds is a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class SqlStatement(StatementPart):
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


class SqlQuery(ReadingSql):
    """SELECT, VALUES, TABLE, WITH …, FROM …: the text itself."""


class RowWriting(WritingSql):
    """A statement that writes rows of a table."""

    defined: str = field(default="", kw_only=True)
    """`WITH x AS (…)` before it: names that its queries may read."""


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


class Update(RowWriting):
    table: str
    alias: str | None
    values: tuple[tuple[str, str], ...]
    where: str | None = None


class Delete(RowWriting):
    table: str
    alias: str | None = None
    where: str | None = None


When = Literal["matched", "not matched", "not matched by source"]


class MergeClause(StatementPart):
    """One WHEN of a MERGE."""

    when: When
    condition: str | None
    action: Literal["update", "insert", "delete"]
    values: tuple[tuple[str, str], ...] | None = None
    """Columns and expressions; None for `*`, and for a delete."""


class MergeInto(RowWriting):
    table: str
    alias: str | None
    source: str
    """A table reference or a query in brackets, without its alias."""
    source_alias: str | None
    on: str
    clauses: tuple[MergeClause, ...]


class Truncate(WritingSql):
    table: str


# Tables and namespaces


class ColumnText(StatementPart):
    """A column as it is defined."""

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    comment: str | None = None


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


class DropTable(WritingSql):
    table: str
    if_exists: bool = False


class Alteration(StatementPart):
    """What ALTER TABLE changes."""


class AddColumns(Alteration):
    columns: tuple[ColumnText, ...]
    if_not_exists: bool = False


class DropColumns(Alteration):
    names: tuple[str, ...]
    if_exists: bool = False


class RenameColumn(Alteration):
    old: str
    new: str


class RenameTable(Alteration):
    name: str


class AlterColumn(Alteration):
    name: str
    type: str | None = None
    nullable: bool | None = None
    default: str | None = None
    drop_default: bool = False
    comment: str | None = None
    """Empty to remove it."""


class AddCheck(Alteration):
    name: str
    condition: str


class DropCheck(Alteration):
    name: str
    if_exists: bool = False


class SetKey(Alteration):
    """ADD PRIMARY KEY; no columns for DROP PRIMARY KEY."""

    columns: tuple[str, ...]


class SetProperties(Alteration):
    properties: tuple[tuple[str, str], ...]


class UnsetProperties(Alteration):
    names: tuple[str, ...]


class SetComment(Alteration):
    """COMMENT ON a table or namespace; None removes it."""

    text: str | None


class ClusterBy(Alteration):
    columns: tuple[str, ...]


class AlterTable(WritingSql):
    table: str
    change: Alteration


class CreateNamespace(WritingSql):
    name: str
    if_not_exists: bool = False
    properties: tuple[tuple[str, str], ...] = ()


class DropNamespace(WritingSql):
    name: str
    if_exists: bool = False
    cascade: bool = False


class AlterNamespace(WritingSql):
    name: str
    change: SetProperties | UnsetProperties | SetComment | RenameTable
