"""Versioned files as Spark DataFrames, read by our code on executors or by Spark's own readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from anabranch.engines import file_reading
from anabranch.engines.spark_sessions import functions_of
from anabranch.engines.spark_shards import send_by_value

_SCHEMAS = {"content": file_reading.CONTENT, "lines": file_reading.LINES, "blocks": file_reading.BLOCKS}


def files_frame(session: SparkSession, tasks: Sequence[bytes], form: str) -> DataFrame:
    """Files that executors read, one partition per task."""
    send_by_value([file_reading])
    numbers = session.range(0, len(tasks), 1, max(len(tasks), 1))
    return numbers.mapInArrow(partial(file_reading.run_tasks, tuple(tasks), form), _SCHEMAS[form])


def text_frame(session: SparkSession, places: Mapping[str, Sequence[str]], options: Mapping[str, str]) -> DataFrame:
    """Lines of files that are whole objects, read by Spark itself; `places` maps addresses to paths."""
    f = functions_of(session)
    frame = (
        session.read.options(**options)
        .text(list(places))
        .select(f.col("_metadata.file_name").alias("file"), f.col("value"))
    )
    pairs = [(address.rpartition("/")[2], path) for address, paths in places.items() for path in paths]
    columns = [pa.array(values, pa.string()) for values in zip(*pairs, strict=True)]
    named = session.createDataFrame(pa.table(columns, names=["file", "path"]))
    return frame.join(f.broadcast(named), "file").select("path", f.col("value").alias("line"))
