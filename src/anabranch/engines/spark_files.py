"""Runs a function over files on Spark's executors, where the files are: one job, and only its answers come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from anabranch.engines.spark_sessions import as_pattern
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
