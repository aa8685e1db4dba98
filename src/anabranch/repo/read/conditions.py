"""Users' conditions in an engine's form, and failed reads reported as the damage that caused them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError, Corrupt, InvalidRequest, Unavailable
from anabranch.model.layers import Bounds, as_layers
from anabranch.model.objects import size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.engine import Work
from anabranch.repo.context.context import Context

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.engine import Engine
    from anabranch.proven.expression import Expression
    from anabranch.queries.scan import Keys


def unproven(expressions: Sequence[Expression], schema: Schema, table: str | None = None) -> str | None:
    """Name the first part of users' expressions that only Spark can run.

    Refuse unknown names; with `table`, also those after another name than its own.
    """
    if not expressions:
        return None
    from anabranch.proven.expression import Unproven

    for expression in expressions:
        expression.refuse_unknown_names(schema, table)
        try:
            expression.refuse_unproven(schema)
        except Unproven as problem:
            return str(problem)
    return None


def not_in_duck(columns: Iterable[Column], table: str) -> str | None:
    """Name the first column that DuckDB can't hold."""
    found = next((c for c in columns if c.type.only_spark), None)
    return f"column {found.name!r} of table {table!r} is {found.type}, which DuckDB can't hold" if found else None


def pick_engine(
    ctx: Context,
    state: TableState,
    what: str,
    columns: Iterable[Column] | None = None,
    tested: Sequence[Expression] = (),
) -> Engine:
    """Choose the engine that reads a table, or some of its columns; `tested` are users' expressions over it."""
    held = not_in_duck(state.schema if columns is None else columns, state.name)
    work = Work(size_of(state.layers), unproven=unproven(tested, state.schema), not_in_duck=held)
    return ctx.engines.pick(work, what)


def where_of(where: str | None, args: Mapping[str, Any] | None, what: str = "where=") -> Expression | None:
    """A user's condition, if there is one."""
    if where is None:
        return None
    from anabranch.proven.expression import Expression

    return Expression.of(where, args or {}, what)


def keys_in(rows: pa.Table, columns: Sequence[Column]) -> Keys:
    """Keys in memory, to look rows up by."""
    from anabranch.objects.parquet import table_range
    from anabranch.queries.query import Rows
    from anabranch.queries.scan import Keys

    return Keys(Rows(rows), table_range(rows, columns))


def rendered(expression: Expression, engine: Engine, schema: Schema) -> Any:
    """A user's expression in the engine's form."""
    return expression.for_duck(schema)[0] if engine.in_process else expression.for_spark()


def rendered_test(condition: Expression, engine: Engine, schema: Schema) -> Any:
    """A user's condition in the engine's form; refuses what is no condition, as Spark does by itself."""
    if not engine.in_process:
        return condition.for_spark()
    test, type_ = condition.for_duck(schema)
    if type_ is not None and type_.name != "boolean":
        message = f"{condition.text!r} is {type_}, a condition was expected"
        raise InvalidRequest(message, hint="such as 'qty >= 0'")
    return test


@dataclass(frozen=True)
class Condition:
    """A user's condition in an engine's form: the keys it names, and what is left to test."""

    keys: Keys | None = None
    bounds: Bounds | None = None
    """The range of the first key column outside which the condition can't hold."""
    test: Any = None
    args: dict[str, Any] = field(default_factory=dict)

    def near(self, state: TableState) -> TableState:
        """The table without objects that can't hold a row meeting the condition."""
        if self.bounds is None or self.keys is not None:
            return state
        return within(state, self.bounds)


def within(state: TableState, bounds: Bounds) -> TableState:
    """The table without objects whose keys are all out of bounds."""
    return replace(state, layers=as_layers(state.layers).within(bounds))


def condition_for(where: Expression | None, state: TableState, engine: Engine) -> Condition:
    """Split off the keys that a condition names, so that only objects that may hold them are read."""
    if where is None:
        return Condition()
    named = where.key_values(state.schema) if engine.in_process else None
    keys = keys_source(state, named[0]) if named else None
    if keys is not None and named and named[1]:
        return Condition(keys)
    return Condition(keys, where.key_bounds(state.schema), rendered_test(where, engine, state.schema), dict(where.args))


def keys_source(state: TableState, values: Sequence[Any]) -> Keys | None:
    """Keys of one column as a source; None if some value can't be a key of this table."""
    import pyarrow as pa

    from anabranch.arrow.types import arrow_type

    (column,) = state.schema.key_columns
    try:
        rows = pa.table({str(column.id): pa.array(values, arrow_type(column.type))})
    except (pa.ArrowException, OverflowError):
        return None
    return keys_in(rows, state.schema.key_columns)


class reading:
    """A block that reads a table's objects; turns a failure into `Corrupt` if a damaged file caused it."""

    def __init__(self, ctx: Context, state: TableState) -> None:
        self._ctx, self._state = ctx, state

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, AnabranchError) and not isinstance(error, Corrupt):
            try:
                suspicious = isinstance(error, Unavailable) or bool(error.facts.get("may_be_damage"))
                self._ctx.diagnose(self._state.layers, deep=suspicious)
            except Corrupt as damage:
                raise damage from error
