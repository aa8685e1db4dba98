"""Rows given to a statement, matched with the table's columns before an engine is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.engines.engine import Engine
from anabranch.errors import Unavailable
from anabranch.frames.input import Input, fitted, match_columns
from anabranch.model.objects import size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression
from anabranch.queries import writes as changes
from anabranch.queries.nested import needs_spark_to_take
from anabranch.queries.query import Frame, Query, Rows, limited
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import kept
from anabranch.repo.read.conditions import not_in_duck, unproven
from anabranch.repo.write.checks import checks_on
from anabranch.repo.write.defaults import default_expressions, default_values, unproven_defaults
from anabranch.settings import DOOR_ROW_LIMIT


@dataclass(frozen=True)
class Incoming:
    """Incoming rows, and the defaults of columns they lack."""

    given: Input
    names: Mapping[str, str]
    """The rows' own name for each column, by column id."""
    defaults: Mapping[str, Expression]
    """By column id."""

    def columns(self, schema: Schema) -> list[Column]:
        """The columns that the rows have."""
        return [c for c in schema if c.id in self.names]

    def whole(self, engine: Engine, schema: Schema) -> Query | Rows:
        """The rows with all columns, under their ids."""
        if len(self.names) == len(schema):
            return self.narrow(schema.columns)
        values = default_values(engine, schema, self.defaults)
        return changes.completed(self.given.source, self.given.types, self.names, schema, values)

    def narrow(self, columns: Sequence[Column]) -> Query | Rows:
        """Some columns of the rows, under their ids; rows in memory need no engine."""
        if isinstance(self.given.source, Rows) and not any(needs_spark_to_take(c.type) for c in columns):
            rows = self.given.source.table.select([self.names[c.id] for c in columns])
            return Rows(rows.rename_columns([str(c.id) for c in columns]))
        return changes.narrowed(self.given.source, self.given.types, self.names, columns)


def take_in(ctx: Context, state: TableState, given: Input, what: str, *, partial: bool = False) -> Incoming:
    """Match rows with a table's columns; `partial` rows may lack a NOT NULL column without a default."""
    return _at_hand(ctx, _matched(state, given, what, partial), state.schema)


def _at_hand(ctx: Context, rows: Incoming, schema: Schema) -> Incoming:
    """Fetch a small DataFrame, cast to the columns' types by Spark: one job instead of many."""
    frame, columns = rows.given.source, rows.columns(schema)
    if not isinstance(frame, Frame) or ctx.engines.setting == "spark":
        return rows
    if any(needs_spark_to_take(c.type) for c in columns):
        return rows
    from anabranch.engines.spark_sizes import may_be_few_rows

    if not may_be_few_rows(frame.frame):
        return rows
    query = changes.narrowed(frame, rows.given.types, rows.names, columns)
    try:
        found = ctx.engines.spark().fetch(limited(query, DOOR_ROW_LIMIT + 1))
    except Unavailable:  # Few rows may still be too large for the driver; any other failure will be raised again.
        return rows
    if found.num_rows > DOOR_ROW_LIMIT:
        return rows
    types = {str(c.id): c.type for c in columns}
    return replace(rows, given=Input(types, Rows(found), found.num_rows), names={c.id: str(c.id) for c in columns})


def _matched(state: TableState, given: Input, what: str, partial: bool) -> Incoming:
    schema = state.schema
    names = match_columns(given, schema, what)
    if partial:
        absent = [c for c in schema if c.id not in names and c.default is not None]
        defaults = {str(c.id): kept(c.default or "", f"default of {c.name!r}") for c in absent}
    else:
        defaults = default_expressions(schema, names, what)
    return Incoming(fitted(given, schema, names, what), names, defaults)


def engine_for(
    ctx: Context, state: TableState, rows: Incoming, what: str, condition: Expression | None = None
) -> Engine:
    """Choose the engine to take rows into a table, and to find those a condition selects."""
    schema = state.schema
    tested = [*checks_on(state).values(), *([condition] if condition else [])]
    spark_reason = unproven_defaults(schema, rows.defaults) or unproven(tested, schema)
    work = Work(size_of(state.layers), rows.given.is_spark, spark_reason, not_in_duck(schema, state.name))
    return ctx.engines.pick(work, what)
