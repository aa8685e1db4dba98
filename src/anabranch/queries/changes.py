"""The feed of changes: every change of every commit with whole rows, from the changes and the rows before them.

A change holds the cells that it touched. What a row had besides is carried on from the changes before it, and from
the state before all of them: so one look-up serves all commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries.difference import CHANGE_TYPE
from anabranch.queries.nested import differs
from anabranch.queries.object_groups import INT
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.path_fold import STRING, path_events
from anabranch.queries.query import (
    DELETE,
    INSERT,
    OP,
    SAME,
    TURN,
    UPDATE,
    Query,
    Rows,
    Sources,
    aliased,
    all_of,
    any_of,
    cast_to,
    choose,
    col,
    ident,
    is_null,
    joined,
    null_of,
    number,
    select,
    subquery,
    table,
    text,
    union_all,
)
from anabranch.queries.scan import Access

NUMBER = "_ana_number"
"""The number of the commit in the feed."""
COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"
FEED_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
_ORDER, _LIVE, _WAS, _NEXT, _VALUE, _IMAGE = "_ana_order", "_ana_live", "_ana_was", "_ana_next", "v", "_ana_image"
_SIDES = ("_ana_holds_after", "_ana_holds_before")


@dataclass(frozen=True)
class ChangePart:
    """Changes of commits that follow one another, told by one key."""

    state: TableState
    """The table's columns and the key that tells rows apart here; its own layers are not read."""
    layers: tuple[Layer, ...]
    """With turns from 1 up."""
    numbers: pa.Table
    """The number of the commit of each turn, and 0 of turn 0."""


def whole_changes(
    part: ChangePart, before: Query | None, cells: Sequence[Column], access: Access, sources: Sources, keys: str | None
) -> exp.Select:
    """One row per key and commit: what became of the key, and the cells before and after.

    `before` has the rows before all of this, at least where the changes touch some; their cells are under their ids.
    """
    plan = _Whole(part, tuple(cells), sources)
    events = path_events(part.state, part.layers, cells, access, sources, keys)
    rows = union_all([plan.shaped(events), plan.first(before)]) if before else plan.shaped(events)
    return plan.told(plan.paired(plan.last_of_each(plan.carried(rows))))


@dataclass(frozen=True)
class _Whole:
    part: ChangePart
    cells: tuple[Column, ...]
    sources: Sources

    @property
    def keys(self) -> list[str]:
        return [str(c.id) for c in self.part.state.schema.key_columns]

    def shaped(self, events: exp.Select | exp.Union) -> exp.Select:
        """Events with touched cells put in a box each, so that a null in it is no untouched cell."""
        picked: list[exp.Expr] = [*(col(k) for k in self.keys), col(OP), col(TURN)]
        for c in self.cells:
            untouched = is_null(col(turn_of(c)))
            picked.append(aliased(choose((untouched, exp.Null()), otherwise=_boxed(col(c.id))), c.id))
        return select(picked, subquery(events, "e"))

    def first(self, before: Query) -> exp.Select:
        """The rows before all changes, as if they came in turn 0."""
        picked: list[exp.Expr] = [*(col(k) for k in self.keys)]
        picked += [aliased(cast_to(text(INSERT), STRING), OP), aliased(cast_to(number(0), INT), TURN)]
        picked += [aliased(_boxed(col(c.id)), c.id) for c in self.cells]
        return select(picked, subquery(before.expression, "b"))

    def carried(self, rows: exp.Select | exp.Union) -> exp.Select:
        """Each event with the cells that the row had after it, and whether there was one."""
        # In a fold, a key that went and came again is told in one turn.
        late = choose((_is(OP, DELETE), number(0)), otherwise=number(1))
        order = exp.Add(this=exp.Mul(this=col(TURN, "r"), expression=number(2)), expression=late)
        picked = [*(col(k) for k in self.keys), aliased(order, _ORDER), col(NUMBER, "n"), col(OP)]
        join = joined(
            table(self.sources.add(Rows(self.part.numbers)), "n"),
            exp.EQ(this=col(TURN, "r"), expression=col(TURN, "n")),
            "inner",
        )
        inner = select([*picked, *(col(c.id) for c in self.cells)], subquery(rows, "r"), join=join)
        moves = choose((_is(OP, UPDATE), exp.Null()), otherwise=col(OP))
        found = [*(col(k) for k in self.keys), col(_ORDER), col(NUMBER), aliased(self._last(moves), _LIVE)]
        found.append(aliased(self._over(exp.Lead(this=col(NUMBER))), _NEXT))
        found += [aliased(self._last(col(c.id)), c.id) for c in self.cells]
        return select(found, subquery(inner, "i"))

    def last_of_each(self, events: exp.Select) -> exp.Select:
        """The last event of each commit: a merge may touch a key in several steps."""
        is_last = any_of([is_null(col(_NEXT)), exp.NEQ(this=col(_NEXT), expression=col(NUMBER))])
        return select([exp.Star()], subquery(events, "w"), where=is_last)

    def paired(self, events: exp.Select) -> exp.Select:
        """Each change with what the row was before it."""
        picked: list[exp.Expr] = [*(col(k) for k in self.keys), col(NUMBER), col(_LIVE)]
        picked.append(aliased(self._over(exp.Lag(this=col(_LIVE))), _WAS))
        for c in self.cells:
            picked.append(aliased(_unboxed(col(c.id)), c.id))
            picked.append(aliased(_unboxed(self._over(exp.Lag(this=col(c.id)))), c.before))
        return select(picked, subquery(events, "s"))

    def told(self, changes: exp.Select) -> exp.Select:
        """What became of each key; what is as it was is left out, and so are the rows before."""
        was, live = _is(_WAS, INSERT), _is(_LIVE, INSERT)
        there = exp.Coalesce(this=was, expressions=[exp.false()])
        op = choose(
            (all_of([there, live]), text(UPDATE)),
            (there.copy(), text(DELETE)),
            (live.copy(), text(INSERT)),
            otherwise=text(SAME),
        )
        values = [col(n) for c in self.cells for n in (str(c.id), c.before)]
        inner = select([*(col(k) for k in self.keys), col(NUMBER), aliased(op, OP), *values], subquery(changes, "p"))
        later = exp.GT(this=col(NUMBER), expression=number(0))
        tests = all_of([exp.NEQ(this=col(OP), expression=text(SAME)), later])
        return select([exp.Star()], subquery(inner, "t"), where=tests)

    def _last(self, value: exp.Expr) -> exp.Window:
        return self._over(exp.IgnoreNulls(this=exp.LastValue(this=value)))

    def _over(self, function: exp.Expr) -> exp.Window:
        order = exp.Order(expressions=[exp.Ordered(this=col(_ORDER), nulls_first=True)])
        return exp.Window(this=function, partition_by=[col(k) for k in self.keys], order=order, over="OVER")


def _boxed(value: exp.Expr) -> exp.Expr:
    return exp.Struct(expressions=[exp.PropertyEQ(this=ident(_VALUE), expression=value)])


def _unboxed(box: exp.Expr) -> exp.Expr:
    return exp.Dot(this=exp.Paren(this=box), expression=ident(_VALUE))


@dataclass(frozen=True)
class Shape:
    """What every part of a feed has: the columns on both sides, and what rows of a commit are ordered by."""

    columns: tuple[Column, ...]
    shown: tuple[Column, ...]
    """Those of the columns that users see."""
    order: tuple[Column, ...]

    def of(self, query: exp.Select | exp.Union, keys: Sequence[Column], commit: int | None = None) -> exp.Select:
        """Bring changes into this shape; the key's columns have one value for both sides.

        An update that changes nothing that users see is left out.
        """
        one = {str(c.id) for c in keys}
        told = col(NUMBER) if commit is None else aliased(cast_to(number(commit), INT), NUMBER)
        picked = [told, aliased(cast_to(col(OP), STRING), OP)]
        for c in self.columns:
            sides = (str(c.id), str(c.id) if c.id in one else c.before)
            gone = (DELETE, INSERT)  # A row that is not there has no key, either.
            for name, source, absent in zip((str(c.id), c.before), sides, gone, strict=True):
                value = choose((_is(OP, absent), null_of(c.type)), otherwise=col(source))
                picked.append(aliased(value, name))
        for c in self.order:
            picked.append(aliased(col(c.id) if c.id in one else null_of(c.type), f"{c.id}_o"))
        plain = [c for c in self.shown if str(c.id) not in one]
        changed = any_of([differs(c.type, col(c.before), col(c.id)) for c in plain])
        real = any_of([exp.NEQ(this=col(OP), expression=text(UPDATE)), changed])
        return select([exp.Star()], subquery(select(picked, subquery(query, "h")), "v"), where=real)

    def nothing(self) -> exp.Select:
        """A feed without changes."""
        picked = [aliased(null_of(INT), NUMBER), aliased(null_of(STRING), OP)]
        picked += [aliased(null_of(c.type), n) for c in self.columns for n in (str(c.id), c.before)]
        picked += [aliased(null_of(c.type), f"{c.id}_o") for c in self.order]
        return select([exp.Star()], subquery(select(picked), "none"), where=exp.false())


def only_where(feed: exp.Select | exp.Union, shape: Shape, read: Sequence[Column], test: exp.Expr) -> exp.Select:
    """Keep a change if its row before or after meets a user's condition."""
    found: exp.Select | exp.Union = feed
    for flag, absent, side in ((_SIDES[0], DELETE, lambda c: str(c.id)), (_SIDES[1], INSERT, lambda c: c.before)):
        users = [aliased(col(side(c), "s"), c.name) for c in read]
        inner = select([exp.Column(this=exp.Star(), table=ident("s")), *users], subquery(found, "s"))
        holds = all_of([exp.NEQ(this=col(OP), expression=text(absent)), exp.Paren(this=test.copy())])
        names = [NUMBER, OP, *(n for c in shape.columns for n in (str(c.id), c.before))]
        names += [f"{c.id}_o" for c in shape.order] + list(_SIDES[: _SIDES.index(flag)])
        picked = [*(col(n) for n in names), aliased(exp.Coalesce(this=holds, expressions=[exp.false()]), flag)]
        found = select(picked, subquery(inner, "u"))
    return select([exp.Star()], subquery(found, "c"), where=any_of([col(flag) for flag in _SIDES]))


def only_key(feed: exp.Select | exp.Union, key: Sequence[Column], rows: str) -> exp.Select:
    """Keep the changes of rows that have one of these keys before or after."""
    sides = [
        all_of([exp.EQ(this=col(name(c), "f"), expression=col(c.id, "k")) for c in key])
        for name in (lambda c: str(c.id), lambda c: c.before)
    ]
    on = any_of([exp.Paren(this=s) for s in sides])
    return select([exp.Star()], subquery(feed, "f"), join=joined(table(rows, "k"), on, "left semi"))


def as_spark_tells(
    feed: exp.Select | exp.Union, shape: Shape, commits: str, sources: Sources, *, ordered: bool
) -> exp.Select:
    """One row for each side of each change, in Spark's words, under the names that users know."""
    is_before = exp.EQ(this=col(_IMAGE, "i"), expression=number(0))
    picked: list[exp.Expr] = [
        aliased(choose((is_before.copy(), col(c.before, "q")), otherwise=col(c.id, "q")), c.name) for c in shape.shown
    ]
    picked.append(aliased(col(CHANGE_TYPE, "i"), CHANGE_TYPE))
    picked += [aliased(col(n, "n"), n) for n in (COMMIT_VERSION, COMMIT_TIMESTAMP)]
    images = table(sources.add(Rows(_IMAGES)), "i")
    whole = select(
        picked, subquery(feed, "q"), join=joined(images, exp.EQ(this=col(OP, "q"), expression=col(OP, "i")), "inner")
    )
    same = exp.EQ(this=col(NUMBER, "q"), expression=col(NUMBER, "n"))
    whole.append("joins", joined(table(commits, "n"), same, "inner"))
    if ordered:
        by = [*(col(n, "q") for n in (NUMBER, *(f"{c.id}_o" for c in shape.order))), col(_IMAGE, "i")]
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
    return exp.EQ(this=col(name), expression=text(value))
