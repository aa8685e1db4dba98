"""Versioned files as Spark DataFrames, read by our code on executors or by Spark's own readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from anabranch.engines import file_reading
from anabranch.engines.spark_sessions import functions_of
from anabranch.engines.spark_shards import send_by_value

_SCHEMAS = {"content": file_reading.CONTENT, "lines": file_reading.LINES, "blocks": file_reading.BLOCKS}
_NAMES_AT_ONCE = 64
"""Spark looks a name up by going through all of them."""


def files_frame(session: SparkSession, tasks: Sequence[bytes], form: str) -> DataFrame:
    """Files that executors read, one partition per task."""
    send_by_value([file_reading])
    numbers = session.range(0, len(tasks), 1, max(len(tasks), 1))
    return numbers.mapInArrow(partial(file_reading.run_tasks, tuple(tasks), form), _SCHEMAS[form])


def text_frames(
    session: SparkSession, read: Callable[[Sequence[str]], DataFrame], paths: Mapping[str, Sequence[str]]
) -> list[DataFrame]:
    """Lines of objects that Spark's own reader takes, as path and line; `paths` are those of each address."""
    rounds = range(max(map(len, paths.values())))
    named = [[(address, found[n]) for address, found in paths.items() if n < len(found)] for n in rounds]
    parts = [dict(part) for pairs in named for part in _parts(pairs)]
    return [_text_frame(functions_of(session), read(list(part)), part) for part in parts]


def _text_frame(f: Any, lines: DataFrame, paths: Mapping[str, str]) -> DataFrame:
    """Not `_metadata`, which Spark makes for each row even where nobody asks for the path."""
    names = f.create_map(*(f.lit(text) for a, path in paths.items() for text in (a.rpartition("/")[2], path)))
    path = names[f.substring_index(f.input_file_name(), "/", -1)]
    refused = f.raise_error(f.concat(f.lit("no UTF-8, so it has no lines: "), path))
    line = f.when(f.is_valid_utf8("value"), f.col("value")).otherwise(refused)
    return lines.select(path.alias("path"), line.alias("line"))


def _parts(pairs: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    return (pairs[n : n + _NAMES_AT_ONCE] for n in range(0, len(pairs), _NAMES_AT_ONCE))
