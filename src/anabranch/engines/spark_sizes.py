"""What Spark expects of a DataFrame before running it: whether its first rows may be all, and cheap to fetch."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from anabranch.engines.engine import InPlace
from anabranch.engines.spark import frame_types
from anabranch.engines.spark_errors import translated
from anabranch.engines.spark_sessions import functions_of
from anabranch.settings import DOOR_INPUT_LIMIT_BYTES, DOOR_LIMIT_BYTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_NODE = re.compile(r"^[\s:|+-]*(\w+)")
_SIZE = re.compile(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) (\w+)")
_PARQUET = re.compile(r"Relation \[(.*)\] parquet")
_UNITS = {unit: 1024**n for n, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))}
_PLAIN = {"Project", "Relation", "SubqueryAlias"}
"""Plan steps that keep every row, so Spark's size estimate is right."""
_READS = _PLAIN | {"Filter", "InMemoryRelation", "LocalRelation", "Range"}
"""Plan steps that neither move rows nor run Python code."""
_SHUFFLE = re.compile(r"^[\s:|+-]*Exchange\b", re.MULTILINE)


def may_be_few_rows(frame: DataFrame) -> bool:
    """Whether to fetch the first rows of a DataFrame, in the hope that they are all.

    That is cheap without a shuffle, since each task stops early; with one, if little is read.
    """
    lines, physical = _plans(frame)
    if not lines:
        return False
    if _is_small(lines):
        return True
    if _SHUFFLE.search(physical):
        return sum(_size(line) for line in _leaves(lines)) <= DOOR_INPUT_LIMIT_BYTES
    return not {_node(line) for line in lines} <= _PLAIN


def is_small(frame: DataFrame) -> bool:
    """Whether Spark expects a DataFrame to be so small that one file holds its rows."""
    return _is_small(_plans(frame)[0])


def _is_small(lines: list[str]) -> bool:
    return bool(lines) and _size(lines[0]) <= DOOR_LIMIT_BYTES


def reads_only(frame: DataFrame) -> bool:
    """Whether a DataFrame only reads: then a few of its columns are cheap, and keep their order."""
    lines, _ = _plans(frame)
    return bool(lines) and {_node(line) for line in lines} <= _READS


def _plans(frame: DataFrame) -> tuple[list[str], str]:
    """The steps of the logical plan, and the physical plan."""
    logical, _, physical = _cost_plan(frame).partition("== Physical Plan ==")
    return [line for line in logical.splitlines() if "Statistics(" in line], physical


def _cost_plan(frame: DataFrame) -> str:
    """The plan with Spark's estimates, which classic sessions and Connect print alike."""
    printed = io.StringIO()
    with translated(), redirect_stdout(printed):
        frame.explain("cost")
    return printed.getvalue()


def _leaves(lines: list[str]) -> list[str]:
    """The lines of a plan without children."""
    depths = [_depth(line) for line in lines] + [-1]
    return [line for n, line in enumerate(lines) if depths[n + 1] <= depths[n]]


def _depth(line: str) -> int:
    found = _NODE.match(line)
    return found.start(1) if found else 0


def _node(line: str) -> str:
    found = _NODE.match(line)
    return found[1] if found else ""


def _size(line: str) -> float:
    found = _SIZE.search(line)
    return float(found[1]) * _UNITS.get(found[2], float("inf")) if found else float("inf")


_COMPARED_ALIKE = {"date", "decimal", "string"}
"""Types besides integers whose values Python orders as Spark does."""


def in_place(frame: DataFrame, cluster: Sequence[str]) -> InPlace | None:
    """Tell whether rows may stay in their partitions, from each partition's key range, if that is cheap to read.

    This is a guess: check what was written.
    """
    first = frame_types(frame)[cluster[0]]
    if not (first.is_integer or first.name in _COMPARED_ALIKE) or not reads_only(frame):
        return None
    with translated():
        told = _ends_in_file(frame, cluster[0]) if len(cluster) == 1 else None
        ends = told or list(map(tuple, _ends(frame, cluster[0]).collect()))
    found = sorted(end for end in ends if None not in end)
    # Rows that share the first column may be in any order by the others.
    if any(high > low or (high == low and len(cluster) > 1) for (_, high, *_), (low, *_) in pairwise(found)):
        return None
    return InPlace.SORTED if all((low, high) == (head, tail) for low, high, head, tail in found) else InPlace.UNSORTED


def _ends_in_file(frame: DataFrame, name: str) -> list[tuple[Any, ...]] | None:
    """The ends of a column in each row group of a Parquet file, if that is all that is read and this process sees it.

    First and last values are guessed: by whether the file's first keys ascend.
    """
    column = _column_of_parquet(frame, name)
    files = frame.inputFiles() if column else []
    path = unquote(urlsplit(files[0]).path) if len(files) == 1 and files[0].startswith("file:") else ""
    if column is None or not os.path.isfile(path):
        return None
    try:
        with parquet.ParquetFile(path) as file:
            (place,) = (n for n in range(len(file.schema)) if file.schema.column(n).path == column)
            groups = [file.metadata.row_group(n) for n in range(file.num_row_groups)]
            known = [group.column(place).statistics for group in groups]
            if not known or not all(s is not None and s.has_min_max for s in known):
                return None
            keys = next(file.iter_batches(columns=[column])).column(0)
    except (pa.ArrowException, OSError, ValueError):
        return None
    ascend = pc.all(pc.less_equal(keys[:-1], keys[1:])).as_py()
    return [(s.min, s.max, s.min, s.max) if ascend else (s.min, s.max, s.max, s.min) for s in known]


def _column_of_parquet(frame: DataFrame, name: str) -> str | None:
    """The column of Parquet files that a column of a DataFrame shows as it is, if it only reads such files."""
    lines, _ = _plans(frame)
    relation = _PARQUET.search(lines[1]) if [_node(line) for line in lines] == ["Project", "Relation"] else None
    shown = re.search(rf"[\[ ]\w+#(\w+) AS {re.escape(name)}#", lines[0]) if relation else None
    if relation is None or shown is None:
        return None
    numbered = (column.rpartition("#") for column in relation[1].split(","))
    return {number: column for column, _, number in numbered}.get(shown[1])


def _ends(frame: DataFrame, name: str) -> DataFrame:
    """The least, greatest, first and last value of a column in each partition."""
    functions = functions_of(frame.sparkSession)
    key, number = functions.col(f"`{name}`"), functions.spark_partition_id()
    ends = [functions.min(key), functions.max(key), functions.first(key), functions.last(key)]
    return frame.groupBy(number.alias("number")).agg(*ends).drop("number")
