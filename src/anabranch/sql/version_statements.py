"""Statements about branches, tags, merges and the past, and those that show what is there, as values."""

from __future__ import annotations

from typing import Literal

from anabranch.sql.statements import GoverningSql, ReadingSql, StatementPart


class CreateBranch(GoverningSql):
    name: str
    at: str | None = None
    if_not_exists: bool = False


class DropBranch(GoverningSql):
    name: str
    if_exists: bool = False
    force: bool = False


class RenameBranch(GoverningSql):
    old: str
    new: str


class UseBranch(GoverningSql):
    name: str


class CreateTag(GoverningSql):
    name: str
    at: str | None = None
    if_not_exists: bool = False


class DropTag(GoverningSql):
    name: str
    if_exists: bool = False


class SqlCommit(GoverningSql):
    """COMMIT: publish what is staged."""

    message: str


class Rollback(GoverningSql):
    """ROLLBACK: give up what is staged."""


class MergeBranch(GoverningSql):
    sources: tuple[str, ...]
    into: str | None = None
    dry_run: bool = False
    rules: tuple[tuple[str, str], ...] = ()
    strictness: str | None = None
    mode: Literal["merge", "squash", "replay"] | None = None
    ff: Literal["auto", "only", "never"] | None = None
    message: str | None = None


class Resolve(GoverningSql):
    """RESOLVE t TAKE side or SET column = expression, for all conflicts of the table or those of some rows;
    RESOLVE FILE 'path' TAKE side or CONTENT 'text'."""

    table: str | None
    take: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    where: str | None = None
    file: str | None = None
    content: str | None = None


class FinishMerge(GoverningSql):
    """CONTINUE MERGE: publish a merge whose conflicts are resolved."""

    message: str | None = None


class AbortMerge(GoverningSql):
    """ABORT MERGE."""


class Revert(GoverningSql):
    ref: str
    parent: int | None = None
    message: str | None = None


class CherryPick(GoverningSql):
    ref: str
    parent: int | None = None
    message: str | None = None


class RestoreTable(GoverningSql):
    table: str
    to: str


class ResetBranch(GoverningSql):
    """RESET BRANCH name TO ref."""

    name: str
    to: str


class OptimizeTable(GoverningSql):
    """OPTIMIZE t: changes its views, not its content."""

    table: str


Shown = Literal["branches", "tags", "tables", "namespaces", "log", "status", "conflicts", "columns", "properties"]


class Show(ReadingSql):
    """SHOW BRANCHES, TAGS, TABLES, NAMESPACES, LOG, STATUS, COLUMNS …"""

    what: Shown
    name: str | None = None
    """The namespace of tables, the ref of a log, the table of columns or properties."""
    pattern: str | None = None
    """The pattern of LIKE."""
    limit: int | None = None


class ShowCreate(ReadingSql):
    """SHOW CREATE TABLE."""

    table: str


class Argument(StatementPart):
    """An argument of a system table: a text, a number, a parameter, or null."""

    value: str
    form: Literal["text", "number", "parameter", "null"]


class Describe(ReadingSql):
    """DESCRIBE t: columns, types, key, defaults; or DESCRIBE ana.diff('t')."""

    table: str
    extended: bool = False
    arguments: tuple[Argument, ...] | None = None


class DescribeHistory(ReadingSql):
    """DESCRIBE HISTORY t."""

    table: str
    limit: int | None = None


class Explain(ReadingSql):
    """EXPLAIN of a query: the engine, why, and its plan."""

    query: str
