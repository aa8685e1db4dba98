"""Users' expressions over a cell's base, ours and theirs, checked like values of an update before they run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.proven.expression import Expression
from anabranch.queries.query import Query, aliased, null_of, select, subquery
from anabranch.repo.read.conditions import unproven
from anabranch.repo.write.assigned_values import cast_for, refuse_type, unproven_cast

_NO_SCHEMA: Any = "rule"


def rule_schema(column: Column) -> Schema:
    """The schema that a rule for a column sees: base, ours and theirs."""
    named = tuple(replace(column, id=column.id, name=n) for n in ("base", "ours", "theirs"))
    return Schema(_NO_SCHEMA, named, ())


def unproven_rule(rule: Expression, column: Column, what: str) -> str | None:
    """Name what only Spark can do in a rule; refuse one whose type doesn't fit the column's."""
    schema = rule_schema(column)
    return unproven([rule], schema) or unproven_cast(rule, schema, column, what)


def rule_tree(rule: Expression, column: Column, engine: Engine, what: str) -> Any:
    """A rule as the engine takes it, cast to the column's type."""
    if engine.in_process:
        tree, source = rule.for_duck(rule_schema(column))
    else:
        tree, source = rule.tree(what), _spark_type(rule, column, engine, what)
    refuse_type(column, source, what)
    return cast_for(tree, source, column, engine)


def _spark_type(rule: Expression, column: Column, engine: Engine, what: str) -> DataType | None:
    nothing = select([aliased(null_of(c.type), c.name) for c in rule_schema(column)])
    query = Query(select([aliased(rule.for_spark(), "v")], subquery(nothing, "r")), {}, dict(rule.args))
    try:
        (found,) = engine.types(query)
    except InvalidRequest as error:
        raise InvalidRequest(f"{what}: {error.message}", hint=error.hint, column=column.name) from error
    return found
