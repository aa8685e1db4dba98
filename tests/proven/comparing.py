"""Runs expressions over the edge values on both engines, and tells where they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from anabranch.arrow.types import arrow_type
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType
from anabranch.proven.expression import Expression, Unproven
from anabranch.proven.table.row import guards_of
from anabranch.queries.duck_text import DuckText
from anabranch.queries.query import Query, Rows, Source, Sources, aliased, col, select, table
from tests.proven.edges import SCHEMA, edge_rows
from tests.proven.proof_cases import ARGS


@dataclass(frozen=True)
class Case:
    """An expression, as DuckDB gets it."""

    text: str
    expression: Expression
    duck: exp.Expr
    type: DataType | None


def case_of(text: str) -> Case:
    """Parse and prove an expression."""
    expression = Expression.of(text, ARGS, "test")
    try:
        return Case(text, expression, *expression.for_duck(SCHEMA))
    except Unproven:
        return Case(text, expression, *expression.for_duck(SCHEMA, guards=True, zone="UTC"))


def query_of(
    values: Mapping[str, exp.Expr], source: Source, args: Mapping[str, Any], where: exp.Expr | None = None
) -> Query:
    """Columns over one source."""
    sources = Sources()
    columns = [aliased(v, k) for k, v in values.items()]
    return Query(select(columns, table(sources.add(source), "t"), where=where), sources.named, args)


def args_of(cases: Sequence[Case]) -> dict[str, Any]:
    """What the cases need of the arguments."""
    return {k: v for c in cases for k, v in c.expression.args.items()}


def fine_rows(duck: Engine, cases: Sequence[Case]) -> list[list[bool]]:
    """For each case, in which rows DuckDB does not fail; DuckDB must not compute common parts of the cases ahead."""
    tried = {
        f"e{n}": DuckText(this="TRY(struct_pack(v := $1)) IS NOT NULL", expressions=[c.duck])
        for n, c in enumerate(cases)
    }
    found = duck.fetch(query_of(tried, Rows(edge_rows()), args_of(cases)))
    return [column.to_pylist() for column in found.columns]


def masked_rows(fine: Sequence[Sequence[bool]]) -> pa.Table:
    """The edge values, with a column for each case that tells in which rows it is to be computed."""
    rows = edge_rows()
    for n, good in enumerate(fine):
        if not all(good):
            rows = rows.append_column(f"fine{n}", pa.array(good))
    return rows


def values_of(engine: Engine, cases: Sequence[Case], fine: Sequence[Sequence[bool]], source: Source) -> pa.Table:
    """The values that an engine gives in the rows in which DuckDB does not fail."""
    values = {}
    for n, (case, good) in enumerate(zip(cases, fine, strict=True)):
        value = case.duck.copy() if engine.in_process else case.expression.for_spark()
        if not all(good):
            value = exp.Case(ifs=[exp.If(this=col(f"fine{n}"), true=value)])
        values[f"e{n}"] = value
    found = engine.fetch(query_of({"id": col("id"), **values}, source, args_of(cases)))
    return found.sort_by("id").drop_columns(["id"])


def differences(cases: Sequence[Case], found: pa.Table, expected: pa.Table, typed: bool = True) -> Iterator[str]:
    """Every difference of type or value."""
    for n, case in enumerate(cases):
        one, other = found.column(n), expected.column(n)
        claimed = pa.null() if case.type is None else arrow_type(case.type)
        if typed and case.type is not None and not claimed == one.type == other.type:
            yield f"{case.text}: claimed {claimed}, DuckDB {one.type}, Spark {other.type}"
        pairs = enumerate(zip(_listed(one), _listed(other), strict=True))
        wrong = [(row, a, b) for row, (a, b) in pairs if not alike(a, b)]
        if wrong:
            yield f"{case.text}: {len(wrong)} rows, first {wrong[0][0]}: DuckDB {wrong[0][1]!r}, Spark {wrong[0][2]!r}"


def _listed(column: pa.ChunkedArray) -> list[Any]:
    """The values; dates and times as numbers, since Python's end with the year 9999."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()  # type: ignore[no-any-return]


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, NaN being itself and the two zeros being two."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return type(one) is type(other) and bool(one == other)


def silent(spark: Engine, case: Case, fine: Sequence[bool], most: int) -> Iterator[str]:
    """Rows in which DuckDB fails and Spark does not; at most so many are tried, none where Spark is asked then."""
    if guards_of(case.duck):
        return
    failing = [row for row, good in enumerate(fine) if not good]
    step = max(1, len(failing) // most)
    for row in failing[step // 2 :: step][:most]:
        one_row = Rows(edge_rows().slice(row, 1))
        try:
            value = spark.fetch(query_of({"e": case.expression.for_spark()}, one_row, case.expression.args))
        except InvalidRequest as error:
            if "does not fit" not in str(error):
                yield f"{case.text}: row {row}: {error}"
        else:
            yield f"{case.text}: row {row}: DuckDB fails, Spark gives {_listed(value.column(0))[0]}"
