"""Spark through PySpark: the one file that imports it. Uses only what Spark Connect has, too."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.ddl import parse_type
from anabranch.model.types import FLOATS, VOID, DataType, array_of, map_of, struct_of
from anabranch.queries.forms import has_other_form
from anabranch.queries.query import Files, Frame, Query, Rows, Source
from anabranch.queries.rendering import spark_schema, spark_sql, spark_to_memory
from anabranch.queries.results import plain

if TYPE_CHECKING:
    from anabranch.errors import AnabranchError

__all__ = ["DataFrame", "SparkEngine", "frame_to_arrow", "frame_types", "is_spark_frame", "local_session"]

log = logging.getLogger("anabranch.engines.spark")
_FAILURES = (PySparkException, Py4JJavaError)
"""PySpark leaves some of Spark's errors as Java has them."""


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


def frame_types(frame: DataFrame) -> dict[str, DataType]:
    """The columns of a DataFrame with their types; one of nothing but nulls is VOID."""
    return {field.name: data_type(field.dataType) for field in frame.schema.fields}


def data_type(type_: Any) -> DataType:
    """One of PySpark's types as ours; nullability inside a type is not part of it."""
    if hasattr(type_, "elementType"):
        return array_of(data_type(type_.elementType))
    if hasattr(type_, "keyType"):
        return map_of(data_type(type_.keyType), data_type(type_.valueType))
    if hasattr(type_, "fields"):
        return struct_of([(f.name, data_type(f.dataType)) for f in type_.fields])
    text = type_.simpleString()
    return VOID if text == "void" else parse_type(text)


def frame_to_arrow(frame: DataFrame) -> pa.Table:
    """Bring a DataFrame into the process."""
    return frame.toArrow()


class SparkEngine:
    """Runs queries in a session that somebody else may own: it is never stopped or configured here."""

    name = "spark"
    in_process = False

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def frame(self, query: Query) -> DataFrame:
        """Make a DataFrame of a query; nothing runs yet."""
        bound = {name: self._bind(source) for name, source in query.sources.items()}
        try:
            return self.session.sql(spark_sql(query), args=_arguments(query.args) or None, **bound)
        except _FAILURES as error:
            raise _translate(error) from error

    def read(self, files: Files, names: Sequence[tuple[str, str]]) -> DataFrame:
        """Read columns of files under other names; the same as by a query, without the price of its text."""
        columns = [F.col(f"`{old}`").alias(new) for old, new in names]
        return self._bind(files).select(*columns)

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and bring its rows into the process."""
        frame = self.frame(query)
        try:
            return plain(_for_memory(frame).toArrow())
        except _FAILURES as error:
            raise _translate(error) from error

    def types(self, query: Query) -> list[DataType | None]:
        """Let Spark analyse the query and read the types off."""
        try:
            found = frame_types(self.frame(query))
        except _FAILURES as error:
            raise _translate(error) from error
        return [None if type_ == VOID else type_ for type_ in found.values()]

    def write(self, query: Query, uri: str, cluster: Sequence[str]) -> None:
        """Write the rows, range-partitioned and sorted, so that files have disjoint key ranges."""
        frame = self.frame(query)
        options = self._write_options(frame_types(frame))
        if cluster:
            frame = frame.repartitionByRange(*cluster).sortWithinPartitions(*cluster)
        try:
            frame.write.mode("errorifexists").options(**options).parquet(uri)
        except _FAILURES as error:
            raise _translate(error) from error

    def _write_options(self, types: Mapping[str, DataType]) -> dict[str, str]:
        """Options of one write that make files every reader takes alike, whatever the session is set to."""
        if any(t.name in ("date", "timestamp", "timestamp_ntz") for type_ in types.values() for t in type_.walk()):
            _refuse_old_calendar(self.session)
        plain_leaves = [path for name, type_ in types.items() for path in _float_leaves(name, type_)]
        statistics = {f"parquet.column.statistics.enabled#{path}": "false" for path in plain_leaves}
        dictionaries = {f"parquet.enable.dictionary#{path}": "false" for path in plain_leaves}
        return {**_WRITING, **statistics, **dictionaries}

    def _bind(self, source: Source) -> DataFrame:
        if isinstance(source, Files):
            return self.session.read.schema(spark_schema(source.columns)).options(**_READING).parquet(*source.uris)
        if isinstance(source, Rows):
            # By itself, Spark takes times without a zone for local ones, and moves those that its zone skips.
            fields = from_arrow_schema(source.table.schema, prefer_timestamp_ntz=True)
            return self.session.createDataFrame(source.table, schema=fields)
        assert isinstance(source, Frame)
        return source.frame  # type: ignore[no-any-return]


_REBASING = "spark.sql.parquet.datetimeRebaseModeInWrite"
_READING = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
_WRITING = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
}


def _refuse_old_calendar(session: SparkSession) -> None:
    """Files in the calendar of before 1582 show other dates to every reader but Spark."""
    if str(session.conf.get(_REBASING, "CORRECTED")).upper() == "LEGACY":
        hint = f"set {_REBASING} to CORRECTED"
        raise InvalidRequest("the Spark session writes dates in the calendar of before 1582", hint=hint)


def _float_leaves(path: str, type_: DataType) -> list[str]:
    """Where Parquet keeps floats: statistics leave NaN out and tell -0.0 from 0.0, so filters would lose rows."""
    if not type_.is_nested:
        return [path] if type_.name in FLOATS else []
    above = {"array": f"{path}.list", "map": f"{path}.key_value", "struct": path}[type_.name]
    return [leaf for f in type_.fields for leaf in _float_leaves(f"{above}.{f.name}", f.type)]


def _for_memory(frame: DataFrame) -> DataFrame:
    """Bring types that Arrow has none for into the form in which rows in memory hold them."""
    types = frame_types(frame)
    if not any(has_other_form(t) for type_ in types.values() for t in type_.walk()):
        return frame
    return frame.select(*(F.expr(spark_to_memory(name, type_)).alias(name) for name, type_ in types.items()))


def _arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Dates and times as literals: on their way as objects they would pass through old calendars and local zones."""
    return {name: _literal(value) if isinstance(value, date) else value for name, value in args.items()}


def _literal(value: date) -> Any:
    if not isinstance(value, datetime):
        return F.expr(f"date'{value.isoformat()}'")
    if value.tzinfo is None:
        return F.expr(f"timestamp_ntz'{value.isoformat(' ')}'")
    return F.expr(f"timestamp_ltz'{value.astimezone(UTC).isoformat(' ')}'")


_VALUE_STATES = ("22", "21")
"""SQLSTATE classes of values that do not fit: data exceptions and cardinality."""
_REQUEST_STATES = ("42", "0A", "38")
"""SQLSTATE classes of text that can't be run: syntax, names, types, missing features."""


def _translate(error: PySparkException | Py4JJavaError) -> AnabranchError:
    """Turn Spark's errors into ours, by their SQLSTATE."""
    state, message = _state_and_message(error)
    text = next((line.strip() for line in message.splitlines() if line.strip()), type(error).__name__)
    if state.startswith(_VALUE_STATES):
        return InvalidRequest(f"a value does not fit: {text}", hint="check the values and the column's type")
    if state.startswith(_REQUEST_STATES):
        return InvalidRequest(f"the expression can't be run: {text}", hint="check names and types")
    return Unavailable(f"Spark failed: {text}", hint="see Spark's log")


def _state_and_message(error: PySparkException | Py4JJavaError) -> tuple[str, str]:
    if isinstance(error, PySparkException):
        return error.getSqlState() or "", str(error)
    try:
        return error.java_exception.getSqlState() or "", str(error.java_exception.getMessage())
    except Py4JError:  # An exception of another kind than Spark's own has no such method.
        return "", str(error)
