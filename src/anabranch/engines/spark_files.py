"""Run a function over files on Spark's executors, where they lie: one job, and only what it tells comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from anabranch.engines.spark_shards import send_by_value
from anabranch.settings import FILES_PARTITIONS

EXECUTOR_FAILURES = (PySparkException, Py4JJavaError)
"""What a session raises that can't run our function: no Python or no pyarrow on the executors, other disks."""

ExecutorFunction = Callable[[Sequence[str], Iterable[Any]], Iterator[Any]]
"""Takes names and batches of Arrow, gives batches of places among the names and bytes."""
_RESULT = "place bigint, answer binary"


def files_on_executors(
    session: SparkSession,
    uris: Sequence[str],
    by_path: ExecutorFunction,
    by_content: ExecutorFunction,
    modules: Sequence[Any],
    options: Mapping[str, str] = MappingProxyType({}),
) -> list[bytes]:
    """Tell something of each file; the order is that of the addresses.

    Executors open files of a disk by themselves, at the places that come in. Of any other kind of root Spark reads
    them for us, with whatever credentials it has: paths and bytes come in. `modules` are sent along,
    `options` say where the root is.
    """
    send_by_value(modules)
    if all(uri.startswith("/") for uri in uris):
        places = session.range(0, len(uris), 1, min(len(uris), FILES_PARTITIONS))
        frame = places.mapInArrow(partial(by_path, tuple(uris)), _RESULT)
    else:
        names = tuple(uri.rpartition("/")[2] for uri in uris)
        reader = session.read.format("binaryFile").options(__globPaths__="false", **options)
        frame = reader.load(list(uris)).select("path", "content").mapInArrow(partial(by_content, names), _RESULT)
    found = frame.toArrow()
    described = dict(zip(found.column("place").to_pylist(), found.column("answer").to_pylist(), strict=True))
    return [described[place] for place in range(len(uris))]
