"""The difference of two commits: what two paths from a common ancestor say, put together key by key."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.queries.nested import differs
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.path_fold import AGAIN, STRING
from anabranch.queries.query import (
    DELETE,
    INSERT,
    OP,
    SAME,
    UPDATE,
    Query,
    Sources,
    aliased,
    all_of,
    any_of,
    cast_to,
    choose,
    col,
    is_null,
    joined,
    null_of,
    number,
    same_key,
    select,
    subquery,
    sum_of,
    text,
    union_all,
)

UNKNOWN = "?"
"""The changes alone can't say what became of a key: it went and came again."""
CHANGE_TYPE = "_change_type"
COUNT, CELLS = "_ana_count", "_ana_cells"


def of_one_side(path: Query, schema: Schema, cells: Sequence[Column]) -> Query:
    """The difference of a commit and a descendant, from the path between them."""
    op = choose((_is(OP, AGAIN), text(UNKNOWN)), otherwise=col(OP))
    picked = [*(col(k) for k in schema.key_ids), aliased(op, OP), *(col(n) for c in cells for n in (c.id, c.before))]
    return path.over(select(picked, subquery(path.expression, "f")))


def first_keys(sides: Sequence[Query], schema: Schema, count: int) -> Query:
    """The first keys of some queries over the same sources, once each, in their order."""
    keys = [str(k) for k in schema.key_ids]
    whole = union_all([select([col(k) for k in keys], subquery(side.expression, "s")) for side in sides])
    once = select([col(k) for k in keys], subquery(whole, "k"), limit=count)
    once.set("distinct", exp.Distinct())
    once.set("order", exp.Order(expressions=[exp.Ordered(this=col(k)) for k in keys]))
    return sides[0].over(once)


def of_two_sides(ours: Query, theirs: Query, schema: Schema, cells: Sequence[Column], sources: Sources) -> Query:
    """The difference from ours to theirs, from the paths to both: ours is undone, theirs is done."""
    ids = [str(k) for k in schema.key_ids]
    picked: list[exp.Expr] = [aliased(exp.Coalesce(this=col(k, "b"), expressions=[col(k, "a")]), k) for k in ids]
    for c in cells:
        picked += _cell(c)
    picked.append(aliased(_op(), OP))
    join = joined(subquery(theirs.expression, "b"), same_key(ids, "a", "b"), "full")
    both = Query(select(picked, subquery(ours.expression, "a"), join=join), sources.named)
    changed = any_of([differs(c.type, col(c.before), col(c.id)) for c in cells])
    real = all_of([_is_not(OP, SAME), any_of([_is_not(OP, UPDATE), changed])])
    return both.over(select([exp.Star()], subquery(both.expression, "d"), where=real))


def _op() -> exp.Case:
    """What becomes of a key from ours to theirs."""
    ours, theirs = col(OP, "a"), col(OP, "b")

    def are(one: str, other: str) -> exp.Condition:
        return all_of([_same(ours, one), _same(theirs, other)])

    undone = choose((_same(ours, INSERT), text(DELETE)), (_same(ours, DELETE), text(INSERT)), otherwise=ours.copy())
    cases = (
        (any_of([_same(ours, AGAIN), _same(theirs, AGAIN)]), text(UNKNOWN)),
        (is_null(ours.copy()), theirs.copy()),
        (is_null(theirs.copy()), undone),
        (are(DELETE, DELETE), text(SAME)),
        (_same(ours, DELETE), text(INSERT)),
        (_same(theirs, DELETE), text(DELETE)),
    )
    return choose(*cases, otherwise=text(UPDATE))


def _cell(c: Column) -> list[exp.Alias]:
    """A cell in ours and in theirs: as the side left it that touched it, else as the other side found it."""
    untouched = {side: is_null(col(turn_of(c), side)) for side in "ab"}
    before = choose((untouched["a"], col(c.before, "b")), otherwise=col(c.id, "a"))
    after = choose((untouched["b"], col(c.before, "a")), otherwise=col(c.id, "b"))
    return [aliased(after, c.id), aliased(before, c.before)]


def with_cell_counts(query: Query, cells: Sequence[Column]) -> Query:
    """A difference, and how many cells of each row changed."""
    changed = [choose((differs(c.type, col(c.before), col(c.id)), number(1)), otherwise=number(0)) for c in cells]
    return query.over(select([exp.Star(), aliased(sum_of(changed), CELLS)], subquery(query.expression, "c")))


def counted(query: Query, cells: Sequence[Column]) -> Query:
    """How many keys of each kind there are, and how many cells changed."""
    each = with_cell_counts(query, cells)
    counts = [aliased(exp.Count(this=exp.Star()), COUNT), aliased(exp.Sum(this=col(CELLS)), CELLS)]
    found = select([col(OP), *counts], subquery(each.expression, "g"))
    found.set("group", exp.Group(expressions=[col(OP)]))
    return query.over(found)


def keys_of(query: Query, schema: Schema, op: str | None = None) -> Query:
    """The keys of a difference, of one kind if asked."""
    where = _is(OP, op) if op else None
    return query.over(select([col(k) for k in schema.key_ids], subquery(query.expression, "k"), where=where))


def known_only(query: Query) -> Query:
    """Leave out the keys that only the states can tell of."""
    return query.over(select([exp.Star()], subquery(query.expression, "w"), where=_is_not(OP, UNKNOWN)))


def of_kind(query: Query, op: str) -> Query:
    """The keys of one kind, with all that is known of them."""
    return query.over(select([exp.Star()], subquery(query.expression, "k"), where=_is(OP, op)))


def long_form(query: Query, key_ids: Sequence[str], shown: Sequence[Column], lost: Sequence[Column]) -> Query:
    """Compared rows as Spark's change feed has them: one row for each side of each change, named as users know them.

    Columns that are `lost` have values before only.
    """
    keys = set(key_ids)
    after = [aliased(col(c.id), c.name) for c in shown] + [aliased(null_of(c.type), c.name) for c in lost]
    old = [aliased(col(c.id if c.id in keys else c.before), c.name) for c in (*shown, *lost)]
    parts = [
        _part(query, after, INSERT, "insert"),
        _part(query, old, UPDATE, "update_preimage"),
        _part(query, [a.copy() for a in after], UPDATE, "update_postimage"),
        _part(query, [a.copy() for a in old], DELETE, "delete"),
    ]
    return query.over(union_all(parts))


def _part(query: Query, picked: Sequence[exp.Expr], op: str, word: str) -> exp.Select:
    told = aliased(cast_to(text(word), STRING), CHANGE_TYPE)
    return select([*picked, told], subquery(query.expression.copy(), "x"), where=_is(OP, op))


def pairs(schema: Schema, cells: Sequence[Column]) -> list[tuple[str, DataType]]:
    """The columns of a difference, with their types."""
    values = [p for c in cells for p in ((str(c.id), c.type), (c.before, c.type))]
    return [*((str(c.id), c.type) for c in schema.key_columns), (OP, STRING), *values]


def _is(name: str, value: str) -> exp.EQ:
    return exp.EQ(this=col(name), expression=text(value))


def _is_not(name: str, value: str) -> exp.NEQ:
    return exp.NEQ(this=col(name), expression=text(value))


def _same(column: exp.Column, value: str) -> exp.Expr:
    return all_of([exp.Not(this=is_null(column.copy())), exp.EQ(this=column.copy(), expression=text(value))])
