"""Rows that a merge decided: those settled before, those in conflict, and how they are shown and tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.types import DataType
from anabranch.queries import query as q
from anabranch.queries.nested import comparable, differs
from anabranch.queries.query import DELETE, INSERT, OP, SAME, UPDATE, Query, Sources
from anabranch.queries.three_way import (
    BASE,
    EDITED,
    FILLED,
    INT,
    KIND,
    OURS,
    ROW_TIME,
    SIDES,
    STAYS,
    STRING,
    THEIRS,
    UPDATED,
    Decision,
    by_time,
    changed_of,
    conflict_of,
    filled,
    flag,
    is_not_set,
    is_set,
    lost_of,
    there,
    time_of,
    unknown_of,
    value_of,
)


def with_settled(query: Query, settled: str, how: Decision) -> Query:
    """Decided rows, with earlier resolutions put in wherever base, ours and theirs are unchanged."""
    ids = [str(k) for k in how.schema.key_ids]
    same: list[exp.Expr] = [exp.EQ(this=q.col(there(s), "d"), expression=q.col(there(s), "s")) for s in SIDES]
    same += [
        q.not_distinct(comparable(c.type, q.col(value_of(c, s), "d")), comparable(c.type, q.col(value_of(c, s), "s")))
        for c in how.cells
        for s in SIDES
    ]
    on = q.all_of([q.same_key(ids, "d", "s"), *same])
    found = exp.Not(this=q.is_null(q.col(ids[0], "s")))
    # A row that was settled in part keeps its other conflicts.
    own = {STAYS, KIND, *(n for c in how.cells for n in (str(c.id), conflict_of(c)))}
    picked = [
        q.aliased(q.choose((found.copy(), q.col(n, "s")), otherwise=q.col(n, "d")), n) if n in own else q.col(n, "d")
        for n, _ in pairs(how)
    ]
    join = q.joined(q.table(settled, "s"), on, "left")
    return query.over(q.select(picked, q.subquery(query.expression, "d"), join=join))


def shown_rows(query: Query, how: Decision) -> Query:
    """One row for each key in conflict, under users' names: ours if there is one, else theirs, else the base's."""
    picked: list[exp.Expr] = [q.aliased(q.col(c.id), c.id) for c in how.schema.key_columns]
    picked += [q.aliased(q.col(c.id), c.name) for c in how.schema if c.id in how.schema.key]
    for c in how.cells:
        value = q.choose(
            (is_set(there(OURS)), q.col(value_of(c, OURS))),
            (is_set(there(THEIRS)), q.col(value_of(c, THEIRS))),
            otherwise=q.col(value_of(c, BASE)),
        )
        picked.append(q.aliased(value, c.name))
    return query.over(q.select(picked, q.subquery(query.expression, "d")))


def tested(query: Query, schema: Schema, test: exp.Expr, args: Mapping[str, Any]) -> Query:
    """The keys of shown rows that meet a condition."""
    found = q.select([q.col(k) for k in schema.key_ids], q.subquery(query.expression, "w"), where=test)
    return Query(found, query.sources, args)


def computed(query: Query, column: Column, tree: exp.Expr, schema: Schema) -> Query:
    """The value of an expression over base, ours and theirs of a cell, by key, as `v`."""
    sides = {"base": q.col(value_of(column, BASE)), "ours": q.col(value_of(column, OURS))}
    value = q.cast_to(filled(tree, {**sides, "theirs": q.col(value_of(column, THEIRS))}), column.type)
    picked = [*(q.col(k) for k in schema.key_ids), q.aliased(value, "v")]
    return query.over(q.select(picked, q.subquery(query.expression, "c")))


def against(query: Query, side: str, how: Decision) -> Query:
    """The difference from one side to the merged rows: one row per key, even where nothing differs."""
    has, stays = is_set(there(side)), is_set(STAYS)
    differ = q.any_of([differs(c.type, q.col(value_of(c, side)), q.col(c.id)) for c in how.cells])
    op = q.choose(
        (q.all_of([is_not_set(there(side)), stays]), q.text(INSERT)),
        (q.all_of([has, is_not_set(STAYS)]), q.text(DELETE)),
        (q.all_of([has.copy(), stays.copy(), exp.Paren(this=differ)]), q.text(UPDATE)),
        otherwise=q.text(SAME),
    )
    picked: list[exp.Expr] = [q.col(k) for k in how.schema.key_ids]
    for c in how.cells:
        picked += [q.col(c.id), q.aliased(q.col(value_of(c, side)), c.before)]
    return query.over(q.select([*picked, q.aliased(op, OP)], q.subquery(query.expression, "d")))


def staying(query: Query, schema: Schema) -> Query:
    """The rows that are there after the merge."""
    picked = [q.col(c.id) for c in schema.stored]
    return query.over(q.select(picked, q.subquery(query.expression, "d"), where=is_set(STAYS)))


def as_base(source: str, how: Decision, sources: Sources) -> Query:
    """Decided rows of a virtual base, as the base of another decision: what is in conflict is unknown."""
    picked: list[exp.Expr] = [q.col(k) for k in how.schema.key_ids]
    for c in how.cells:
        known = q.choose((is_set(conflict_of(c)), q.null_of(c.type)), otherwise=q.col(c.id))
        picked += [q.aliased(known, c.id), q.aliased(q.col(conflict_of(c)), unknown_of(c))]
    return Query(q.select(picked, q.table(source, "v"), where=is_set(STAYS)), sources.named)


def used_cells(query: Query, how: Decision) -> Query:
    """How theirs used columns: whether it changed a cell of a row that the base has (`updated`), and whether a row
    that it inserted has a value (`filled`)."""
    cases: list[tuple[str, exp.Expr, Callable[[Column], exp.Expr]]] = [
        (UPDATED, is_set(there(BASE)), lambda c: is_set(changed_of(c, THEIRS))),
        (FILLED, is_not_set(there(BASE)), lambda c: exp.Not(this=q.is_null(q.col(value_of(c, THEIRS))))),
    ]
    has = is_set(there(THEIRS))
    picked = [
        q.aliased(exp.Max(this=flag(q.all_of([has.copy(), where.copy(), test(c)]))), f"{c.id}{word}")
        for word, where, test in cases
        for c in how.cells
    ]
    return query.over(q.select(picked, q.subquery(query.expression, "d")))


def in_conflict(query: Query, how: Decision) -> Query:
    """The rows in conflict, themselves or in one of their cells, with all columns."""
    test = q.any_of([exp.Not(this=q.is_null(q.col(KIND))), *(is_set(conflict_of(c)) for c in how.cells)])
    return query.over(q.select([exp.Star()], q.subquery(query.expression, "d"), where=test))


def conflicts_among(rows: pa.Table, how: Decision) -> pa.Table:
    """Those of decided rows in memory that are in conflict."""
    test = pc.is_valid(rows.column(KIND))
    for c in how.cells:
        test = pc.or_(test, pc.equal(rows.column(conflict_of(c)), 1))
    return rows.filter(test)


def pairs(how: Decision) -> list[tuple[str, DataType]]:
    """The columns of decided rows, with their types."""
    found = list(column_types(how.schema.key_columns))
    found += [(there(s), INT) for s in SIDES]
    for c in how.cells:
        found += [(value_of(c, s), c.type) for s in SIDES] + [(changed_of(c, s), INT) for s in (OURS, THEIRS)]
        found += [(unknown_of(c), INT)] if how.has_unknown else []
        found += [(lost_of(c), INT)] if how.ours_has_unknown else []
        found += [(str(c.id), c.type), (conflict_of(c), INT)]
        found += [(time_of(c, s), INT) for s in (OURS, THEIRS)] if by_time(c, how) else []
    found += [(ROW_TIME[s], INT) for s in (OURS, THEIRS)] if how.has_times else []
    found += [(EDITED[s], INT) for s in (OURS, THEIRS)]
    return [*found, (STAYS, INT), (KIND, STRING)]
