"""Values of users' expressions for columns: which types fit, and a cast that both engines do alike."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from anabranch.arrow.fitting import DoesNotFit
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.frames.input import one_value
from anabranch.model.schema import Column, Schema
from anabranch.model.types import FLOATS, DataType, misfit
from anabranch.proven.expression import Expression, Unproven
from anabranch.proven.table.types import assignable
from anabranch.queries.initial_values import written_out
from anabranch.queries.nested import fitted
from anabranch.queries.query import cast_to


def refuse_type(column: Column, source: DataType | None, what: str) -> None:
    """Refuse a value whose type the column can't store."""
    problem = misfit(source, column.type) if source is not None else None
    if problem:
        inside = "" if problem.startswith(f"{column.type}, {source}") else f": it is {problem}"
        message = f"{what}: column {column.name!r} is {column.type}, the value is {source}{inside}"
        raise InvalidRequest(message, hint="cast it in the expression", column=column.name)


def unproven_cast(value: Expression, schema: Schema, column: Column, what: str) -> str | None:
    """Name what only Spark can do to give a column this value; refuse what no engine can."""
    try:
        source = value.for_duck(schema)[1]
    except Unproven as problem:
        return str(problem)
    refuse_type(column, source, what)
    return None if assignable(source, column.type) else f"a cast from {source} to {column.type}"


def cast_for(value: Any, source: DataType | None, column: Column, engine: Engine) -> Any:
    """Cast a value, in the engine's form, to its column's type."""
    if engine.in_process and source is not None and source.name == "decimal" and column.type.name in FLOATS:
        value = cast_to(value, DataType("string"))  # as proven: in a direct cast the last digit may differ from Spark's
    return fitted(value, source, column.type)


def is_written_out(value: Any, column: Column) -> bool:
    """Whether a Python value is passed as literals of the column's type, because engines have no such parameter."""
    return (
        column.type.is_nested or column.type.is_interval or (column.type.name == "float" and isinstance(value, float))
    )


def literals_for(value: Any, column: Column, what: str) -> Any:
    """A Python value as literals of a column's type; it must fit as in a new row."""
    try:
        (found,) = one_value(value, column).to_pylist()
    except DoesNotFit as error:
        hint = "give a value of the column's type"
        raise InvalidRequest(f"{what}: {error}", hint=hint, column=column.name) from error
    return written_out(found, column.type)


def constant_for(value: Any, column: Column) -> Any:
    """Read a Python float for a decimal column as the number it prints as."""
    return Decimal(repr(value)) if isinstance(value, float) and column.type.name == "decimal" else value
