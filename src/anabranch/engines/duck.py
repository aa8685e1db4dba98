"""DuckDB in the process, for what is too small to be worth a Spark job."""

from __future__ import annotations

import re
import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb
import pyarrow as pa

from anabranch.arrow.plain import plain
from anabranch.engines.before_read import AtHand, where_they_are
from anabranch.engines.duck_apart import Apart, ApartQuery, fetch_apart
from anabranch.engines.duck_functions import register
from anabranch.engines.duck_limits import interrupted_after
from anabranch.engines.engine import FileCount
from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.ddl import parse_type
from anabranch.model.types import DataType
from anabranch.queries.query import Files, Frame, Query, Rows
from anabranch.queries.rendering import duck_sql, duck_text
from anabranch.queries.writes import numbered, ordered

_MEMORY_ONLY: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class DuckEngine:
    """An in-memory database; each thread has its own cursor."""

    name = "duck"
    in_process = True

    def __init__(self, row_group_rows: int, at_hand: AtHand = where_they_are, memory_bytes: int = 0) -> None:
        self._row_group_rows, self._at_hand = row_group_rows, at_hand
        spills = _spill_folder()
        self._remove_spills = weakref.finalize(self, shutil.rmtree, spills, ignore_errors=True)
        config = {**_MEMORY_ONLY, "temp_directory": spills}
        if memory_bytes:
            config["memory_limit"] = f"{memory_bytes}B"
        self._database = duckdb.connect(config=config)
        register(self._database)
        self._local = threading.local()

    def fetch(self, query: Query, limit_seconds: float = 0) -> pa.Table:
        """Run a query and return its rows as Arrow; past the limit, if there is one, it is interrupted."""
        with self._bound(query) as (cursor, text), interrupted_after(limit_seconds, cursor):
            return plain(cursor.sql(text, params=dict(query.args) or None).to_arrow_table())

    def fetch_apart(self, query: Query, limits: Apart) -> pa.Table:
        """Run a stranger's query in a process of its own, within limits that it cannot pass."""
        _refuse_frames(query)
        with self._at_hand(_files(query)) as places:
            request = ApartQuery(
                text=duck_sql(query, places),
                args=query.args,
                tables={name: s.table for name, s in query.sources.items() if isinstance(s, Rows)},
                files=[places.get(uri, uri) for uri in _files(query)],
            )
            return fetch_apart(request, limits, _translate)

    @contextmanager
    def stream(self, query: Query, batch_rows: int) -> Iterator[pa.RecordBatchReader]:
        """Run a query and yield its rows in batches, on a cursor of its own."""
        args = dict(query.args) or None
        with (
            self._bound(query, self._new_cursor()) as (cursor, text),
            cursor.sql(text, params=args).to_arrow_reader(batch_rows) as reader,
        ):
            yield reader

    def types(self, query: Query) -> list[DataType | None]:
        """The types of a query's columns, as DuckDB binds it."""
        with self._bound(query) as (cursor, text):
            rows = cursor.execute(f"DESCRIBE {text}", dict(query.args) or None).fetchall()
        return [_spark_type(row[1]) for row in rows]

    def write(
        self, query: Query, uri: str, cluster: Sequence[str], number: str | None = None, files: FileCount = None
    ) -> None:
        """Write one file, sorted."""
        folder = Path(uri)
        folder.mkdir(parents=True)
        target = duck_text(str(folder / "part-00000.parquet"))
        wanted = ordered(query, cluster) if cluster else query
        wanted = numbered(wanted, number) if number else wanted
        with self._bound(wanted) as (cursor, text):
            options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {self._row_group_rows}"
            cursor.execute(f"COPY ({text}) TO {target} ({options})", dict(query.args) or None)

    def close(self) -> None:
        """Free the memory and the disk space."""
        self._database.close()
        self._remove_spills()

    @contextmanager
    def _bound(
        self, query: Query, cursor: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        _refuse_frames(query)
        with self._at_hand(_files(query)) as places, self._registered(query, cursor or self._cursor(), places) as found:
            yield found

    @contextmanager
    def _registered(
        self, query: Query, cursor: duckdb.DuckDBPyConnection, places: Mapping[str, str]
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        registered = {n: s.table for n, s in query.sources.items() if isinstance(s, Rows)}
        try:
            for name, rows in registered.items():
                cursor.register(name, rows)
            text = duck_sql(query, places)
            with _planned_quickly(cursor, text):
                yield cursor, text
        except duckdb.IOException as error:
            raise _missing_file(query, places) or _translate(error) from error
        except duckdb.Error as error:
            raise _translate(error) from error
        finally:
            for name in registered:
                cursor.unregister(name)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._new_cursor()
        return self._local.cursor  # type: ignore[no-any-return]

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = self._database.cursor()
        cursor.execute("SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")  # files never change
        return cursor


def _refuse_frames(query: Query) -> None:
    if any(isinstance(s, Frame) for s in query.sources.values()):
        raise InvalidRequest("a Spark DataFrame can't be read by DuckDB", hint="use engine='auto' or 'spark'")


def _files(query: Query) -> list[str]:
    """The addresses of the files that a query reads."""
    return [uri for s in query.sources.values() if isinstance(s, Files) for uri in s.uris]


def _spill_folder() -> str:
    """Make a private temporary folder for spilling; if there can't be one, nothing spills."""
    try:
        return mkdtemp(prefix="anabranch-")
    except OSError:
        return ""


_LONG_TEXT = 100_000


@contextmanager
def _planned_quickly(cursor: duckdb.DuckDBPyConnection, text: str) -> Iterator[None]:
    """For a query over very many columns, skip two optimiser passes that take quadratic time."""
    if len(text) < _LONG_TEXT:
        yield
        return
    cursor.execute("SET disabled_optimizers = 'statistics_propagation,common_subexpressions'")
    try:
        yield
    finally:
        cursor.execute("RESET disabled_optimizers")


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


_OWN_WORDS = re.compile(
    r"(division by zero|the part 0 of a string|not a (?:whole number|boolean|date): .*?)(?:' to \w+|\", expected .*)?$"
)
"""Messages of translated queries where Spark would fail, inside DuckDB's own message."""


_ONLY_SPARK = re.compile(r"only Spark computes ([^'\"]*)")
"""What translated queries say about a value that their proof doesn't cover."""


def _missing_file(query: Query, places: Mapping[str, str]) -> Unavailable | None:
    """The error for a file that is gone, although it was there when the query began; None if all are there."""
    paths = [places.get(uri, uri) for uri in _files(query)]
    gone = next((path for path in paths if "://" not in path and not Path(path).exists()), None)
    if gone is None:
        return None
    message = (
        f"object file {gone} is gone, which was there when its reading began: gc collected it, or somebody removed it"
    )
    return Unavailable(message, hint="do it again, and let gc run with a longer grace", is_collected=True)


def _translate(error: duckdb.Error) -> Exception:
    """Turn DuckDB's errors into ours, by class."""
    text = str(error).splitlines()[0]
    values: tuple[Any, ...] = (
        duckdb.ConversionException,
        duckdb.OutOfRangeException,
        duckdb.InvalidInputException,
    )
    if isinstance(error, values):
        guard = _ONLY_SPARK.search(text)
        if guard is not None:
            return InvalidRequest(guard[0], hint="use engine='auto' or 'spark'", only_spark=guard[1])
        own = _OWN_WORDS.search(text)
        text = own[1] if own else text
        damage = isinstance(error, duckdb.InvalidInputException)  # a damaged file raises this, too
        hint = "check the values and the column's type"
        return InvalidRequest(f"a value does not fit: {text}", hint=hint, may_be_damage=damage)
    if isinstance(error, duckdb.OutOfMemoryException):
        hint = "free some memory or disk, read less, or use engine='auto' or 'spark'"
        return Unavailable(f"out of memory: {text}", hint=hint, limit="memory")
    if isinstance(error, (duckdb.IOException, duckdb.HTTPException)):
        return Unavailable(f"the data can't be read: {text}", hint="check that the object root can be reached")
    if isinstance(error, (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException)):
        return InvalidRequest(f"the expression can't be run: {text}", hint="check names and types")
    return Unavailable(f"DuckDB failed: {text}", hint="try engine='spark'")
