"""What Spark expects of a DataFrame before it runs: whether its first rows may be all, and cost little to ask for."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from anabranch.engines.spark_errors import FAILURES, translate
from anabranch.settings import DOOR_INPUT_LIMIT_BYTES, DOOR_LIMIT_BYTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NODE = re.compile(r"^[\s:|+-]*(\w+)")
_SIZE = re.compile(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) (\w+)")
_UNITS = {unit: 1024**n for n, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))}
_PLAIN = {"Project", "Relation", "SubqueryAlias"}
"""Steps of a plan that leave no row out: what Spark knows of their size is so."""
_READS = _PLAIN | {"Filter", "InMemoryRelation", "LocalRelation", "Range"}
"""Steps that neither move rows nor run anybody's Python."""
_SHUFFLE = re.compile(r"^[\s:|+-]*Exchange\b", re.MULTILINE)


def may_be_few_rows(frame: DataFrame) -> bool:
    """Whether to ask for the first rows of a DataFrame, in the hope that they are all.

    That costs little where nothing is shuffled, since each task stops early; else if what is read is little.
    """
    lines, physical = _plans(frame)
    if not lines:
        return False
    if _size(lines[0]) <= DOOR_LIMIT_BYTES:
        return True
    if _SHUFFLE.search(physical):
        return sum(_size(line) for line in _leaves(lines)) <= DOOR_INPUT_LIMIT_BYTES
    return not {_node(line) for line in lines} <= _PLAIN


def reads_only(frame: DataFrame) -> bool:
    """Whether a DataFrame does no more than read: then a few of its columns cost little, and come in the same order."""
    lines, _ = _plans(frame)
    return bool(lines) and {_node(line) for line in lines} <= _READS


def _plans(frame: DataFrame) -> tuple[list[str], str]:
    """The steps of the logical plan, and the physical plan."""
    logical, _, physical = _cost_plan(frame).partition("== Physical Plan ==")
    return [line for line in logical.splitlines() if "Statistics(" in line], physical


def _cost_plan(frame: DataFrame) -> str:
    """The plan with Spark's estimates, which classic sessions and Connect print alike."""
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            frame.explain("cost")
    except FAILURES as error:
        raise translate(error) from error
    return printed.getvalue()


def _leaves(lines: list[str]) -> list[str]:
    """The lines of a plan that have none below them."""
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
