"""Spark through PySpark: the one file that imports it. Uses only what Spark Connect has, too."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.types import DataType, parse_type
from anabranch.queries.query import TURN, Files, Frame, Query, Rows, Source
from anabranch.queries.rendering import spark_sql

if TYPE_CHECKING:
    from anabranch.errors import AnabranchError

__all__ = ["DataFrame", "SparkEngine", "frame_to_arrow", "frame_types", "is_spark_frame", "local_session"]

log = logging.getLogger("anabranch.engines.spark")


def local_session() -> SparkSession:
    """The active session, or a new local one."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    log.debug("starting a local Spark session")
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # PySpark tells every error twice, once as a page of JSON; in a session of our own once is enough.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return (
            SparkSession.builder.master("local[*]")
            .appName("anabranch")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.warehouse.dir", str(Path(gettempdir()) / "anabranch-warehouse"))
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
            .getOrCreate()
        )
    except (PySparkException, OSError, RuntimeError) as error:
        hint = "install Java 17 or newer (with jdk.incubator.vector) and set JAVA_HOME; see `make setup`"
        raise Unavailable(f"Spark could not be started: {error}", hint=hint) from error


def is_spark_frame(value: Any) -> bool:
    """Tell whether this is a Spark DataFrame, of a classic or a Connect session."""
    return isinstance(value, DataFrame)


def frame_types(frame: DataFrame) -> dict[str, str]:
    """The columns of a DataFrame with their types as DDL text."""
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


def frame_to_arrow(frame: DataFrame) -> pa.Table:
    """Bring a DataFrame into the process."""
    return frame.toArrow()


_REMEMBERED = 256


class SparkEngine:
    """Runs queries in a session that somebody else may own: it is never stopped or configured here."""

    name = "spark"
    in_process = False

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._frames: OrderedDict[Hashable, DataFrame] = OrderedDict()
        self._lock = threading.Lock()

    def remembered(self, key: Hashable, make: Callable[[], DataFrame]) -> DataFrame:
        """Make a DataFrame once: what it reads never changes, and making one costs as much as a short query."""
        with self._lock:
            if key in self._frames:
                self._frames.move_to_end(key)
                return self._frames[key]
        made = make()
        with self._lock:
            self._frames[key] = made
            while len(self._frames) > _REMEMBERED:
                self._frames.popitem(last=False)
        return made

    def frame(self, query: Query) -> DataFrame:
        """Make a DataFrame of a query; nothing runs yet."""
        bound = {name: self._bind(source) for name, source in query.sources.items()}
        try:
            return self.session.sql(spark_sql(query), args=_arguments(query.args) or None, **bound)
        except PySparkException as error:
            raise _translate(error) from error

    def read(self, files: Files, names: Sequence[tuple[str, str]]) -> DataFrame:
        """Read columns of files under other names; the same as by a query, without the price of its text."""
        columns = [F.col(f"`{old}`").alias(new) for old, new in names]
        return self._bind(files).select(*columns)

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and bring its rows into the process."""
        frame = self.frame(query)
        try:
            return _utc(frame.toArrow())
        except PySparkException as error:
            raise _translate(error) from error

    def types(self, query: Query) -> list[DataType | None]:
        """Let Spark analyse the query and read the types off."""
        try:
            fields = self.frame(query).schema.fields
        except PySparkException as error:
            raise _translate(error) from error
        texts = [field.dataType.simpleString() for field in fields]
        return [None if text == "void" else parse_type(text) for text in texts]

    def write(self, query: Query, uri: str, cluster: Sequence[str], files: int | None = None) -> None:
        """Write the rows, range-partitioned and sorted, so that files have disjoint key ranges."""
        frame = self.frame(query)
        if cluster:
            ranged = frame.repartitionByRange(files, *cluster) if files else frame.repartitionByRange(*cluster)
            frame = ranged.sortWithinPartitions(*cluster)
        try:
            frame.write.mode("errorifexists").parquet(uri)
        except PySparkException as error:
            raise _translate(error) from error

    def _bind(self, source: Source) -> DataFrame:
        if isinstance(source, Files):
            return self._read_files(source)
        if isinstance(source, Rows):
            return self.session.createDataFrame(source.table)
        assert isinstance(source, Frame)
        return source.frame  # type: ignore[no-any-return]

    def _read_files(self, files: Files) -> DataFrame:
        return self.remembered(files, lambda: self._turned(files) if files.turns else self._parquet(files, files.uris))

    def _parquet(self, files: Files, uris: Sequence[str]) -> DataFrame:
        schema = ", ".join(f"`{name}` {type_}" for name, type_ in files.columns)
        return self.session.read.schema(schema).parquet(*uris)

    def _turned(self, files: Files) -> DataFrame:
        """Files of several turns, with their turns as a column."""
        uris: dict[int, list[str]] = {}
        for uri, turn in zip(files.uris, files.turns, strict=True):
            uris.setdefault(turn, []).append(uri)
        parts = [self._parquet(files, found).withColumn(TURN, F.lit(turn)) for turn, found in uris.items()]
        return reduce(DataFrame.unionAll, parts)


def _arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Spark takes a datetime without a zone for a local time; ours is a timestamp_ntz."""
    found: dict[str, Any] = {}
    for name, value in args.items():
        plain = isinstance(value, datetime) and value.tzinfo is None
        found[name] = F.expr(f"timestamp_ntz'{value.isoformat(' ')}'") if plain else value
    return found


def _utc(rows: pa.Table) -> pa.Table:
    """Spark labels times with the session's zone; the instants are the same."""
    for i, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in (None, "UTC"):
            rows = rows.set_column(i, field.name, rows.column(i).cast(pa.timestamp("us", "UTC")))
    return rows


_VALUE_STATES = ("22", "21")
"""SQLSTATE classes of values that do not fit: data exceptions and cardinality."""
_REQUEST_STATES = ("42", "0A", "38")
"""SQLSTATE classes of text that can't be run: syntax, names, types, missing features."""


def _translate(error: PySparkException) -> AnabranchError:
    """Turn Spark's errors into ours, by their SQLSTATE."""
    state = error.getSqlState() or ""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if state.startswith(_VALUE_STATES):
        return InvalidRequest(f"a value does not fit: {text}", hint="check the values and the column's type")
    if state.startswith(_REQUEST_STATES):
        return InvalidRequest(f"the expression can't be run: {text}", hint="check names and types")
    return Unavailable(f"Spark failed: {text}", hint="see Spark's log")
