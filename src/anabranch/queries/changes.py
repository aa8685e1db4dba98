"""The change feed: every change of every commit with whole rows, from the changes and the rows before them.

A change holds the cells that it touched. The row's other cells are carried over from earlier changes, and from the
state before all of them, so one look-up serves all commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries import query as q
from anabranch.queries.difference import CHANGE_TYPE
from anabranch.queries.nested import differs
from anabranch.queries.object_groups import INT
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.path_fold import STRING, path_events
from anabranch.queries.query import DELETE, INSERT, OP, SAME, TURN, UPDATE, Query, Rows, Sources
from anabranch.queries.scan import Access

NUMBER = "_ana_number"
"""The number of the commit in the feed."""
COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"
FEED_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
_ORDER, _LIVE, _WAS, _NEXT, _VALUE, _IMAGE = "_ana_order", "_ana_live", "_ana_was", "_ana_next", "v", "_ana_image"
_SIDES = ("_ana_holds_after", "_ana_holds_before")


@dataclass(frozen=True)
class ChangePart:
    """Changes of successive commits, identified by one key."""

    state: TableState
    """The table's columns and the key that identifies rows here; its own layers are not read."""
    layers: tuple[Layer, ...]
    """Their turns begin at 1."""
    numbers: pa.Table
    """The number of each turn's commit; 0 for turn 0."""


def whole_changes(
    part: ChangePart, before: Query | None, cells: Sequence[Column], access: Access, sources: Sources, keys: str | None
) -> exp.Select:
    """One row per key and commit: what happened to the key, and the cells before and after.

    `before` has the rows before these changes, at least those they touch, with columns under their ids.
    """
    plan = _Whole(part, tuple(cells), sources)
    events = path_events(part.state, part.layers, cells, access, sources, keys)
    rows = q.union_all([plan.shaped(events), plan.first(before)]) if before else plan.shaped(events)
    return plan.outcomes(plan.paired(plan.last_of_each(plan.carried(rows))))


@dataclass(frozen=True)
class _Whole:
    part: ChangePart
    cells: tuple[Column, ...]
    sources: Sources

    @property
    def keys(self) -> list[str]:
        return [str(c.id) for c in self.part.state.schema.key_columns]

    def shaped(self, events: exp.Select | exp.Union) -> exp.Select:
        """Events with each touched cell boxed, to distinguish a null from an untouched cell."""
        picked: list[exp.Expr] = [*(q.col(k) for k in self.keys), q.col(OP), q.col(TURN)]
        for c in self.cells:
            untouched = q.is_null(q.col(turn_of(c)))
            picked.append(q.aliased(q.choose((untouched, exp.Null()), otherwise=_boxed(q.col(c.id))), c.id))
        return q.select(picked, q.subquery(events, "e"))

    def first(self, before: Query) -> exp.Select:
        """The rows before all changes, as if inserted in turn 0."""
        picked: list[exp.Expr] = [*(q.col(k) for k in self.keys)]
        picked += [q.aliased(q.cast_to(q.text(INSERT), STRING), OP), q.aliased(q.cast_to(q.number(0), INT), TURN)]
        picked += [q.aliased(_boxed(q.col(c.id)), c.id) for c in self.cells]
        return q.select(picked, q.subquery(before.expression, "b"))

    def carried(self, rows: exp.Select | exp.Union) -> exp.Select:
        """Each event with the cells of the row after it, and whether the row was there."""
        # In a fold, a key that was deleted and inserted again has both in one turn.
        late = q.choose((_is(OP, DELETE), q.number(0)), otherwise=q.number(1))
        order = exp.Add(this=exp.Mul(this=q.col(TURN, "r"), expression=q.number(2)), expression=late)
        picked = [*(q.col(k) for k in self.keys), q.aliased(order, _ORDER), q.col(NUMBER, "n"), q.col(OP)]
        join = q.joined(
            q.table(self.sources.add(Rows(self.part.numbers)), "n"),
            exp.EQ(this=q.col(TURN, "r"), expression=q.col(TURN, "n")),
            "inner",
        )
        inner = q.select([*picked, *(q.col(c.id) for c in self.cells)], q.subquery(rows, "r"), join=join)
        moves = q.choose((_is(OP, UPDATE), exp.Null()), otherwise=q.col(OP))
        found = [*(q.col(k) for k in self.keys), q.col(_ORDER), q.col(NUMBER), q.aliased(self._last(moves), _LIVE)]
        found.append(q.aliased(self._over(exp.Lead(this=q.col(NUMBER))), _NEXT))
        found += [q.aliased(self._last(q.col(c.id)), c.id) for c in self.cells]
        return q.select(found, q.subquery(inner, "i"))

    def last_of_each(self, events: exp.Select) -> exp.Select:
        """The last event of each commit: a merge may touch a key in several steps."""
        is_last = q.any_of([q.is_null(q.col(_NEXT)), exp.NEQ(this=q.col(_NEXT), expression=q.col(NUMBER))])
        return q.select([exp.Star()], q.subquery(events, "w"), where=is_last)

    def paired(self, events: exp.Select) -> exp.Select:
        """Each change with the row before it."""
        picked: list[exp.Expr] = [*(q.col(k) for k in self.keys), q.col(NUMBER), q.col(_LIVE)]
        picked.append(q.aliased(self._over(exp.Lag(this=q.col(_LIVE))), _WAS))
        for c in self.cells:
            picked.append(q.aliased(_unboxed(q.col(c.id)), c.id))
            picked.append(q.aliased(_unboxed(self._over(exp.Lag(this=q.col(c.id)))), c.before))
        return q.select(picked, q.subquery(events, "s"))

    def outcomes(self, changes: exp.Select) -> exp.Select:
        """What happened to each key; leaves out unchanged keys and the rows before."""
        was, live = _is(_WAS, INSERT), _is(_LIVE, INSERT)
        there = exp.Coalesce(this=was, expressions=[exp.false()])
        op = q.choose(
            (q.all_of([there, live]), q.text(UPDATE)),
            (there.copy(), q.text(DELETE)),
            (live.copy(), q.text(INSERT)),
            otherwise=q.text(SAME),
        )
        values = [q.col(n) for c in self.cells for n in (str(c.id), c.before)]
        inner = q.select(
            [*(q.col(k) for k in self.keys), q.col(NUMBER), q.aliased(op, OP), *values], q.subquery(changes, "p")
        )
        later = exp.GT(this=q.col(NUMBER), expression=q.number(0))
        tests = q.all_of([exp.NEQ(this=q.col(OP), expression=q.text(SAME)), later])
        return q.select([exp.Star()], q.subquery(inner, "t"), where=tests)

    def _last(self, value: exp.Expr) -> exp.Window:
        return self._over(exp.IgnoreNulls(this=exp.LastValue(this=value)))

    def _over(self, function: exp.Expr) -> exp.Window:
        order = exp.Order(expressions=[exp.Ordered(this=q.col(_ORDER), nulls_first=True)])
        return exp.Window(this=function, partition_by=[q.col(k) for k in self.keys], order=order, over="OVER")


def _boxed(value: exp.Expr) -> exp.Expr:
    return exp.Struct(expressions=[exp.PropertyEQ(this=q.ident(_VALUE), expression=value)])


def _unboxed(box: exp.Expr) -> exp.Expr:
    return exp.Dot(this=exp.Paren(this=box), expression=q.ident(_VALUE))


@dataclass(frozen=True)
class Shape:
    """What all parts of a feed share: the columns on both sides, and the order of rows within a commit."""

    columns: tuple[Column, ...]
    shown: tuple[Column, ...]
    """The columns that users see."""
    order: tuple[Column, ...]

    def of(self, query: exp.Select | exp.Union, keys: Sequence[Column], commit: int | None = None) -> exp.Select:
        """Bring changes into this shape; key columns have one value for both sides.

        An update that changes nothing that users see is left out.
        """
        one = {str(c.id) for c in keys}
        described = q.col(NUMBER) if commit is None else q.aliased(q.cast_to(q.number(commit), INT), NUMBER)
        picked = [described, q.aliased(q.cast_to(q.col(OP), STRING), OP)]
        for c in self.columns:
            sides = (str(c.id), str(c.id) if c.id in one else c.before)
            gone = (DELETE, INSERT)  # A missing row has no key, either.
            for name, source, absent in zip((str(c.id), c.before), sides, gone, strict=True):
                value = q.choose((_is(OP, absent), q.null_of(c.type)), otherwise=q.col(source))
                picked.append(q.aliased(value, name))
        for c in self.order:
            picked.append(q.aliased(q.col(c.id) if c.id in one else q.null_of(c.type), f"{c.id}_o"))
        plain = [c for c in self.shown if str(c.id) not in one]
        changed = q.any_of([differs(c.type, q.col(c.before), q.col(c.id)) for c in plain])
        real = q.any_of([exp.NEQ(this=q.col(OP), expression=q.text(UPDATE)), changed])
        return q.select([exp.Star()], q.subquery(q.select(picked, q.subquery(query, "h")), "v"), where=real)

    def nothing(self) -> exp.Select:
        """A feed without changes."""
        picked = [q.aliased(q.null_of(INT), NUMBER), q.aliased(q.null_of(STRING), OP)]
        picked += [q.aliased(q.null_of(c.type), n) for c in self.columns for n in (str(c.id), c.before)]
        picked += [q.aliased(q.null_of(c.type), f"{c.id}_o") for c in self.order]
        return q.select([exp.Star()], q.subquery(q.select(picked), "none"), where=exp.false())


def only_where(feed: exp.Select | exp.Union, shape: Shape, read: Sequence[Column], test: exp.Expr) -> exp.Select:
    """Keep a change if its row before or after satisfies a user's condition."""
    found: exp.Select | exp.Union = feed
    for flag, absent, side in ((_SIDES[0], DELETE, lambda c: str(c.id)), (_SIDES[1], INSERT, lambda c: c.before)):
        users = [q.aliased(q.col(side(c), "s"), c.name) for c in read]
        inner = q.select([exp.Column(this=exp.Star(), table=q.ident("s")), *users], q.subquery(found, "s"))
        holds = q.all_of([exp.NEQ(this=q.col(OP), expression=q.text(absent)), exp.Paren(this=test.copy())])
        names = [NUMBER, OP, *(n for c in shape.columns for n in (str(c.id), c.before))]
        names += [f"{c.id}_o" for c in shape.order] + list(_SIDES[: _SIDES.index(flag)])
        picked = [*(q.col(n) for n in names), q.aliased(exp.Coalesce(this=holds, expressions=[exp.false()]), flag)]
        found = q.select(picked, q.subquery(inner, "u"))
    return q.select([exp.Star()], q.subquery(found, "c"), where=q.any_of([q.col(flag) for flag in _SIDES]))


def only_key(feed: exp.Select | exp.Union, key: Sequence[Column], rows: str) -> exp.Select:
    """Keep the changes of rows that have one of these keys before or after."""
    sides = [
        q.all_of([exp.EQ(this=q.col(name(c), "f"), expression=q.col(c.id, "k")) for c in key])
        for name in (lambda c: str(c.id), lambda c: c.before)
    ]
    on = q.any_of([exp.Paren(this=s) for s in sides])
    return q.select([exp.Star()], q.subquery(feed, "f"), join=q.joined(q.table(rows, "k"), on, "left semi"))


def in_spark_words(
    feed: exp.Select | exp.Union, shape: Shape, commits: str, sources: Sources, *, ordered: bool
) -> exp.Select:
    """One row for each side of each change, in Spark's words, under users' names."""
    is_before = exp.EQ(this=q.col(_IMAGE, "i"), expression=q.number(0))
    picked: list[exp.Expr] = [
        q.aliased(q.choose((is_before.copy(), q.col(c.before, "q")), otherwise=q.col(c.id, "q")), c.name)
        for c in shape.shown
    ]
    picked.append(q.aliased(q.col(CHANGE_TYPE, "i"), CHANGE_TYPE))
    picked += [q.aliased(q.col(n, "n"), n) for n in (COMMIT_VERSION, COMMIT_TIMESTAMP)]
    images = q.table(sources.add(Rows(_IMAGES)), "i")
    whole = q.select(
        picked,
        q.subquery(feed, "q"),
        join=q.joined(images, exp.EQ(this=q.col(OP, "q"), expression=q.col(OP, "i")), "inner"),
    )
    same = exp.EQ(this=q.col(NUMBER, "q"), expression=q.col(NUMBER, "n"))
    whole.append("joins", q.joined(q.table(commits, "n"), same, "inner"))
    if ordered:
        by = [*(q.col(n, "q") for n in (NUMBER, *(f"{c.id}_o" for c in shape.order))), q.col(_IMAGE, "i")]
        whole.set("order", exp.Order(expressions=[exp.Ordered(this=c, nulls_first=True) for c in by]))
    return whole


_IMAGES = pa.table(
    {
        OP: [INSERT, UPDATE, UPDATE, DELETE],
        _IMAGE: pa.array([1, 0, 1, 0], pa.int32()),
        CHANGE_TYPE: ["insert", "update_preimage", "update_postimage", "delete"],
    }
)
"""The sides that each kind of change shows: 0 is before, 1 is after."""


def _is(name: str, value: str) -> exp.EQ:
    return exp.EQ(this=q.col(name), expression=q.text(value))
