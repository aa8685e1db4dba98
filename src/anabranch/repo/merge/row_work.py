"""Prepare a merge of rows: choose the engine, and parse SQL rules for it: expressions over base, ours and theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.layers import chained, with_exceptions
from anabranch.model.objects import size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.texts import shortened
from anabranch.model.types import DataType
from anabranch.plan.engine import Work
from anabranch.plan.merge.rules import RowPolicy, Rule
from anabranch.proven.expression import Expression
from anabranch.queries.query import Query, aliased, null_of, select, subquery
from anabranch.queries.scan import Access
from anabranch.queries.three_way import OURS, THEIRS, Decision
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import kept
from anabranch.repo.merge.row_sides import Sides
from anabranch.repo.read.conditions import not_in_duck, unproven
from anabranch.repo.write.assigned_values import cast_for, refuse_type, unproven_cast


@dataclass(frozen=True)
class RowWork:
    """The sides of a merge of rows, how rows are decided, and the engine."""

    ctx: Context
    sides: Sides
    decision: Decision
    engine: Engine

    @property
    def schema(self) -> Schema:
        return self.decision.schema

    @cached_property
    def access(self) -> Access:
        layers = chained(with_exceptions(self.sides.paths), *(s.layers for s in self.sides.states))
        return self.ctx.access(layers, self.sides.pending)

    @property
    def everything(self) -> TableState:
        layers = chained(self.sides.paths, *(s.layers for s in self.sides.states))
        return replace(self.sides.ours, layers=layers)


def _expression_of(rule: Rule) -> Expression:
    """The SQL of a rule, as the user gave it or as the catalogue keeps it."""
    text = rule.expression or ""
    return kept(text, f"the rule {rule.given_as!r}") if rule.kept else Expression.of(text, {}, "rules=")


def prepare(ctx: Context, sides: Sides, schema: Schema, policy: RowPolicy) -> RowWork:
    """Choose the engine and parse users' rules for it."""
    cells = tuple(c for c in schema if c.id not in schema.key_ids)
    name = sides.ours.name
    rules = {c: policy.rules[c.id] for c in cells if c.id in policy.rules and policy.rules[c.id].word == "expression"}
    texts = {c: _expression_of(rule) for c, rule in rules.items()}
    what = {c: f"the rule {r.given_as!r} ({shortened(str(r.expression))}) for {name!r}" for c, r in rules.items()}
    spark_reason = next((u for c, e in texts.items() if (u := unproven_rule(e, c, what[c]))), None)
    read = size_of(sides.paths) if sides.by_changes else sum(size_of(s.layers) for s in sides.states)
    engine = ctx.engines.pick(
        Work(read, unproven=spark_reason, not_in_duck=not_in_duck(schema, name)), f"merging rows of {name!r}"
    )
    trees = {str(c.id): rule_tree(e, c, engine, what[c]) for c, e in texts.items()}
    decision = Decision(
        schema,
        cells,
        policy,
        trees,
        has_unknown=bool(sides.base.joined),
        has_times=sides.times is not None and policy.goes_by_time,
        lacking=lacking_columns(cells, [sides.ours.schema], [sides.theirs.schema]),
    )
    return RowWork(ctx, sides, decision, engine)


def lacking_columns(
    cells: Sequence[Column], ours: Iterable[Schema], theirs: Iterable[Schema]
) -> frozenset[tuple[str, str]]:
    """The columns that a side lacks in all of its schemas."""
    sides = ((OURS, list(ours)), (THEIRS, list(theirs)))
    return frozenset((side, str(c.id)) for side, has in sides for c in cells if not any(s.written_as(c) for s in has))


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
