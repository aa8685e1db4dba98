"""update: new values for the rows that a condition selects; only the columns needed are read, only those set stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.changes import Counts
from anabranch.model.objects import NewObject, size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.commit import Statement
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression, type_of_value
from anabranch.queries import writes as changes
from anabranch.queries.query import reading_of
from anabranch.queries.scan import typed_values
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import condition_for, not_in_duck, rendered, unproven, where_of
from anabranch.repo.write import assigned_values as assigned
from anabranch.repo.write.checks import checks_on, refuse_broken_checks
from anabranch.repo.write.insert import insert_rows
from anabranch.repo.write.refusals import refuse_null
from anabranch.repo.write.scratch import scratch
from anabranch.repo.write.write import Pending, Write


@dataclass(frozen=True)
class Assignments:
    """What an update sets, and where."""

    values: Mapping[str, Expression]
    """By column id."""
    literals: Mapping[str, Any]
    """Values passed as literals of their column's type, by column id."""
    where: Expression | None

    @property
    def expressions(self) -> list[Expression]:
        return [*self.values.values(), *([self.where] if self.where else [])]

    @property
    def set_ids(self) -> set[str]:
        """The ids of the columns that are set."""
        return {*self.values, *self.literals}

    @property
    def value_args(self) -> dict[str, Any]:
        return {k: v for e in self.values.values() for k, v in e.args.items()}


def update(
    ctx: Context,
    state: TableState,
    values: Mapping[str, Any],
    where: str | None,
    args: Mapping[str, Any] | None,
    pending: Pending,
) -> Statement:
    """Compute the new values and store the cells that really change."""
    what = f"update of {state.name!r}"
    schema = state.schema
    if not isinstance(values, Mapping):
        hint = "such as update({'qty': 'qty + 1'}, where='id = 1')"
        raise InvalidRequest(f"{what}: a dict was expected, this is a {type(values).__name__}", hint=hint)
    with _hinting_at_quotes(values):
        wanted = _assignments(schema, values, where, args, what)
        spark_reason = unproven(wanted.expressions, schema, state.name) or _unproven_cast(wanted, schema, what)
    changed = [c for c in schema if c.id in wanted.set_ids]
    checks = checks_on(state, changed)
    spark_reason = spark_reason or unproven(list(checks.values()), schema)
    written = schema.columns if wanted.set_ids & set(schema.key) else changed  # A new key stores whole rows.
    work = Work(size_of(state.layers), unproven=spark_reason, not_in_duck=not_in_duck(written, state.name))
    write = Write(ctx, ctx.engines.pick(work, what), state, pending, what)
    values = _typed_values(write, wanted)
    if wanted.set_ids & set(schema.key):
        return _move_keys(write, wanted, values)
    spoken = [c for e in wanted.expressions for c in e.columns(schema)]
    read = tuple(dict.fromkeys((*schema.key_columns, *changed, *spoken)))
    condition = condition_for(wanted.where, state, write.engine)
    query = write.scan(read, condition.keys, state=condition.near(state))
    query = changes.updated(query, read, schema, values, write.alias, condition.test)
    with write.reading():
        made = write.store(replace(query, args=wanted.value_args | condition.args), "update", changed)
    try:
        _refuse_null(write, made, changed)
        refuse_broken_checks(write, made, checks)
    except BaseException:
        ctx.discard(made)
        raise
    return Statement("update", made, Counts(updated=sum(o.stored.row_count for o in made)))


@contextmanager
def _hinting_at_quotes(values: Mapping[str, Any]) -> Iterator[None]:
    """Hint at missing quotes when a value that is no valid expression looks like plain text."""
    texts = [value for value in values.values() if isinstance(value, str)]
    try:
        yield
    except NotFound as error:
        name = error.facts.get("column")
        error.hint = _in_quotes(name) if name in texts else error.hint
        raise
    except InvalidRequest as error:
        words = next((text for text in texts if _WORDS.fullmatch(text)), None)
        error.hint = error.hint or (_in_quotes(words) if words else None)
        raise


_WORDS = re.compile(r"\w+( \w+)+")


def _in_quotes(text: str) -> str:
    return f"text is an SQL expression; the text {text} is written \"'{text}'\", with quotes inside"


def _move_keys(write: Write, wanted: Assignments, values: Mapping[str, Any]) -> Statement:
    """Update a key: delete the old row and insert the new one."""
    schema, ctx = write.schema, write.ctx
    condition = condition_for(wanted.where, write.state, write.engine)
    query = write.scan(schema.columns, condition.keys, state=condition.near(write.state))
    query = changes.moved(query, schema, values, write.alias, condition.test)
    pairs = [p for c in schema for p in ((str(c.id), c.type), (c.before, c.type))]
    with scratch(ctx, write.engine) as place, write.reading():
        kept = place.keep(replace(query, args=wanted.value_args | condition.args), pairs, schema.key_columns)
        rows = reading_of(kept.source, [name for name, _ in pairs])
        old = changes.picked_columns(rows, {str(c.id): c.before for c in schema.key_columns})
        gone = write.store(old, "delete", schema.columns)
        whole = changes.picked_columns(rows, {str(c.id): str(c.id) for c in schema})
        try:
            made = insert_rows(write.after(gone), whole)
        except BaseException:
            ctx.discard(gone)
            raise
    return Statement("update", (*gone, *made), Counts(kept.row_count, 0, kept.row_count), exact=False)


def _assignments(
    schema: Schema, values: Mapping[str, Any], where: str | None, args: Mapping[str, Any] | None, what: str
) -> Assignments:
    if not isinstance(values, Mapping) or not values:
        raise InvalidRequest(f"{what}: nothing to set", hint="give a dict such as {'price': 'price * 2'}")
    found: dict[str, Expression] = {}
    literals: dict[str, Any] = {}
    for number, (name, value) in enumerate(values.items()):
        column = schema.column(name)
        if column.id in found or column.id in literals:
            raise InvalidRequest(f"{what}: column {column.name!r} is set twice", hint="set it once")
        if isinstance(value, str):
            found[column.id] = Expression.of(value, args, f"{what}: value of {name!r}")
        elif assigned.is_written_out(value, column):
            literals[column.id] = assigned.literals_for(value, column, what)
        else:
            marker = f"ana_value_{number}"
            type_of_value(value, f"{what}: the value of {name!r}")
            found[column.id] = Expression.of(
                f":{marker}", {marker: assigned.constant_for(value, column)}, f"{what}: value of {name!r}"
            )
    condition = where_of(where, args, f"{what}: where=")
    return Assignments(found, literals, condition)


def _unproven_cast(wanted: Assignments, schema: Schema, what: str) -> str | None:
    """Name a cast that only Spark can do; refuse one that no engine can."""
    columns = (c for c in schema if c.id in wanted.values)
    found = (assigned.unproven_cast(wanted.values[c.id], schema, c, what) for c in columns)
    return next((problem for problem in found if problem), None)


def _typed_values(write: Write, wanted: Assignments) -> dict[str, Any]:
    """The new values by column id, cast to their column's type; a type that doesn't fit is refused before it runs."""
    columns = [c for c in write.schema if c.id in wanted.values]
    values = dict(wanted.literals)
    for column, source in zip(columns, _types(write, wanted, columns), strict=True):
        assigned.refuse_type(column, source, write.what)
        value = rendered(wanted.values[column.id], write.engine, write.schema)
        values[column.id] = assigned.cast_for(value, source, column, write.engine)
    return values


def _types(write: Write, wanted: Assignments, columns: list[Column]) -> list[DataType | None]:
    schema = write.schema
    if write.engine.in_process or not columns:
        return [wanted.values[c.id].for_duck(schema)[1] for c in columns]
    values = {str(c.id): wanted.values[c.id].for_spark() for c in columns}
    typed = typed_values(write.scan(schema.columns), schema.columns, values, write.alias)
    return write.engine.types(replace(typed, args=wanted.value_args))


def _refuse_null(write: Write, made: tuple[NewObject, ...], changed: list[Column]) -> None:
    not_null = [c for c in changed if not c.nullable]
    if made and not_null:
        source = write.source_of(made, (*write.schema.key_columns, *changed))
        refuse_null(write.engine, source, not_null, write.schema, write.what)
