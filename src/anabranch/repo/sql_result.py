"""What a statement of SQL gave: the rows of a query, or one row that says what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidRequest
from anabranch.model.changes import Counts
from anabranch.model.commits import Commit
from anabranch.sql.statements import Statement

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from anabranch.engines.spark import DataFrame
    from anabranch.repo.context import Context
    from anabranch.repo.sql_plan import Plan


@dataclass
class SqlResult:
    """The result of one statement: read it in any form, as often as you like."""

    statement: Statement
    _ctx: Context
    _plan: Plan | None = None
    """Of a query, which runs when its rows are asked for."""
    _rows: pa.Table | None = None
    """Of any other statement."""
    counts: Counts | None = None
    """How many rows a writing statement touched."""
    commit: Commit | None = None
    """The commit that was made, if one was."""

    def __repr__(self) -> str:
        first = self.statement.text.split(None, 1)[0].upper() if self.statement.text else "SQL"
        return f"SqlResult({first}, {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        from anabranch.repo.html import result_html

        return result_html(self)

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
        """The types of the columns, as Spark writes them; void for nothing but nulls."""
        if self._plan is not None:
            return tuple(str(type_ or "void") for _, type_ in self._plan.columns)
        from anabranch.objects.arrow import spark_type

        return tuple(str(spark_type(field.type, field.name)) for field in self.arrow().schema)

    @property
    def engine(self) -> str | None:
        """The engine that a query runs on: spark or duck."""
        return self._plan.engine.name if self._plan is not None else None

    def arrow(self) -> pa.Table:
        """Read as an Arrow table."""
        if self._plan is not None:
            return self._plan.arrow()
        assert self._rows is not None
        return self._rows

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame; nothing runs yet."""
        if self._plan is not None:
            return self._plan.frame
        from anabranch.queries.query import Rows, reading_of

        return self._ctx.engines.spark().frame(reading_of(Rows(self.arrow()), self.columns))

    def pandas(self) -> pandas.DataFrame:
        """Read as a pandas DataFrame."""
        from anabranch.repo.outputs import to_pandas

        return to_pandas(self.arrow())

    def polars(self) -> polars.DataFrame:
        """Read as a Polars DataFrame."""
        from anabranch.repo.outputs import to_polars

        return to_polars(self.arrow())

    def rows(self) -> list[dict[str, Any]]:
        """Read as a list of dicts."""
        from anabranch.repo.outputs import to_dicts

        twin = next((n for n, count in Counter(self.columns).items() if count > 1), None)
        if twin is not None:
            message = f"two columns of the result are called {twin!r}, a dict holds one"
            raise InvalidRequest(message, hint="name them with AS, or read with .arrow() or .spark()", column=twin)
        return to_dicts(self.arrow())

    def count(self) -> int:
        """Count the rows."""
        return int(self.arrow().num_rows)
