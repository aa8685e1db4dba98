"""The difference of two commits, combined key by key from two paths from a common ancestor."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.types import DataType
from anabranch.queries import query as q
from anabranch.queries.nested import differs
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.path_fold import AGAIN, STRING
from anabranch.queries.query import DELETE, INSERT, OP, SAME, UPDATE, Query, Sources

UNKNOWN = "?"
"""The changes alone can't say what happened to a key: it was deleted and inserted again."""
CHANGE_TYPE = "_change_type"
COUNT, CELLS = "_ana_count", "_ana_cells"


def of_one_side(path: Query, schema: Schema, cells: Sequence[Column]) -> Query:
    """The difference of a commit and a descendant, from the path between them."""
    op = q.choose((_is(OP, AGAIN), q.text(UNKNOWN)), otherwise=q.col(OP))
    picked = [
        *(q.col(k) for k in schema.key_ids),
        q.aliased(op, OP),
        *(q.col(n) for c in cells for n in (c.id, c.before)),
    ]
    return path.over(q.select(picked, q.subquery(path.expression, "f")))


def first_keys(sides: Sequence[Query], schema: Schema, count: int) -> Query:
    """The first keys of several queries over the same sources, once each, in order."""
    keys = [str(k) for k in schema.key_ids]
    whole = q.union_all([q.select([q.col(k) for k in keys], q.subquery(side.expression, "s")) for side in sides])
    once = q.select([q.col(k) for k in keys], q.subquery(whole, "k"), limit=count)
    once.set("distinct", exp.Distinct())
    once.set("order", exp.Order(expressions=[exp.Ordered(this=q.col(k)) for k in keys]))
    return sides[0].over(once)


def of_two_sides(ours: Query, theirs: Query, schema: Schema, cells: Sequence[Column], sources: Sources) -> Query:
    """The difference from ours to theirs, from the paths to both: undo ours, then apply theirs."""
    ids = [str(k) for k in schema.key_ids]
    picked: list[exp.Expr] = [q.aliased(exp.Coalesce(this=q.col(k, "b"), expressions=[q.col(k, "a")]), k) for k in ids]
    for c in cells:
        picked += _cell(c)
    picked.append(q.aliased(_op(), OP))
    join = q.joined(q.subquery(theirs.expression, "b"), q.same_key(ids, "a", "b"), "full")
    both = Query(q.select(picked, q.subquery(ours.expression, "a"), join=join), sources.named)
    changed = q.any_of([differs(c.type, q.col(c.before), q.col(c.id)) for c in cells])
    real = q.all_of([_is_not(OP, SAME), q.any_of([_is_not(OP, UPDATE), changed])])
    return both.over(q.select([exp.Star()], q.subquery(both.expression, "d"), where=real))


def _op() -> exp.Case:
    """What happens to a key from ours to theirs."""
    ours, theirs = q.col(OP, "a"), q.col(OP, "b")

    def are(one: str, other: str) -> exp.Condition:
        return q.all_of([_same(ours, one), _same(theirs, other)])

    undone = q.choose(
        (_same(ours, INSERT), q.text(DELETE)), (_same(ours, DELETE), q.text(INSERT)), otherwise=ours.copy()
    )
    cases = (
        (q.any_of([_same(ours, AGAIN), _same(theirs, AGAIN)]), q.text(UNKNOWN)),
        (q.is_null(ours.copy()), theirs.copy()),
        (q.is_null(theirs.copy()), undone),
        (are(DELETE, DELETE), q.text(SAME)),
        (_same(ours, DELETE), q.text(INSERT)),
        (_same(theirs, DELETE), q.text(DELETE)),
    )
    return q.choose(*cases, otherwise=q.text(UPDATE))


def _cell(c: Column) -> list[exp.Alias]:
    """A cell in ours and in theirs: as the side that touched it left it, else as the other side found it."""
    untouched = {side: q.is_null(q.col(turn_of(c), side)) for side in "ab"}
    before = q.choose((untouched["a"], q.col(c.before, "b")), otherwise=q.col(c.id, "a"))
    after = q.choose((untouched["b"], q.col(c.before, "a")), otherwise=q.col(c.id, "b"))
    return [q.aliased(after, c.id), q.aliased(before, c.before)]


def with_cell_counts(query: Query, cells: Sequence[Column]) -> Query:
    """A difference, and how many cells of each row changed."""
    changed = [
        q.choose((differs(c.type, q.col(c.before), q.col(c.id)), q.number(1)), otherwise=q.number(0)) for c in cells
    ]
    return query.over(q.select([exp.Star(), q.aliased(q.sum_of(changed), CELLS)], q.subquery(query.expression, "c")))


def counted(query: Query, cells: Sequence[Column]) -> Query:
    """How many keys of each kind there are, and how many cells changed."""
    each = with_cell_counts(query, cells)
    counts = [q.aliased(exp.Count(this=exp.Star()), COUNT), q.aliased(exp.Sum(this=q.col(CELLS)), CELLS)]
    found = q.select([q.col(OP), *counts], q.subquery(each.expression, "g"))
    found.set("group", exp.Group(expressions=[q.col(OP)]))
    return query.over(found)


def keys_of(query: Query, schema: Schema, op: str | None = None) -> Query:
    """The keys of a difference, of one kind if asked."""
    where = _is(OP, op) if op else None
    return query.over(q.select([q.col(k) for k in schema.key_ids], q.subquery(query.expression, "k"), where=where))


def known_only(query: Query) -> Query:
    """Leave out the keys that must be compared in the two states."""
    return query.over(q.select([exp.Star()], q.subquery(query.expression, "w"), where=_is_not(OP, UNKNOWN)))


def in_order_of(query: Query, schema: Schema, cells: Sequence[Column]) -> exp.Select:
    """A difference with its columns in one order, to be united with others."""
    names = [*schema.key_ids, OP, *(n for c in cells for n in (str(c.id), c.before))]
    return q.select([q.col(n) for n in names], q.subquery(query.expression, "u"))


def of_kind(query: Query, op: str) -> Query:
    """The rows of one kind, with all columns."""
    return query.over(q.select([exp.Star()], q.subquery(query.expression, "k"), where=_is(OP, op)))


def long_form(query: Query, key_ids: Sequence[str], shown: Sequence[Column], lost: Sequence[Column]) -> Query:
    """Compared rows in the form of Spark's change feed: one row for each side of each change, under users' names.

    `lost` columns have values before only.
    """
    keys = set(key_ids)
    after = [q.aliased(q.col(c.id), c.name) for c in shown] + [q.aliased(q.null_of(c.type), c.name) for c in lost]
    old = [q.aliased(q.col(c.id if c.id in keys else c.before), c.name) for c in (*shown, *lost)]
    parts = [
        _part(query, after, INSERT, "insert"),
        _part(query, old, UPDATE, "update_preimage"),
        _part(query, [a.copy() for a in after], UPDATE, "update_postimage"),
        _part(query, [a.copy() for a in old], DELETE, "delete"),
    ]
    return query.over(q.union_all(parts))


def _part(query: Query, picked: Sequence[exp.Expr], op: str, word: str) -> exp.Select:
    described = q.aliased(q.cast_to(q.text(word), STRING), CHANGE_TYPE)
    return q.select([*picked, described], q.subquery(query.expression.copy(), "x"), where=_is(OP, op))


def pairs(schema: Schema, cells: Sequence[Column]) -> list[tuple[str, DataType]]:
    """The columns of a difference, with their types."""
    values = [p for c in cells for p in ((str(c.id), c.type), (c.before, c.type))]
    return [*column_types(schema.key_columns), (OP, STRING), *values]


def _is(name: str, value: str) -> exp.EQ:
    return exp.EQ(this=q.col(name), expression=q.text(value))


def _is_not(name: str, value: str) -> exp.NEQ:
    return exp.NEQ(this=q.col(name), expression=q.text(value))


def _same(column: exp.Column, value: str) -> exp.Expr:
    return q.all_of([exp.Not(this=q.is_null(column.copy())), exp.EQ(this=column.copy(), expression=q.text(value))])
