"""Columns that were dropped and are shown again: find rows that hold old values of them, and clear these."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.schema import Column, Schema
from anabranch.queries.initial_values import initial_value
from anabranch.queries.nested import differs
from anabranch.queries.query import Query, aliased, any_of, col, select, subquery


def keys_of_values(query: Query, schema: Schema, columns: Sequence[Column]) -> Query:
    """The keys of rows that have a value other than the initial default in one of some columns."""
    return query.over(_of_values(query, [col(k) for k in schema.key_ids], columns))


def cleared(query: Query, schema: Schema, columns: Sequence[Column]) -> Query:
    """The update that resets these columns to their initial defaults."""
    picked: list[exp.Expr] = [col(k) for k in schema.key_ids]
    for c in columns:
        picked += [aliased(initial_value(c), c.id), aliased(col(c.id), c.before)]
    return query.over(_of_values(query, picked, columns))


def _of_values(query: Query, picked: Sequence[exp.Expr], columns: Sequence[Column]) -> exp.Select:
    tests = [differs(c.type, col(c.id), initial_value(c)) for c in columns]
    return select(picked, subquery(query.expression, "v"), where=any_of(tests))
