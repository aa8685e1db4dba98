"""Functions that DuckDB lacks or computes differently from Spark, over Arrow: Java's operations in Java's order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import sqltypes
from duckdb.func import FunctionNullHandling, PythonUDFType

from anabranch.engines import java_math


def register(database: duckdb.DuckDBPyConnection) -> None:
    """Register the functions with a database."""
    listed = duckdb.list_type(sqltypes.DOUBLE)
    for name, (finish, root) in _SPREADS.items():
        _add(database, name, _over_lists(finish, root), [listed])
    for name, function in java_math.FUNCTIONS.items():
        _add(database, name, _of_one(function), [sqltypes.DOUBLE])
    _add(database, "spark_pow", _of_two(java_math.power), [sqltypes.DOUBLE] * 2)


def _add(database: duckdb.DuckDBPyConnection, name: str, function: Any, takes: list[Any]) -> None:
    kind, nulls = PythonUDFType.ARROW, FunctionNullHandling.SPECIAL
    database.create_function(name, function, takes, sqltypes.DOUBLE, type=kind, null_handling=nulls)


def _of_one(function: Callable[..., Any]) -> Callable[[pa.ChunkedArray], pa.Array]:
    return lambda column: _run(function, column)


def _of_two(function: Callable[..., Any]) -> Callable[[pa.ChunkedArray, pa.ChunkedArray], pa.Array]:
    return lambda one, other: _run(function, one, other)


def _run(function: Callable[..., Any], *columns: pa.ChunkedArray) -> pa.Array:
    """Run a function of NumPy arrays on Arrow columns; null where any argument is."""
    known = columns[0].is_valid()
    for column in columns[1:]:
        known = pc.and_(known, column.is_valid())
    found = function(*(pc.fill_null(c, 1.0).to_numpy() for c in columns))
    return pa.array(found, mask=~known.to_numpy())


def _over_lists(finish: Callable[[int, float], float | None], root: bool) -> Callable[..., pa.Array]:
    def run(lists: pa.ChunkedArray) -> pa.Array:
        return pa.array([_spread(values, finish, root) for values in lists.to_pylist()], pa.float64())

    return run


def _spread(
    values: Iterable[float | None] | None, finish: Callable[[int, float], float | None], root: bool
) -> float | None:
    """The spread of values, accumulated one by one as Spark does."""
    count, mean, squares = 0, 0.0, 0.0
    for value in values or ():
        if value is not None:
            count += 1
            delta = value - mean
            step = delta / count
            mean += step
            squares += delta * (delta - step)
    found = finish(count, squares) if count else None
    return math.sqrt(found) if root and found is not None and found >= 0 else found


def _population(count: int, squares: float) -> float | None:
    return squares / count


def _sample(count: int, squares: float) -> float | None:
    return squares / (count - 1) if count > 1 else None


_SPREADS: dict[str, tuple[Callable[[int, float], float | None], bool]] = {
    "spark_stddev_samp": (_sample, True),
    "spark_stddev_pop": (_population, True),
    "spark_var_samp": (_sample, False),
    "spark_var_pop": (_population, False),
}
