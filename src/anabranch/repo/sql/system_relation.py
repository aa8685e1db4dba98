"""The shape of a relation of `ana`: its columns, and how its rows are read; not their contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.errors import InvalidRequest
from anabranch.model.ddl import parse_type
from anabranch.model.refs import with_head
from anabranch.model.types import DataType
from anabranch.queries.query import Rows, reading_of
from anabranch.repo.branches.refs import pinned
from anabranch.repo.read.table import open_table
from anabranch.sql.references import quoted

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.context.context import Context
    from anabranch.repo.read.table import Table

Columns = tuple[tuple[str, DataType], ...]


def declared(text: str) -> Columns:
    """Columns written as in CREATE TABLE: `name string, created_at timestamp`."""
    return tuple((name, parse_type(type_)) for name, type_ in (column.split() for column in text.split(", ")))


@dataclass(frozen=True)
class SystemTable:
    """A relation about the repository itself; rows are read on demand."""

    name: str
    columns: Columns
    _arrow: Callable[[], pa.Table] = field(repr=False, compare=False)
    _spark: Callable[[], DataFrame] = field(repr=False, compare=False)

    def arrow(self) -> pa.Table:
        """Read as an Arrow table."""
        return self._arrow()

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame; computed changes of rows are evaluated when Spark runs it."""
        return self._spark()


class ComputedRows(Protocol):
    """Rows computed by an engine: a diff, a feed of changes, a blame."""

    def arrow(self) -> pa.Table: ...

    def spark(self) -> DataFrame: ...


@dataclass(frozen=True)
class SystemRequest:
    """A request for a relation, and where it was made."""

    ctx: Context
    name: str
    usage: str
    """How to write it, such as `ana.diff(table, before, after)`."""
    arguments: tuple[Any, ...]
    branch: str
    at: str | None
    tx: Transaction | None

    @property
    def ref(self) -> str:
        """Where to read by default."""
        return self.branch if self.at is None else self.at

    @property
    def staged(self) -> Transaction | None:
        """The unfinished commit to read through; None if a commit is named."""
        return self.tx if self.at is None else None

    @property
    def table(self) -> str:
        """The table named by the first argument."""
        name = self.text(0, "the name of a table")
        if name is None:
            raise self.wrong("the name of a table was expected, NULL was given")
        return name

    def open_table(self) -> Table:
        """Open the table named by the first argument, with what is staged."""
        return self.staged.table(self.table) if self.staged else open_table(self.ctx, self.table, self.ref)

    def text(self, number: int, what: str) -> str | None:
        """An argument that is text; None if it is NULL or missing."""
        value = self.arguments[number] if number < len(self.arguments) else None
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"{what} was expected as text, {value!r} was given")
        return value

    def ref_at(self, number: int) -> str | None:
        """An argument that is a ref; HEAD is the current branch."""
        found = self.text(number, "a ref")
        return None if found is None else with_head(found, self.branch)

    def wrong(self, problem: str) -> InvalidRequest:
        """The error for an argument that does not fit."""
        return InvalidRequest(f"{self.name}: {problem}", hint=f"write it as {self.usage}")

    def pinned(self, ref: str) -> str:
        """A ref in terms of hashes, for reading later, when branches may have moved."""
        return pinned(self.ctx, ref)

    def listed(self, columns: Columns, rows: Iterable[Mapping[str, Any]]) -> SystemTable:
        """A relation of the given rows."""
        found = rows_table(columns, rows)
        return self.of_arrow(columns, lambda: found)

    def in_memory(self, columns: Columns, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> SystemTable:
        """A relation whose rows are read once, on first use."""
        return self.of_arrow(columns, cache(lambda: rows_table(columns, rows())))

    def of_arrow(self, columns: Columns, read: Callable[[], pa.Table]) -> SystemTable:
        """A relation of rows that are read into memory."""

        def frame() -> DataFrame:
            return self.ctx.engines.spark().frame(reading_of(Rows(read()), [name for name, _ in columns]))

        return SystemTable(self.name, columns, read, frame)

    def computed(self, columns: Columns, found: ComputedRows) -> SystemTable:
        """A relation that an engine computes, with the columns in the given order."""
        names = [name for name, _ in columns]

        def read() -> pa.Table:
            return found.arrow().select(names)

        def frame() -> DataFrame:
            made = found.spark()
            return made if made.columns == names else made.select(*map(quoted, names))

        return SystemTable(self.name, columns, read, frame)


def rows_table(columns: Columns, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table of the given types."""
    return pa.Table.from_pylist(list(rows), pa.schema([(name, arrow_type(type_)) for name, type_ in columns]))
