"""Files on Spark's executors, where they are: a function runs over them in one job, and only its answers come back;
versioned files are DataFrames, read there by our code or by Spark's own readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from anabranch.engines import file_reading
from anabranch.engines.spark_sessions import as_pattern, functions_of
from anabranch.engines.spark_shards import send_by_value
from anabranch.settings import FILES_PARTITIONS

EXECUTOR_FAILURES = (PySparkException, Py4JJavaError)
"""Raised if a session can't run our function: no Python or pyarrow on the executors, other disks."""

ExecutorFunction = Callable[[Sequence[str], Iterable[Any]], Iterator[Any]]
"""Takes names and batches of Arrow; yields batches of positions among the names, and bytes."""
_RESULT = "place bigint, answer binary"


def files_on_executors(
    session: SparkSession,
    uris: Sequence[str],
    by_path: ExecutorFunction,
    by_content: ExecutorFunction,
    modules: Sequence[Any],
    options: Mapping[str, str] = MappingProxyType({}),
) -> list[bytes]:
    """Call a function on each file; returns the answers in the order of the addresses.

    Executors open files on a disk themselves and get their positions. From any other root Spark reads the files, with
    whatever credentials it has, and paths and bytes come in. `modules` are sent along, `options` locate the root.
    """
    send_by_value(modules)
    if all(uri.startswith("/") for uri in uris):
        places = session.range(0, len(uris), 1, min(len(uris), FILES_PARTITIONS))
        frame = places.mapInArrow(partial(by_path, tuple(uris)), _RESULT)
    else:
        names = tuple(uri.rpartition("/")[2] for uri in uris)
        reader = session.read.format("binaryFile").options(**options)
        frame = (
            reader.load([as_pattern(uri) for uri in uris])
            .select("path", "content")
            .mapInArrow(partial(by_content, names), _RESULT)
        )
    found = frame.toArrow()
    described = dict(zip(found.column("place").to_pylist(), found.column("answer").to_pylist(), strict=True))
    return [described[place] for place in range(len(uris))]


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
