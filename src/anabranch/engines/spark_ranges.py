"""Tells whether a DataFrame's rows are partitioned by key already, so that no shuffle is needed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from anabranch.engines.engine import InPlace
from anabranch.engines.spark import frame_types
from anabranch.engines.spark_errors import FAILURES, translate
from anabranch.engines.spark_sessions import functions_of
from anabranch.engines.spark_sizes import reads_only

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COMPARED_ALIKE = {"date", "decimal", "string"}
"""Types besides integers whose values Python orders as Spark does."""


def in_place(frame: DataFrame, cluster: Sequence[str]) -> InPlace | None:
    """Tell whether rows may stay in their partitions, from each partition's key range, if that is cheap to read.

    This is a guess: check what was written.
    """
    first = frame_types(frame)[cluster[0]]
    if not (first.is_integer or first.name in _COMPARED_ALIKE) or not reads_only(frame):
        return None
    try:
        found = sorted(end for end in map(tuple, _ends(frame, cluster[0]).collect()) if None not in end)
    except FAILURES as error:
        raise translate(error) from error
    # Rows that share the first column may be in any order by the others.
    if any(high > low or (high == low and len(cluster) > 1) for (_, high, *_), (low, *_) in pairwise(found)):
        return None
    return InPlace.SORTED if all((low, high) == (head, tail) for low, high, head, tail in found) else InPlace.UNSORTED


def _ends(frame: DataFrame, name: str) -> DataFrame:
    """The least, greatest, first and last value of a column in each partition."""
    functions = functions_of(frame.sparkSession)
    key, number = functions.col(f"`{name}`"), functions.spark_partition_id()
    ends = [functions.min(key), functions.max(key), functions.first(key), functions.last(key)]
    return frame.groupBy(number.alias("number")).agg(*ends).drop("number")
