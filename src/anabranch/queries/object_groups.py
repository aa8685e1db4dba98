"""Objects of one kind and schema, read under the table's present schema; folded changes to join rows with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from anabranch.model.objects import StoredObject
from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.types import DataType
from anabranch.queries.initial_values import initial_value
from anabranch.queries.nested import differs
from anabranch.queries.overlay_columns import GONE, turn_of
from anabranch.queries.query import OP, TURN, Source, aliased, any_of, cast_to, choose, col, is_null

INT = DataType("int")


@dataclass(frozen=True)
class ObjectGroup:
    kind: str
    schema: Schema
    touched: frozenset[str]
    source: Source
    turn: int
    has_turns: bool

    def value(self, column: Column) -> exp.Expr:
        """A column under its present type; its initial default if the objects are older than it."""
        written = self.schema.written_as(column)
        return initial_value(column) if written is None else self._typed(col(written.id, "o"), column)

    def before(self, column: Column) -> exp.Expr:
        """The value of a touched column before an update, under its present type."""
        return self._typed(col(self._written(column).before, "o"), column)

    def touches(self, column: Column) -> bool:
        """Whether the objects may change a column; never one that their schema hides, whatever is in their files."""
        return not self.touched.isdisjoint(column.ids) and self.schema.written_as(column) is not None

    def changes(self, column: Column) -> exp.Expr:
        """Whether an update changes a touched column."""
        written = self._written(column)
        return differs(written.type, col(written.before, "o"), col(written.id, "o"))

    def _typed(self, value: exp.Expr, column: Column) -> exp.Expr:
        # Spark may have written a time in a form that other readers take to have no zone.
        has_times = any(t.name == "timestamp" for t in column.type.walk())
        return cast_to(value, column.type) if has_times or self._written(column).type != column.type else value

    def _written(self, column: Column) -> Column:
        return self.schema.written_as(column) or column


@dataclass(frozen=True)
class Overlay:
    """Folded changes to join with: one row per key, with turns to compare with the row's unless all act on it."""

    relation: exp.Table | exp.Subquery
    cells: tuple[Column, ...]
    has_turns: bool = True

    @cached_property
    def _cell_ids(self) -> frozenset[str]:
        return frozenset(c.id for c in self.cells)

    def stays(self) -> exp.Expr:
        """Whether a row is still there."""
        return any_of([is_null(col(GONE, "d")), *self._older(GONE)])

    def cell(self, column: Column) -> exp.Alias:
        """The value of the last update after the row, else the row's own."""
        own = col(column.id, "r")
        if column.id not in self._cell_ids:
            return aliased(own, column.id)
        untouched = any_of([is_null(col(turn_of(column), "d")), *self._older(turn_of(column))])
        return aliased(choose((untouched, own), otherwise=col(column.id, "d")), column.id)

    def _older(self, turn: str) -> list[exp.Expr]:
        return [exp.LTE(this=col(turn, "d"), expression=col(TURN, "r"))] if self.has_turns else []


def physical(o: StoredObject, schema: Schema) -> tuple[tuple[str, DataType], ...]:
    """The columns that a file has, by its kind."""
    if o.kind == "rows":
        return column_types(schema.stored)
    pairs = list(column_types(schema.key_columns))
    if o.kind == "exceptions":
        pairs.append((OP, DataType("string")))
    for c in schema:
        if c.id in o.touched and c.id not in schema.key and o.kind != "delete":
            pairs += [(str(c.id), c.type), (c.before, c.type)]
    return tuple(pairs)
