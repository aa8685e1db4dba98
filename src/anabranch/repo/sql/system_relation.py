"""What a relation of the namespace `ana` is: its columns, and how its rows are read; not what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.errors import InvalidRequest
from anabranch.model.refs import with_head
from anabranch.model.types import DataType, array_of
from anabranch.queries.query import Rows, reading_of
from anabranch.repo.branches.refs import pinned
from anabranch.repo.read.open_table import open_table

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.context.context import Context
    from anabranch.repo.read.table import Table

STRING, BOOLEAN, BIGINT, TIMESTAMP = (DataType(name) for name in ("string", "boolean", "bigint", "timestamp"))
INT = DataType("int")
STRINGS = array_of(STRING)
Columns = tuple[tuple[str, DataType], ...]


@dataclass(frozen=True)
class SystemTable:
    """A relation that the repository tells of itself; rows are read when they are asked for."""

    name: str
    columns: Columns
    _arrow: Callable[[], pa.Table] = field(repr=False, compare=False)
    _spark: Callable[[], DataFrame] = field(repr=False, compare=False)

    def arrow(self) -> pa.Table:
        """Read as an Arrow table."""
        return self._arrow()

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame; changes of rows are computed when Spark runs it."""
        return self._spark()


class ComputedRows(Protocol):
    """What engines compute: a diff, a feed of changes, a blame."""

    def arrow(self) -> pa.Table: ...

    def spark(self) -> DataFrame: ...


@dataclass(frozen=True)
class SystemRequest:
    """A relation that was asked for, and from where."""

    ctx: Context
    name: str
    usage: str
    """How it is written, such as `ana.diff(table, before, after)`."""
    arguments: tuple[Any, ...]
    branch: str
    at: str | None
    tx: Transaction | None

    @property
    def ref(self) -> str:
        """Where to read, if nothing else is said."""
        return self.at or self.branch

    @property
    def staged(self) -> Transaction | None:
        """The work that is read through: none where a commit is named."""
        return self.tx if self.at is None else None

    @property
    def table(self) -> str:
        """The table that the first argument names."""
        name = self.text(0, "the name of a table")
        if name is None:
            raise self.wrong("the name of a table was expected, NULL was given")
        return name

    def open_table(self) -> Table:
        """The table that the first argument names, with what is staged."""
        return self.staged.table(self.table) if self.staged else open_table(self.ctx, self.table, self.ref)

    def text(self, number: int, what: str) -> str | None:
        """An argument that is text; None where it is NULL or left out."""
        value = self.arguments[number] if number < len(self.arguments) else None
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"{what} was expected as text, {value!r} was given")
        return value

    def ref_at(self, number: int) -> str | None:
        """An argument that is a ref; HEAD is the current branch."""
        found = self.text(number, "a ref")
        return None if found is None else with_head(found, self.branch)

    def wrong(self, problem: str) -> InvalidRequest:
        """The error of an argument that does not fit."""
        return InvalidRequest(f"{self.name}: {problem}", hint=f"write it as {self.usage}")

    def pinned(self, ref: str) -> str:
        """A ref in hashes, for what is read later, when branches may have moved."""
        return pinned(self.ctx, ref)

    def listed(self, columns: Columns, rows: Iterable[Mapping[str, Any]]) -> SystemTable:
        """A relation of rows that are at hand."""
        found = rows_table(columns, rows)
        return self.of_arrow(columns, lambda: found)

    def in_memory(self, columns: Columns, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> SystemTable:
        """A relation of rows that are read when they are first asked for, once."""
        return self.of_arrow(columns, cache(lambda: rows_table(columns, rows())))

    def of_arrow(self, columns: Columns, read: Callable[[], pa.Table]) -> SystemTable:
        """A relation of rows in memory."""

        def frame() -> DataFrame:
            return self.ctx.engines.spark().frame(reading_of(Rows(read()), [name for name, _ in columns]))

        return SystemTable(self.name, columns, read, frame)

    def computed(self, columns: Columns, found: ComputedRows) -> SystemTable:
        """A relation that an engine computes, in the order of the columns that are promised."""
        names = [name for name, _ in columns]

        def read() -> pa.Table:
            return found.arrow().select(names)

        def frame() -> DataFrame:
            made = found.spark()
            return made if made.columns == names else made.select(*[f"`{n.replace('`', '``')}`" for n in names])

        return SystemTable(self.name, columns, read, frame)


def rows_table(columns: Columns, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table of the promised types."""
    found = list(rows)
    arrays = [pa.array([row[name] for row in found], arrow_type(type_)) for name, type_ in columns]
    return pa.table(dict(zip((name for name, _ in columns), arrays, strict=True)))
