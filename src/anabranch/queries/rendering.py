"""Queries as text for each engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects import DuckDB, Spark
from sqlglot.generator import Generator

from anabranch.errors import InvalidRequest
from anabranch.model.texts import FLATTER
from anabranch.model.types import DataType
from anabranch.queries.duck_text import DuckText, with_arguments
from anabranch.queries.nested import BY_LIST, fitted, from_memory, to_memory
from anabranch.queries.query import TURN, Files, Query, col, ident, sql_type


class _Duck(DuckDB.Generator):  # type: ignore[misc]
    """DuckDB's text for our plans."""

    # DuckDB's own arg_max and arg_min skip nulls; the last or first value of a cell may be null.
    TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
        **DuckDB.Generator.TRANSFORMS,
        exp.ArgMax: lambda self, e: self.last_by_list(e) if e.meta.get(BY_LIST) else self.last_by_turn(e),
        exp.ArgMin: lambda self, e: self.func("arg_min_null", e.this, e.expression),
        DuckText: lambda self, e: with_arguments(e, self.sql),
        exp.Hint: lambda *_: "",
    }

    def last_by_turn(self, e: exp.ArgMax) -> str:
        return str(self.func("arg_max_null", e.this, e.expression))

    def last_by_list(self, e: exp.ArgMax) -> str:
        return f"(list({self.sql(e.this)} ORDER BY {self.sql(e.expression)} NULLS FIRST))[-1]"


_DUCK = DuckDB()


def duck_sql(query: Query, places: Mapping[str, str] = MappingProxyType({})) -> str:
    """Render for DuckDB: files are read by a function, rows by their registered name.

    `places` maps addresses to where the files are instead.
    """
    sql = _written(_Duck(dialect=_DUCK), query.expression)
    for name, source in query.sources.items():
        if isinstance(source, Files):
            sql = sql.replace(f'"{name}"', _duck_files(source, places))
    return sql


def _written(how: Generator, expression: exp.Expr) -> str:
    """Render an expression; refuse one that is too deep for Python's stack."""
    try:
        return str(how.generate(expression, copy=False))
    except RecursionError:
        raise InvalidRequest("it has too many parts inside each other", hint=FLATTER) from None


def _duck_files(files: Files, places: Mapping[str, str]) -> str:
    paths = ", ".join(duck_text(places.get(uri, uri)) for uri in files.uris)
    if not files.turns:
        return f"read_parquet([{paths}])"
    names = [f'"{name}"' for name, _ in files.columns]
    # One reader for all files: a union of readers would cost as much as looking up a few keys.
    turns = " ".join(f"WHEN {n} THEN {turn}" for n, turn in enumerate(files.turns))
    names.append(f'CASE file_index {turns} END AS "{TURN}"')
    return f"(SELECT {', '.join(names)} FROM read_parquet([{paths}]))"


def duck_text(value: str) -> str:
    """A string as DuckDB reads it."""
    return exp.Literal.string(value).sql(dialect="duckdb")


class _Spark(Spark.Generator):  # type: ignore[misc]
    """Spark's text for our plans."""

    def literal_sql(self, expression: exp.Literal) -> str:
        """Escape texts so that Spark does not substitute ${env:HOME} inside them."""
        text = str(super().literal_sql(expression))
        return text.replace("${", "\\u0024{") if expression.is_string else text


_SPARK = Spark()


def _spark(expression: exp.Expr) -> str:
    return _written(_Spark(dialect=_SPARK), expression)


def spark_sql(query: Query) -> str:
    """Render for Spark, which binds sources in braces to DataFrames; if there are any, other braces are doubled."""
    text = _spark(query.expression)
    if not query.sources:
        return text
    text = text.replace("{", "{{").replace("}", "}}")
    for name in query.sources:
        text = text.replace(f"`{name}`", f"{{{name}}}")
    return text


def spark_schema(columns: Sequence[tuple[str, DataType]]) -> str:
    """Columns as Spark's DDL, with every name in backticks."""
    fields = [exp.ColumnDef(this=ident(name), kind=sql_type(type_)) for name, type_ in columns]
    return ", ".join(map(_spark, fields))


def spark_to_memory(name: str, type_: DataType) -> str:
    """A column in the form in which rows in memory hold it."""
    return _spark(to_memory(col(name), type_))


def spark_from_memory(name: str, type_: DataType) -> str:
    """A column of a type, from the form in which rows in memory hold it."""
    return _spark(from_memory(col(name), type_))


def spark_fitted(name: str, source: DataType, target: DataType) -> str:
    """A column cast to a type, with the fields of structs by name."""
    return _spark(fitted(col(name), source, target))
