"""Split rows of actions on a table into changed rows and new rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.schema import Column, Schema
from anabranch.queries import query as q
from anabranch.queries.nested import differs
from anabranch.queries.query import DELETE, INSERT, OP, SAME, UPDATE, Query
from anabranch.queries.writes import changed_only


def changed(rows: Query, schema: Schema, moves: bool) -> Query:
    """The rows of the table that really change, in the form of compared rows, by their old keys."""
    plain = schema.plain_columns
    picked = [q.aliased(q.col(_old(c, schema)), c.id) for c in schema.key_columns]
    for c in plain:
        picked += [q.aliased(q.col(c.id), c.id), q.aliased(q.col(c.before), c.before)]
    is_delete = exp.EQ(this=q.col(OP), expression=q.text(DELETE))
    gone = q.any_of([is_delete, _moved(schema)]) if moves and schema.has_key else is_delete
    differ = q.any_of([differs(c.type, q.col(c.before), q.col(c.id)) for c in plain])
    op = q.choose((gone, q.text(DELETE)), (differ, q.text(UPDATE)), otherwise=q.text(SAME))
    inner = q.select([*picked, q.aliased(op, OP)], q.subquery(rows.expression, "r"), where=_is_there())
    return changed_only(rows.over(inner))


def added(rows: Query, schema: Schema, moves: bool) -> Query:
    """The rows that are new: inserted ones, and those that got another key."""
    is_new: exp.Expr = exp.EQ(this=q.col(OP), expression=q.text(INSERT))
    if moves and schema.has_key:
        moved = q.all_of([exp.EQ(this=q.col(OP), expression=q.text(UPDATE)), _moved(schema)])
        is_new = q.any_of([is_new, moved])
    return rows.over(q.select([q.col(c.id) for c in schema], q.subquery(rows.expression, "r"), where=is_new))


def repeated(rows: Query, schema: Schema, limit: int) -> Query:
    """Rows of the table that several actions apply to: their keys, or whole rows if there is no key."""
    keys: Sequence[exp.Expr] = [q.col(_old(c, schema)) for c in schema.key_columns]
    if schema.has_key:
        shown = [q.aliased(k.copy(), c.id) for k, c in zip(keys, schema.key_columns, strict=True)]
    else:
        shown = [q.aliased(exp.AnyValue(this=q.col(c.before)), c.id) for c in schema]
    grouped = q.select(shown, q.subquery(rows.expression, "r"), where=_is_there(), limit=limit)
    grouped.set("group", exp.Group(expressions=list(keys)))
    grouped.set("having", exp.Having(this=exp.GT(this=exp.Count(this=exp.Star()), expression=q.number(1))))
    return rows.over(grouped)


def _is_there() -> exp.Expr:
    """Whether an action is about a row of the table."""
    return exp.NEQ(this=q.col(OP), expression=q.text(INSERT))


def _moved(schema: Schema) -> exp.Expr:
    """Whether a row gets another key."""
    return q.any_of([q.distinct_from(q.col(c.before), q.col(c.id)) for c in schema.key_columns])


def _old(column: Column, schema: Schema) -> str:
    """The name of a key column before the action; the row id never changes, so it keeps its own."""
    return column.before if schema.has_key else str(column.id)
