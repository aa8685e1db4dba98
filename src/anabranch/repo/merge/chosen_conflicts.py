"""Select rows in conflict by key or by condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from anabranch.engines.engine import Engine
from anabranch.frames.output import objects_of
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression
from anabranch.queries import decided_rows, three_way
from anabranch.queries.query import Rows, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import not_in_duck, rendered_test, unproven
from anabranch.repo.read.look_up import key_values


class RowsInConflict(Protocol):
    """One table's rows in conflict: the three versions at each key, and how the merge decided on them."""

    @property
    def table(self) -> str: ...
    @property
    def decided(self) -> pa.Table: ...
    @property
    def decision(self) -> three_way.Decision: ...


def chosen_rows(
    ctx: Context, table: RowsInConflict, key: Any, where: str | None, args: Mapping[str, Any] | None
) -> pa.Table:
    """The chosen rows in conflict, with the three versions at each key."""
    found, schema = table.decided, table.decision.schema
    if key is not None:
        wanted = key_values(schema, key, table.table)
        keys = tuples(found, [str(k) for k in schema.key_ids])
        found = found.filter(pa.array([key == wanted for key in keys], pa.bool_()))
    if where is not None:
        found = found.filter(_test(ctx, table, found, Expression.of(where, args or {}, "where=")))
    return found


def _test(ctx: Context, table: RowsInConflict, rows: pa.Table, where: Expression) -> pa.Array:
    """Test a condition on each row as ours has it, else theirs, else the base."""
    schema = table.decision.schema
    engine = engine_for(ctx, table, unproven([where], schema))
    query = decided_rows.shown_rows(reading_of(Rows(rows), rows.column_names), table.decision)
    test = rendered_test(where, engine, schema)
    found = engine.fetch(decided_rows.tested(query, schema, test, dict(where.args)))
    keys = [str(k) for k in schema.key_ids]
    hits = set(tuples(found, keys))
    return pa.array([key in hits for key in tuples(rows, keys)], pa.bool_())


def engine_for(ctx: Context, table: RowsInConflict, spark_reason: str | None) -> Engine:
    """Pick the engine for an expression over rows in conflict; `spark_reason` says what only Spark can compute."""
    work = Work(0, unproven=spark_reason, not_in_duck=not_in_duck(table.decision.schema, table.table))
    return ctx.engines.pick(work, f"conflicts of {table.table!r}")


def others_than(gone: pa.Table, rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows whose keys are not among those of others."""
    known = set(tuples(gone, key))
    return rows.filter(pa.array([k not in known for k in tuples(rows, key)], pa.bool_()))


def of_other_versions(gone: pa.Table, rows: pa.Table, how: three_way.Decision) -> pa.Table:
    """The rows that were decided over another base, ours or theirs than those of the same key among others."""
    known = set(_versions(gone, how))
    return rows.filter(pa.array([v not in known for v in _versions(rows, how)], pa.bool_()))


def _versions(rows: pa.Table, how: three_way.Decision) -> list[tuple[Any, ...]]:
    """The key and the three versions of each row, in a form in which equal rows are equal."""
    names = [str(k) for k in how.schema.key_ids]
    names += [three_way.there(side) for side in three_way.SIDES]
    names += [three_way.value_of(c, side) for c in how.cells for side in three_way.SIDES]
    columns = [[_comparable(value) for value in objects_of(rows.column(name))] for name in names]
    return list(zip(*columns, strict=True))


def _comparable(value: Any) -> Any:
    """A value in a form that Python compares as engines do: NaN equals itself, 0.0 equals -0.0."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    if isinstance(value, dict):
        return frozenset((_comparable(k), _comparable(v)) for k, v in value.items())
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return frozenset((_comparable(k), _comparable(v)) for k, v in value)  # A map whose keys are nested.
    if isinstance(value, list):
        return tuple(_comparable(v) for v in value)
    return value


def as_decided(rows: list[dict[str, Any]], found: pa.Table, how: three_way.Decision) -> pa.Table:
    """Rows that were decided one by one, in the form of those that a merge found."""
    names = [name for name, _ in decided_rows.pairs(how)]
    return pa.Table.from_pylist(rows, pa.schema([(name, found.schema.field(name).type) for name in names]))


def tuples(rows: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values of some columns, one tuple per row."""
    return list(zip(*(objects_of(rows.column(n)) for n in names), strict=True))
