"""A query: an expression, the sources it names and its arguments. Engines bind the sources and run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from anabranch.model.types import DataType


@dataclass(frozen=True)
class Files:
    """Parquet files that were written under one schema."""

    uris: tuple[str, ...]
    columns: tuple[tuple[str, DataType], ...]
    """The physical name and type of each column that the query may read."""


@dataclass(frozen=True)
class Rows:
    """Rows in memory."""

    table: pa.Table


@dataclass(frozen=True)
class Frame:
    """A DataFrame of the engine's own."""

    frame: Any


Source = Files | Rows | Frame


@dataclass(frozen=True)
class Query:
    """Relational work for an engine."""

    expression: exp.Select | exp.Union
    sources: Mapping[str, Source]
    args: Mapping[str, Any] = field(default_factory=dict)

    def over(self, expression: exp.Select | exp.Union) -> Query:
        """The same sources and arguments under another expression."""
        return Query(expression, self.sources, self.args)


class Sources:
    """Collects the sources of a query and gives each a name."""

    def __init__(self) -> None:
        self.named: dict[str, Source] = {}

    def add(self, source: Source) -> str:
        name = f"ana_source_{len(self.named)}"
        self.named[name] = source
        return name


def ident(name: str) -> exp.Identifier:
    """A quoted name, whatever is in it."""
    return exp.to_identifier(name, quoted=True)


def col(name: str, table: str | None = None) -> exp.Column:
    """A column by its exact name."""
    return exp.Column(this=ident(name), table=ident(table) if table else None)


def table(name: str, alias: str | None = None) -> exp.Table:
    """A source by its name."""
    return exp.Table(this=ident(name), alias=exp.TableAlias(this=ident(alias)) if alias else None)


def aliased(expression: exp.Expression, name: str) -> exp.Alias:
    """An expression under a quoted name."""
    return exp.Alias(this=expression, alias=ident(name))


def subquery(query: exp.Select | exp.Union, alias: str) -> exp.Subquery:
    """A query to select from."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=ident(alias)))


def cast_to(expression: exp.Expression, type_: DataType) -> exp.Cast:
    """A cast that fails where the value does not fit, on both engines."""
    return exp.Cast(this=expression, to=sql_type(type_))


def sql_type(type_: DataType) -> exp.DataType:
    """A Spark type as an expression."""
    return exp.DataType.build(str(type_), dialect="spark")


def null_of(type_: DataType) -> exp.Cast:
    """A typed null."""
    return cast_to(exp.Null(), type_)


def number(value: int) -> exp.Expression:
    """A small whole number."""
    return exp.Literal.number(value)


def distinct_from(one: exp.Expression, other: exp.Expression) -> exp.NullSafeNEQ:
    """Whether two values differ, nulls and NaN being equal to themselves."""
    return exp.NullSafeNEQ(this=one, expression=other)


def any_of(conditions: Sequence[exp.Expression]) -> exp.Condition:
    """Whether one of the conditions holds."""
    return exp.or_(*conditions) if conditions else exp.false()


def all_of(conditions: Sequence[exp.Expression]) -> exp.Condition:
    """Whether all of the conditions hold."""
    return exp.and_(*conditions) if conditions else exp.true()


def same_key(key: Sequence[str], one: str, other: str) -> exp.Condition:
    """The join condition of two relations over the key."""
    return all_of([exp.EQ(this=col(k, one), expression=col(k, other)) for k in key])


def union_all(parts: Sequence[exp.Select]) -> exp.Select | exp.Union:
    """All rows of all parts."""
    joined: exp.Select | exp.Union = parts[0]
    for part in parts[1:]:
        joined = exp.Union(this=joined, expression=part, distinct=False)
    return joined


def reading_of(source: Source, columns: Sequence[str]) -> Query:
    """Columns of one source."""
    sources = Sources()
    name = sources.add(source)
    return Query(exp.select(*(col(c, "o") for c in columns)).from_(table(name, "o")), sources.named)


def limited(query: Query, rows: int) -> Query:
    """The first rows of a query, in any order."""
    return query.over(exp.select(exp.Star()).from_(subquery(query.expression, "l")).limit(rows))
