"""Runs a function over the shards of a job on Spark's executors: one action, one task per shard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from anabranch.engines.spark_code import check_executors
from anabranch.engines.spark_sessions import functions_of

_RESULT = "shard bigint, manifest string"
_SAMPLED_ROWS = 100_000
"""About so many values are looked at for the bounds of ranges."""


def run_on_executors(
    session: SparkSession,
    run: Callable[[Any, Sequence[int], Iterable[Any]], Iterator[Any]],
    task: Any,
    numbers: Sequence[int],
    modules: Sequence[Any],
) -> list[dict[str, Any]]:
    """Run shards and return their manifests. `modules` are sent along, so that executors needn't have them."""
    check_executors(session)
    send_by_value(modules)
    places = session.range(0, len(numbers), 1, len(numbers))
    found = places.mapInArrow(partial(run, task, tuple(numbers)), _RESULT).toArrow()
    return [json.loads(text) for text in found.column("manifest").to_pylist()]


def send_by_value(modules: Sequence[Any]) -> None:
    """Pickle functions of these modules together with the modules, which executors don't have."""
    from pyspark import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def is_failure_of_spark(error: BaseException) -> bool:
    """Tell whether an error is the failure of a Spark job."""
    from py4j.protocol import Py4JJavaError

    return isinstance(error, PySparkException | Py4JJavaError)


def hashed_shard(frame: Any, columns: Sequence[str], shards: int) -> Any:
    """A row's shard, by a checksum of its values' text: Spark's own hash differs between versions."""
    f = functions_of(frame.sparkSession)
    text = f.concat_ws("\x1f", *(f.coalesce(f.col(_quoted(c)).cast("string"), f.lit("\x1e")) for c in columns))
    return f.pmod(f.crc32(text.cast("binary")), f.lit(shards)).cast("int")


def ranged_shard(frame: Any, column: str, shards: int) -> Any:
    """A row's shard, by the range that its value is in: neighbours stay together."""
    from anabranch.plan.shards import range_bounds

    f = functions_of(frame.sparkSession)
    found = frame.select(f.col(_quoted(column)).alias("v")).where("v IS NOT NULL")
    count = found.count()
    if count > _SAMPLED_ROWS:  # of all parts alike: the first rows of sorted ones would be the lowest
        found = found.sample(fraction=_SAMPLED_ROWS / count, seed=0)
    bounds = range_bounds([r["v"] for r in found.collect()], shards)
    number = f.lit(0)
    for bound in bounds:
        number = number + f.when(f.col(_quoted(column)) >= f.lit(bound), 1).otherwise(0)
    return number.cast("int")


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
