"""Parquet, which Spark reads itself, plus columns from the names of folders."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.parquet
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from anabranch.engines.spark import frame_types
from anabranch.engines.spark_sessions import functions_of
from anabranch.errors import InvalidRequest
from anabranch.formats.process.parts import FilePart, Reading, with_folder_values
from anabranch.formats.process.survey import PartSurvey
from anabranch.formats.process.text_facts import find_facts
from anabranch.formats.process.values import convert
from anabranch.formats.rules.encodings import translated
from anabranch.formats.rules.found_files import DataFile
from anabranch.model.types import DataType

_HADOOP = "*?[]{}\\:"


def survey_parquet(files: Sequence[DataFile], reading: Reading) -> list[PartSurvey]:
    """Survey footers, and the values in folder names."""
    _refuse_names(files)
    found = []
    for file in files:
        with translated(file.path, file.format):
            footer = pyarrow.parquet.read_metadata(file.path)
            names = footer.schema.to_arrow_schema().names
        # A row of nulls under the file's names: only columns from folders are examined.
        part = with_folder_values(FilePart(file, pa.table({name: pa.nulls(1) for name in names})), reading)
        facts = {name: find_facts(part.rows.column(name), types, reading.options) for name, types in part.texts.items()}
        found.append(PartSurvey(part, facts, footer.num_rows))
    return found


def read_parquet(
    session: SparkSession, surveys: Sequence[PartSurvey], reading: Reading, types: Mapping[str, DataType]
) -> DataFrame:
    """Read files as one DataFrame, under the new column names."""
    grouped: dict[tuple[str, ...], list[PartSurvey]] = defaultdict(list)
    for survey in surveys:
        schema = pyarrow.parquet.read_schema(survey.part.file.path)
        own = (f"{f.name} {f.type}" for f in schema)
        grouped[(*own, "/", *survey.part.rows.column_names)].append(survey)
    frames = [_group(session, [s.part for s in some], reading, types) for some in grouped.values()]
    check_types(frames, [c.name for c in reading.columns])
    return united(frames)


def _group(
    session: SparkSession, parts: Sequence[FilePart], reading: Reading, types: Mapping[str, DataType]
) -> DataFrame:
    """Read files of one schema."""
    column = functions_of(session).col
    paths = [os.path.abspath(part.file.path) for part in parts]
    try:
        found = session.read.options(__globPaths__="false").parquet(*paths)
    except (PySparkException, Py4JJavaError) as error:
        message = f"Spark can't read the files: {str(error).strip().splitlines()[0]}"
        raise InvalidRequest(message, hint="read them in the process (engine duck)") from error
    own, names = found.columns, parts[0].rows.column_names
    given = {name: f"_ana_folder_{i}" for i, name in enumerate(names) if name not in own}
    texts = [_folder_text(session, name).alias(alias) for name, alias in given.items()]
    found = found.select(*[column(_quoted(name)) for name in own], *texts)
    known = reading.known(list(given))
    for name, alias in given.items():
        type_ = known.get(name) or types[reading.renamed(name)]
        small = _values(session, parts, name, alias, type_, reading)
        found = found.join(functions_of(session).broadcast(small), alias, "left").drop(alias)
    new = reading.new_names(parts[0].file.path, names)
    return found.select(*[column(_quoted(name)).alias(new[name]) for name in names])


def _values(
    session: SparkSession, parts: Sequence[FilePart], name: str, alias: str, type_: DataType, reading: Reading
) -> DataFrame:
    """Map the texts in folder names to their values."""
    texts = pa.chunked_array([pa.array(sorted({part.file.values[name] or "" for part in parts}), pa.string())])
    texts = texts.filter(pa.compute.not_equal(texts, "")) if None in {p.file.values[name] for p in parts} else texts
    rows = pa.table({alias: texts, name: convert(texts, type_, reading.options)})
    return session.createDataFrame(rows, schema=from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def _folder_text(session: SparkSession, name: str) -> Column:
    """A column's text in the path of a file."""
    f = functions_of(session)
    raw = f.regexp_extract(f.col("_metadata.file_path"), f"/{re.escape(name)}=([^/]*)/", 1)
    # A path is escaped once as a URI, and once by whoever wrote the folder.
    found: Column = f.url_decode(f.regexp_replace(f.url_decode(f.regexp_replace(raw, r"\+", "%2B")), r"\+", "%2B"))
    return found


def check_types(frames: Sequence[DataFrame], declared: Sequence[str]) -> None:
    """Refuse what the process refuses too: a column whose types have nothing in common, or would be rounded."""
    seen: dict[str, DataType] = {}
    for name, type_ in (pair for frame in frames for pair in frame_types(frame).items()):
        other = seen.setdefault(name, type_)
        rounded = name not in declared and {"decimal", "double"} == {other.name, type_.name}
        rounded = rounded and max(other.digits, type_.digits) > 15
        if other != type_ and (rounded or not (other.is_number and type_.is_number)):
            message = f"the files have columns of different types: {name!r} is {other} and {type_}"
            raise InvalidRequest(message, hint="import them one by one, or give the types")


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of all frames, with nulls for missing columns."""
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _refuse_names(files: Sequence[DataFile]) -> None:
    """Refuse names with a special meaning to Hadoop, which would read other files, or none."""
    for file in files:
        hidden = os.path.basename(file.path).startswith(("_", "."))
        if hidden or any(ch in _HADOOP for ch in os.path.abspath(file.path)):
            hint = "rename it, or read it in the process (engine duck)"
            raise InvalidRequest(f"Spark can't read a file named {file.path!r}", hint=hint, file=file.path)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
