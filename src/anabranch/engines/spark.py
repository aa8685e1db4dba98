"""Spark through PySpark; uses only what Spark Connect supports, too."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import UTC, date, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from anabranch.arrow.plain import plain
from anabranch.engines import spark_sessions as sessions
from anabranch.engines.before_read import BeforeRead, look_at_none
from anabranch.engines.engine import FileCount, InPlace, out_of_sight
from anabranch.engines.far_root import S3A, FarRoot
from anabranch.engines.spark_errors import FAILURES, NO_FILE, translate, translated
from anabranch.errors import InvalidRequest
from anabranch.model.ddl import parse_type
from anabranch.model.schema import field_id
from anabranch.model.types import FLOATS, VOID, DataType, array_of, map_of, struct_of
from anabranch.queries.nested import has_other_form
from anabranch.queries.query import TURN, Files, Frame, Query, Rows, Source
from anabranch.queries.rendering import spark_schema, spark_sql, spark_to_memory
from anabranch.settings import SPARK_PLANS_LIMIT

if TYPE_CHECKING:
    from anabranch.errors import AnabranchError

__all__ = [
    "DataFrame",
    "SparkEngine",
    "explained",
    "frame_to_memory",
    "frame_types",
    "frame_types_of",
    "is_spark_frame",
]


def is_spark_frame(value: Any) -> bool:
    """Tell whether this is a Spark DataFrame, of a classic or a Connect session."""
    return isinstance(value, DataFrame)


def frame_types(frame: DataFrame) -> dict[str, DataType]:
    """The columns of a DataFrame with their types; VOID for a column of nulls only."""
    with translated():
        fields = frame.schema.fields
    return {field.name: data_type(field.dataType) for field in fields}


def frame_types_of(frame: DataFrame) -> tuple[tuple[str, DataType | None], ...]:
    """The columns of a DataFrame in order, duplicate names included; None for a column of nulls only."""
    with translated(), sessions.quietly():
        fields = frame.schema.fields
    types = [(field.name, data_type(field.dataType)) for field in fields]
    return tuple((name, None if type_ == VOID else type_) for name, type_ in types)


def data_type(type_: Any) -> DataType:
    """A type of PySpark's as ours; nullability inside a type is ignored."""
    if hasattr(type_, "elementType"):
        return array_of(data_type(type_.elementType))
    if hasattr(type_, "keyType"):
        return map_of(data_type(type_.keyType), data_type(type_.valueType))
    if hasattr(type_, "fields"):
        return struct_of([(f.name, data_type(f.dataType)) for f in type_.fields])
    text = type_.simpleString()
    return VOID if text == "void" else parse_type(text)


def frame_to_memory(frame: DataFrame) -> pa.Table:
    """Fetch a DataFrame of a user's query, in the form that rows have in memory."""
    with translated(), sessions.quietly():
        return plain(_for_memory(frame).toArrow())


def explained(frame: DataFrame) -> str:
    """Spark's own explanation of how it would run a DataFrame."""
    described = io.StringIO()
    with redirect_stdout(described):
        frame.explain()
    return described.getvalue().strip()


_USUAL = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}
"""The defaults of settings that change what a query returns."""


class SparkEngine:
    """Runs queries in a session that may belong to somebody else: never stops or configures it."""

    name = "spark"
    in_process = False

    def __init__(
        self,
        session: SparkSession,
        file_rows: int | None = None,
        before_read: BeforeRead = look_at_none,
        compares_pages: bool = True,
        far: FarRoot | None = None,
    ) -> None:
        self.session, self.before_read = session, before_read
        self._far = far
        self._elsewhere = dict(far.options) if far else {}
        self._reading = (
            _READING | self._elsewhere | {"parquet.page.verify-checksum.enabled": str(compares_pages).lower()}
        )
        self._file_rows = file_rows
        self.sees_files = far is None and not sessions.is_remote(session)
        """Whether Spark is known to see our files: always, if both are on this machine."""
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
            while len(self._frames) > SPARK_PLANS_LIMIT:
                self._frames.popitem(last=False)
        return made

    def frame(self, query: Query) -> DataFrame:
        """Make a DataFrame of a query; runs nothing yet."""
        with translated():
            bound = {name: self._bind(source) for name, source in query.sources.items()}
            return self.session.sql(spark_sql(query), args=self._arguments(query.args) or None, **bound)

    def run_text(self, text: str, frames: Mapping[str, DataFrame], args: Mapping[str, Any]) -> DataFrame:
        """Make a DataFrame of a user's query, with frames in place of their names."""
        for frame in frames.values():
            sessions.refuse_foreign(self.session, frame.sparkSession)
        braced = text.replace("{", "{{").replace("}", "}}") if frames else text  # no frames, no substitution
        for name in frames:
            braced = braced.replace(name, f"{{{name}}}")
        with translated(), sessions.quietly():
            return self.session.sql(braced, args=self._arguments(args) or None, **frames)

    @property
    def differs(self) -> bool:
        """Whether the session's settings change what SQL means."""
        try:
            return any(self.session.conf.get(name, usual) != usual for name, usual in _USUAL.items())
        except FAILURES:
            return True

    @property
    def zone(self) -> str | None:
        """The session's time zone."""
        try:
            return str(self.session.conf.get("spark.sql.session.timeZone"))
        except FAILURES:
            return None

    def has_table(self, name: str) -> bool:
        """Tell whether the session has a table or view of this name."""
        try:
            return bool(self.session.catalog.tableExists(name))
        except FAILURES:
            return False

    def read(self, files: Files, names: Sequence[tuple[str, str]]) -> DataFrame:
        """Read columns of files under other names; like a query, but without the cost of parsing one."""
        column = sessions.functions_of(self.session).col
        try:
            return self._bind(files).select(*[column(f"`{old}`").alias(new) for old, new in names])
        except PySparkException as error:
            raise translate(error) from error

    def look(self, uri: str) -> None:
        """Check once that Spark sees a file of ours; a server on another machine may have other disks."""
        if self.sees_files:
            return
        try:
            _ = self.text([uri]).schema
        except FAILURES as error:
            raise self._unseen(uri, error) from error
        self.sees_files = True

    def _unseen(self, uri: str, error: PySparkException | Py4JJavaError) -> AnabranchError:
        """Why Spark doesn't see a file of ours: no client for the root, other disks, or a failure."""
        if self._far is not None and self._far.scheme == "s3" and sessions.lacks_class(self.session, S3A):
            return self._far.lacking(uri)
        if isinstance(error, PySparkException) and error.getSqlState() == NO_FILE:
            return out_of_sight(uri)
        return translate(error)

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and fetch its rows."""
        frame = self.frame(query)
        with translated():
            return plain(_for_memory(frame).toArrow())

    def types(self, query: Query) -> list[DataType | None]:
        """The types of a query's columns, as Spark analyses it."""
        with translated():
            found = frame_types(self.frame(query))
        return [None if type_ == VOID else type_ for type_ in found.values()]

    def write(
        self, query: Query, uri: str, cluster: Sequence[str], number: str | None = None, files: FileCount = None
    ) -> None:
        """Write the rows, range-partitioned and sorted, so that files have disjoint key ranges."""
        frame = self.frame(query)
        options = self._write_options(frame_types(frame), cluster)
        if self._file_rows and files != 1 and (cluster or number):
            options["maxRecordsPerFile"] = str(self._file_rows)
        if cluster and files is not InPlace.SORTED:
            frame = _ranged(frame, cluster, files).sortWithinPartitions(*cluster)
        if number:
            # Last before the write, so that a task that is run again numbers its own rows only.
            frame = frame.withColumn(number, sessions.functions_of(self.session).monotonically_increasing_id())
        with translated():
            frame = self._with_field_ids(frame)
            frame.write.mode("error").options(**options).parquet(sessions.on_disk(uri))

    def _with_field_ids(self, frame: DataFrame) -> DataFrame:
        """Give columns the ids that Parquet keeps beside their names; Spark can't set them inside nested columns."""
        column = sessions.functions_of(self.session).col
        numbers = {name: field_id(name) for name in frame.columns}
        return frame.select(
            *(column(_quoted(n)).alias(n, metadata={"parquet.field.id": number}) for n, number in numbers.items())
        )

    def _write_options(self, types: Mapping[str, DataType], cluster: Sequence[str] = ()) -> dict[str, str]:
        """Options that make one write's files read the same everywhere, whatever the session's settings."""
        if any(t.name in ("date", "timestamp", "timestamp_ntz") for type_ in types.values() for t in type_.walk()):
            _refuse_old_calendar(self.session)
        plain_leaves = [path for name, type_ in types.items() for path in _float_leaves(name, type_)]
        statistics = {f"parquet.column.statistics.enabled#{path}": "false" for path in plain_leaves}
        # Keys are unique: a dictionary would be as large as the keys, and every lookup would read it.
        varied = [*plain_leaves, *(name for name in cluster if types[name].is_integer)]
        dictionaries = {f"parquet.enable.dictionary#{path}": "false" for path in varied}
        far = self._elsewhere | _FAR_WRITING if self._far else {}
        return {**_WRITING, **statistics, **dictionaries, **far}

    def _bind(self, source: Source) -> DataFrame:
        if isinstance(source, Files):
            return self._read_files(source)
        if isinstance(source, Rows):
            return self._local_frame(source.table)
        assert isinstance(source, Frame)
        sessions.refuse_foreign(self.session, source.frame.sparkSession)
        return source.frame  # type: ignore[no-any-return]

    def _read_files(self, files: Files) -> DataFrame:
        self.look(files.uris[0])
        self.before_read(files.uris)
        return self.remembered(files, lambda: self._turned(files) if files.turns else self._parquet(files, files.uris))

    def text(self, uris: Sequence[str]) -> DataFrame:
        """Read files line by line, as a column `value`."""
        return self.session.read.options(**self._reading).text([sessions.as_pattern(uri) for uri in uris])

    def _parquet(self, files: Files, uris: Sequence[str]) -> DataFrame:
        reader = self.session.read.schema(spark_schema(files.columns)).options(**self._reading)
        return reader.parquet(*map(sessions.as_pattern, uris))

    def _turned(self, files: Files) -> DataFrame:
        """Files of several turns, with the turn as a column."""
        literal = sessions.functions_of(self.session).lit
        uris: dict[int, list[str]] = {}
        for uri, turn in zip(files.uris, files.turns, strict=True):
            uris.setdefault(turn, []).append(uri)
        parts = [self._parquet(files, found).withColumn(TURN, literal(turn)) for turn, found in uris.items()]
        return reduce(DataFrame.unionAll, parts)

    def _local_frame(self, rows: pa.Table) -> DataFrame:
        # Otherwise Spark takes timestamps without a zone for local ones, and moves those that its zone skips.
        fields = from_arrow_schema(rows.schema, prefer_timestamp_ntz=True)
        if rows.num_rows:
            return self.session.createDataFrame(rows, schema=fields)
        # Spark Connect can't take an empty table, for lack of a schema; a row of nulls has one.
        nulls = [pa.nulls(1, field.type) for field in rows.schema]
        one = pa.Table.from_arrays(nulls, names=rows.column_names)
        return self.session.createDataFrame(one, schema=fields).limit(0)

    def _arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Pass dates and times as literals: as objects they would go through old calendars and zones."""
        expression = sessions.functions_of(self.session).expr
        return {k: expression(_literal(v)) if isinstance(v, date) else v for k, v in args.items()}


_REBASING = "spark.sql.parquet.datetimeRebaseModeInWrite"
_READING = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Files are named one by one: brackets and stars in a folder's name are not patterns."""
_WRITING = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "parquet.page.write-checksum.enabled": "true",
    "compression": "zstd",
    "parquet.compression.codec.zstd.level": "1",  # as quickly written as by snappy, and a third smaller
}


_FAR_WRITING = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}
"""A rename on S3 is a copy, so tasks put files in place at once. Nobody sees them before they are sealed, and Spark
gives up on a write if a task fails half-way through that."""


def _refuse_old_calendar(session: SparkSession) -> None:
    """Refuse a session that writes dates in the calendar of before 1582: every reader but Spark would misread them."""
    if str(session.conf.get(_REBASING, "CORRECTED")).upper() == "LEGACY":
        hint = f"set {_REBASING} to CORRECTED"
        raise InvalidRequest("the Spark session writes dates in the calendar of before 1582", hint=hint)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _float_leaves(path: str, type_: DataType) -> list[str]:
    """Where Parquet keeps floats: their statistics omit NaN and tell -0.0 from 0.0, so filters would lose rows."""
    if not type_.is_nested:
        return [path] if type_.name in FLOATS else []
    above = {"array": f"{path}.list", "map": f"{path}.key_value", "struct": path}[type_.name]
    return [leaf for f in type_.fields for leaf in _float_leaves(f"{above}.{f.name}", f.type)]


def _ranged(frame: DataFrame, cluster: Sequence[str], files: FileCount) -> DataFrame:
    """Repartition the rows by key range; for a single file Spark needn't sample them first."""
    if isinstance(files, InPlace):
        return frame
    if files == 1:
        return frame.repartition(1)
    return frame.repartitionByRange(files, *cluster) if files else frame.repartitionByRange(*cluster)


def _for_memory(frame: DataFrame) -> DataFrame:
    """Convert types that Arrow lacks into the form that rows have in memory."""
    types = frame_types(frame)
    if not any(has_other_form(t) for type_ in types.values() for t in type_.walk()):
        return frame
    expression = sessions.functions_of(frame.sparkSession).expr
    return frame.select(*(expression(spark_to_memory(name, type_)).alias(name) for name, type_ in types.items()))


def _literal(value: date) -> str:
    if not isinstance(value, datetime):
        return f"date'{value.isoformat()}'"
    if value.tzinfo is None:
        return f"timestamp_ntz'{value.isoformat(' ')}'"
    return f"timestamp_ltz'{value.astimezone(UTC).isoformat(' ')}'"
