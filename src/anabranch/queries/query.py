"""A query: an expression, the sources it names and its arguments. Engines bind the sources and run it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa
from sqlglot import exp

from anabranch.model.types import DataType

TURN = "_ana_turn"
OP = "_ana_op"
"""The column that says what happened to a key."""
INSERT, UPDATE, DELETE, SAME = "I", "U", "D", "="


@dataclass(frozen=True)
class Files:
    """Parquet files that were written under one schema."""

    uris: tuple[str, ...]
    columns: tuple[tuple[str, DataType], ...]
    """The physical name and type of each column that the query may read."""
    turns: tuple[int, ...] = ()
    """The turn of each file, if they differ: then there is one more column, TURN."""
    size_bytes: int = 0
    """Their size, if they are temporary."""


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


TOKEN = secrets.token_hex(4)
"""Part of the names of sources, so that no user's text holds one by accident."""


class Sources:
    """Collects the sources of a query and gives each a name."""

    def __init__(self) -> None:
        self.named: dict[str, Source] = {}

    def add(self, source: Source) -> str:
        """Name a source; one that was added before keeps its name."""
        for name, known in self.named.items():
            if known is source:
                return name
        name = f"_ana_{TOKEN}_{len(self.named)}"
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


def aliased(expression: exp.Expr, name: str) -> exp.Alias:
    """An expression under a quoted name."""
    return exp.Alias(this=expression, alias=ident(name))


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    """A query to select from."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=ident(alias)))


def cast_to(expression: exp.Expr, type_: DataType) -> exp.Cast:
    """A cast that fails where the value does not fit, on both engines."""
    return exp.Cast(this=expression, to=sql_type(type_))


_SQL_TYPES = {
    "string": exp.DType.TEXT,
    "timestamp": exp.DType.TIMESTAMPTZ,
    "timestamp_ntz": exp.DType.TIMESTAMPNTZ,
}


def sql_type(type_: DataType) -> exp.DataType:
    """A Spark type as an expression."""
    if type_.name == "decimal":
        sizes = [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (type_.precision, type_.scale)]
        return exp.DataType(this=exp.DType.DECIMAL, expressions=sizes, nested=False)
    if type_.is_interval:
        return exp.DataType(this=exp.DType.USERDEFINED, kind=type_.name)
    if type_.name == "struct":
        fields = [exp.ColumnDef(this=ident(f.name), kind=sql_type(f.type)) for f in type_.fields]
        return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)
    if type_.is_nested:
        parts = [sql_type(part) for part in type_.parts]
        return exp.DataType(this=exp.DType[type_.name.upper()], expressions=parts, nested=True)
    return exp.DataType(this=_SQL_TYPES.get(type_.name) or exp.DType[type_.name.upper()], nested=False)


def null_of(type_: DataType) -> exp.Cast:
    """A typed null."""
    return cast_to(exp.Null(), type_)


def number(value: int) -> exp.Expr:
    """A small whole number."""
    return exp.Literal.number(value)


def text(value: str) -> exp.Literal:
    """A string."""
    return exp.Literal.string(value)


def is_null(expression: exp.Expr) -> exp.Is:
    """Whether a value is null."""
    return exp.Is(this=expression, expression=exp.Null())


def distinct_from(one: exp.Expr, other: exp.Expr) -> exp.NullSafeNEQ:
    """Whether two values differ, nulls and NaN being equal to themselves."""
    return exp.NullSafeNEQ(this=one, expression=other)


def not_distinct(one: exp.Expr, other: exp.Expr) -> exp.NullSafeEQ:
    """Whether two values are equal, nulls and NaN being equal to themselves."""
    return exp.NullSafeEQ(this=one, expression=other)


def any_of(conditions: Sequence[exp.Expr]) -> exp.Condition:
    """Whether one of the conditions holds."""
    return exp.or_(*conditions, copy=False) if conditions else exp.false()


def all_of(conditions: Sequence[exp.Expr]) -> exp.Condition:
    """Whether all of the conditions hold."""
    return exp.and_(*conditions, copy=False) if conditions else exp.true()


def same_key(key: Sequence[str], one: str, other: str) -> exp.Condition:
    """The join condition of two relations over the key."""
    return all_of([exp.EQ(this=col(k, one), expression=col(k, other)) for k in key])


def choose(*cases: tuple[exp.Expr, exp.Expr], otherwise: exp.Expr) -> exp.Case:
    """The value of the first case whose condition holds."""
    return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in cases], default=otherwise)


def sum_of(terms: Sequence[exp.Expr]) -> exp.Expr:
    """The sum of terms as a balanced tree: engines refuse expressions a thousand levels deep."""
    if len(terms) < 2:
        return terms[0] if terms else number(0)
    half = len(terms) // 2
    return exp.Paren(this=exp.Add(this=sum_of(terms[:half]), expression=sum_of(terms[half:])))


JoinKind = Literal["left", "left semi", "left anti", "inner", "full"]


def joined(source: exp.Table | exp.Subquery, on: exp.Expr, kind: JoinKind) -> exp.Join:
    """A relation to join with."""
    side, _, kind_word = kind.upper().partition(" ")
    return exp.Join(this=source, side=None if side == "INNER" else side, kind=kind_word or None, on=on)


def select(
    columns: Sequence[exp.Expr],
    source: exp.Table | exp.Subquery | None = None,
    *,
    join: exp.Join | None = None,
    where: exp.Expr | None = None,
    limit: int | None = None,
) -> exp.Select:
    """Build a query without the copies that sqlglot's own builder makes at every step."""
    return exp.Select(
        expressions=list(columns),
        from_=exp.From(this=source) if source is not None else None,
        joins=[join] if join is not None else None,
        where=exp.Where(this=where) if where is not None else None,
        limit=exp.Limit(expression=number(limit)) if limit is not None else None,
    )


def hinted(query: exp.Select, name: str, argument: exp.Expr) -> exp.Select:
    """The query with a hint to Spark."""
    query.set("hint", exp.Hint(expressions=[exp.Anonymous(this=name, expressions=[argument])]))
    return query


def everything() -> list[exp.Expr]:
    """All columns."""
    return [exp.Star()]


def union_all(parts: Sequence[exp.Select]) -> exp.Select | exp.Union:
    """All rows of all parts."""
    whole: exp.Select | exp.Union = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
    return whole


def reading_of(source: Source, columns: Sequence[str]) -> Query:
    """Columns of one source."""
    return reading_from(source, columns, Sources())


def reading_from(source: Source, columns: Sequence[str], sources: Sources) -> Query:
    """Columns of one source, as part of a larger query."""
    return Query(select([col(c, "o") for c in columns], table(sources.add(source), "o")), sources.named)


def first(query: Query, rows: int) -> Query:
    """The first rows of a query, in its own order."""
    return query.over(query.expression.limit(rows))


def limited(query: Query, rows: int) -> Query:
    """The first rows of a query, in any order."""
    return query.over(select(everything(), subquery(query.expression, "l"), limit=rows))
