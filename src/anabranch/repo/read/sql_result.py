"""The result of an SQL statement: a query's rows, or one row that says what was done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.frames.relation import Relation
from anabranch.model.changes import Counts
from anabranch.model.commits import Commit
from anabranch.sql.statements import SqlStatement

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import DataFrame
    from anabranch.model.types import DataType
    from anabranch.repo.context.context import Context


class PlannedQuery(Protocol):
    """A query bound to its tables and an engine, but not run yet."""

    @property
    def columns(self) -> tuple[tuple[str, DataType | None], ...]: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def frame(self) -> DataFrame: ...

    @property
    def unpublished(self) -> bool:
        """Whether it reads rows of an unfinished commit."""

    def arrow(self) -> pa.Table: ...


@dataclass
class SqlResult(Relation):
    """The result of one statement: read it in any form, as often as you like."""

    statement: SqlStatement
    _ctx: Context
    _plan: PlannedQuery | None = None
    """The query, which runs when its rows are asked for; None for other statements."""
    _rows: pa.Table | None = None
    """The rows of any other statement, and of a query that was settled."""
    counts: Counts | None = None
    """How many rows a writing statement touched."""
    commit: Commit | None = None
    """The commit that was made, if any."""

    def __repr__(self) -> str:
        first = self.statement.text.split(None, 1)[0].upper() if self.statement.text else "SQL"
        return f"SqlResult({first}, {', '.join(self.columns) if self.counts is None else self.counts})"

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import headings, rows_html
        from anabranch.frames.output import objects_of
        from anabranch.model.ddl import parse_type
        from anabranch.model.html import ROWS, Line

        rows = self.arrow()
        types = (None if type_ == "void" else parse_type(type_) for type_ in self.types)
        columns = [objects_of(rows.column(i).slice(0, ROWS)) for i in range(rows.num_columns)]
        lines = [Line(list(row)) for row in zip(*columns, strict=True)]
        return rows_html("", headings(zip(self.columns, types, strict=True)), lines, rows.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        if self._plan is not None:
            return tuple(name for name, _ in self._plan.columns)
        assert self._rows is not None
        return tuple(self._rows.column_names)

    @property
    def types(self) -> tuple[str, ...]:
        """The columns' types, as Spark writes them; void for a column of only nulls."""
        if self._plan is not None:
            return tuple(str(type_ or "void") for _, type_ in self._plan.columns)
        from anabranch.arrow.types import spark_type

        return tuple(str(spark_type(field.type, field.name)) for field in self.arrow().schema)

    @property
    def engine(self) -> str | None:
        """The engine that a query runs on: spark or duck."""
        return self._plan.engine.name if self._plan is not None else None

    def _settled(self) -> SqlResult:
        """Read rows of an unfinished commit at once, since it may have ended by the time they are asked for."""
        is_loose = self._plan is not None and self._plan.unpublished
        return replace(self, _rows=self.arrow()) if is_loose else self

    def arrow(self) -> pa.Table:
        """Read as an Arrow table."""
        if self._rows is not None:
            return self._rows
        assert self._plan is not None
        return self._plan.arrow()

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame; nothing runs yet."""
        if self._plan is not None and self._rows is None:
            return self._plan.frame
        from anabranch.queries.query import Rows, reading_of

        return self._ctx.engines.spark().frame(reading_of(Rows(self.arrow()), self.columns))
