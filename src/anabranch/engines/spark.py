"""Spark through PySpark. Uses only what Spark Connect has, too."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from anabranch.engines.engine import out_of_sight
from anabranch.engines.spark_sessions import functions_of, is_remote, local_session, refuse_foreign
from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.types import DataType, parse_type
from anabranch.queries.query import Files, Frame, Query, Rows, Source
from anabranch.queries.rendering import spark_sql

if TYPE_CHECKING:
    from anabranch.errors import AnabranchError

__all__ = ["DataFrame", "SparkEngine", "frame_to_arrow", "frame_types", "is_spark_frame", "local_session"]


def is_spark_frame(value: Any) -> bool:
    """Tell whether this is a Spark DataFrame, of a classic or a Connect session."""
    return isinstance(value, DataFrame)


def frame_types(frame: DataFrame) -> dict[str, str]:
    """The columns of a DataFrame with their types as DDL text."""
    try:
        fields = frame.schema.fields
    except PySparkException as error:  # Spark Connect looks at a DataFrame only now.
        raise _translate(error) from error
    return {field.name: field.dataType.simpleString() for field in fields}


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
        self.sees_files = not is_remote(session)
        """Whether our files are known to be in sight: always, but for a server that may be elsewhere."""
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
        try:
            bound = {name: self._bind(source) for name, source in query.sources.items()}
            return self.session.sql(spark_sql(query), args=self._arguments(query.args) or None, **bound)
        except PySparkException as error:
            raise _translate(error) from error

    def read(self, files: Files, names: Sequence[tuple[str, str]]) -> DataFrame:
        """Read columns of files under other names; the same as by a query, without the price of its text."""
        column = functions_of(self.session).col
        try:
            return self._bind(files).select(*[column(f"`{old}`").alias(new) for old, new in names])
        except PySparkException as error:
            raise _translate(error) from error

    def look(self, uri: str) -> None:
        """Make sure, once, that Spark sees a file of ours; a server on another machine may have other disks."""
        if self.sees_files:
            return
        try:
            _ = self.session.read.text(uri).schema
        except PySparkException as error:
            raise (out_of_sight(uri) if error.getSqlState() == _NO_FILE else _translate(error)) from error
        self.sees_files = True

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

    def write(self, query: Query, uri: str, cluster: Sequence[str], number: str | None = None) -> None:
        """Write the rows, range-partitioned and sorted, so that files have disjoint key ranges."""
        frame = self.frame(query)
        if cluster:
            frame = frame.repartitionByRange(*cluster).sortWithinPartitions(*cluster)
        if number:
            # The last step before the rows are written, so that a task that runs again numbers its own rows only.
            frame = frame.withColumn(number, functions_of(self.session).monotonically_increasing_id())
        try:
            frame.write.mode("error").parquet(uri)
        except PySparkException as error:
            raise _translate(error) from error

    def _bind(self, source: Source) -> DataFrame:
        if isinstance(source, Files):
            return self._read_files(source)
        if isinstance(source, Rows):
            return self._hold(source.table)
        assert isinstance(source, Frame)
        refuse_foreign(self.session, source.frame.sparkSession)
        return source.frame  # type: ignore[no-any-return]

    def _read_files(self, files: Files) -> DataFrame:
        self.look(files.uris[0])
        schema = ", ".join(f"`{name}` {type_}" for name, type_ in files.columns)
        return self.remembered(files, lambda: self.session.read.schema(schema).parquet(*files.uris))

    def _hold(self, rows: pa.Table) -> DataFrame:
        if rows.num_rows:
            return self.session.createDataFrame(rows)
        # Spark Connect takes no empty table, for want of a schema; a row of nulls has one.
        nulls = [pa.nulls(1, field.type) for field in rows.schema]
        return self.session.createDataFrame(pa.Table.from_arrays(nulls, names=rows.column_names)).limit(0)

    def _arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Spark takes a datetime without a zone for a local time; ours is a timestamp_ntz."""
        expression = functions_of(self.session).expr
        found: dict[str, Any] = {}
        for name, value in args.items():
            plain = isinstance(value, datetime) and value.tzinfo is None
            found[name] = expression(f"timestamp_ntz'{value.isoformat(' ')}'") if plain else value
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
_NO_FILE = "42K03"
"""SQLSTATE of a path that is not there: nothing that another request could mend."""


def _translate(error: PySparkException) -> AnabranchError:
    """Turn Spark's errors into ours, by their SQLSTATE."""
    state = error.getSqlState() or ""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if state.startswith(_VALUE_STATES):
        return InvalidRequest(f"a value does not fit: {text}", hint="check the values and the column's type")
    if state == _NO_FILE:
        return Unavailable(f"the data can't be read: {text}", hint="check that the object root can be reached")
    if state.startswith(_REQUEST_STATES):
        return InvalidRequest(f"the expression can't be run: {text}", hint="check names and types")
    return Unavailable(f"Spark failed: {text}", hint="see Spark's log")
