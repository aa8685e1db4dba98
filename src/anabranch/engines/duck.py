"""DuckDB in the process: for what is too small to be worth a Spark job."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.types import DataType, parse_type
from anabranch.queries.changes import ordered
from anabranch.queries.query import Frame, Query, Rows
from anabranch.queries.rendering import duck_sql, duck_text

_MEMORY_ONLY: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class DuckEngine:
    """One in-memory database; each thread has a cursor of its own."""

    name = "duck"
    in_process = True

    def __init__(self, row_group_rows: int) -> None:
        self._row_group_rows = row_group_rows
        self._database = duckdb.connect(config=_MEMORY_ONLY)
        self._local = threading.local()

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and return its rows as Arrow."""
        with self._bound(query) as (cursor, text):
            return _plain(cursor.sql(text, params=dict(query.args) or None).to_arrow_table())

    def types(self, query: Query) -> list[DataType | None]:
        """Let DuckDB bind the query and read the types off."""
        with self._bound(query) as (cursor, text):
            rows = cursor.execute(f"DESCRIBE {text}", dict(query.args) or None).fetchall()
        return [_spark_type(row[1]) for row in rows]

    def write(self, query: Query, uri: str, cluster: Sequence[str], files: int | None = None) -> None:
        """Write one file, in order."""
        folder = Path(uri)
        folder.mkdir(parents=True)
        target = duck_text(str(folder / "part-00000.parquet"))
        wanted = ordered(query, cluster) if cluster else query
        with self._bound(wanted) as (cursor, text):
            options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {self._row_group_rows}"
            cursor.execute(f"COPY ({text}) TO {target} ({options})", dict(query.args) or None)

    def close(self) -> None:
        """Give the memory back."""
        self._database.close()

    @contextmanager
    def _bound(self, query: Query) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        if any(isinstance(s, Frame) for s in query.sources.values()):
            raise InvalidRequest("a Spark DataFrame can't be read by DuckDB", hint="use engine='auto' or 'spark'")
        cursor = self._cursor()
        registered = {n: s.table for n, s in query.sources.items() if isinstance(s, Rows)}
        try:
            for name, rows in registered.items():
                cursor.register(name, rows)
            yield cursor, duck_sql(query)
        except duckdb.Error as error:
            raise _translate(error) from error
        finally:
            for name in registered:
                cursor.unregister(name)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._database.cursor()
            self._local.cursor.execute("SET TimeZone = 'UTC'")
        return self._local.cursor  # type: ignore[no-any-return]


_TYPE_NAMES = {
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIMESTAMP": "timestamp_ntz",
    "BLOB": "binary",
}


def _spark_type(name: str) -> DataType | None:
    if name in ('"NULL"', "NULL"):
        return None
    return parse_type(_TYPE_NAMES.get(name, name))


def _plain(rows: pa.Table) -> pa.Table:
    """DuckDB may hand out views of strings; objects and users get plain ones."""
    for i, field in enumerate(rows.schema):
        if pa.types.is_string_view(field.type) or pa.types.is_large_string(field.type):
            rows = rows.set_column(i, field.name, rows.column(i).cast(pa.string()))
        elif pa.types.is_binary_view(field.type) or pa.types.is_large_binary(field.type):
            rows = rows.set_column(i, field.name, rows.column(i).cast(pa.binary()))
    return rows


def _translate(error: duckdb.Error) -> Exception:
    """Turn DuckDB's errors into ours, by their class."""
    text = str(error).splitlines()[0]
    values: tuple[Any, ...] = (duckdb.ConversionException, duckdb.OutOfRangeException)
    if isinstance(error, values):
        return InvalidRequest(f"a value does not fit: {text}", hint="check the values and the column's type")
    if isinstance(error, (duckdb.IOException, duckdb.HTTPException)):
        return Unavailable(f"the data can't be read: {text}", hint="check that the object root can be reached")
    if isinstance(error, (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException)):
        return InvalidRequest(f"the expression can't be run: {text}", hint="check names and types")
    return Unavailable(f"DuckDB failed: {text}", hint="try engine='spark'")
