"""Folding: the changes of several turns become one. Rows that were inserted meanwhile are read by `scan`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries.nested import differs, last_of
from anabranch.queries.object_groups import INT, ObjectGroup
from anabranch.queries.overlay_columns import GONE, turn_of
from anabranch.queries.query import (
    DELETE,
    OP,
    SAME,
    TURN,
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
    null_of,
    number,
    select,
    subquery,
    text,
    union_all,
)
from anabranch.queries.scan import Access, Scan

BORN = "_ana_born"


def folded(state: TableState, cells: Sequence[Column], access: Access) -> Query:
    """One row per key that the state's layers change: what became of it for those who had it before them.

    A key that was deleted is deleted, whatever came after; one that was only inserted is new to those before. Of the
    others, cells have the first value before and the last value after, or two nulls where nothing touched them.
    """
    sources = Sources()
    plan = _Fold(state, tuple(cells), access, sources, None, False)
    return Query(plan.fold(), sources.named)


class _Fold(Scan):
    """A scan that tells what changed instead of what is there."""

    def fold(self) -> exp.Select:
        changed = [x for x in self.state.layers if x.object.kind != "rows"]
        born = [x for x in self.state.layers if x.object.kind == "rows"]
        parts = [self._changed(group) for group in self._groups(changed)]
        parts += [self._born(group) for group in self._groups(born)]
        once = select([*(col(k) for k in self.key_ids), *self._netted()], subquery(union_all(parts), "f"))
        once.set("group", exp.Group(expressions=[col(k) for k in self.key_ids]))
        values = [aliased(cast_to(col(n), c.type), n) for c in self.columns for n in (str(c.id), c.before)]
        return select([*(col(k) for k in self.key_ids), *values, aliased(self._op(), OP)], subquery(once, "o"))

    def _op(self) -> exp.Case:
        """A key that the layers insert first is none of those before; within one turn a delete comes first."""
        first = exp.LT(this=col(BORN), expression=col(GONE))
        new = all_of([is_null(col(GONE)), exp.Not(this=is_null(col(BORN)))])
        gone = exp.Not(this=is_null(col(GONE)))
        changed = any_of([differs(c.type, col(c.before), col(c.id)) for c in self.columns])
        cases = ((first, SAME), (new, SAME), (gone, DELETE), (changed, UPDATE))
        return choose(*((test, text(op)) for test, op in cases), otherwise=text(SAME))

    def _netted(self) -> list[exp.Alias]:
        found = [aliased(exp.Min(this=col(name)), name) for name in (GONE, BORN)]
        for c in self.columns:
            turn = turn_of(c)
            found.append(aliased(last_of(c.type, col(c.id), col(turn)), c.id))
            found.append(aliased(exp.ArgMin(this=col(c.before), expression=col(turn)), c.before))
        return found

    def _changed(self, group: ObjectGroup) -> exp.Select:
        """Which keys went in which turn, and which cells had and got which value."""
        turn, deletes = self._turn(group), group.kind == "delete"
        picked = [aliased(group.value(c), c.id) for c in self.key]
        picked += [aliased(turn if deletes else null_of(INT), GONE), aliased(null_of(INT), BORN)]
        for c in self.columns:
            if deletes or not group.touches(c):
                picked += self._untouched(c)
                continue
            changed = group.changes(c)
            for value, name in ((group.value(c), str(c.id)), (group.before(c), c.before), (turn, turn_of(c))):
                picked.append(aliased(choose((changed.copy(), value.copy()), otherwise=exp.Null()), name))
        return self._limited(picked, group)

    def _born(self, group: ObjectGroup) -> exp.Select:
        picked = [aliased(group.value(c), c.id) for c in self.key]
        picked += [aliased(null_of(INT), GONE), aliased(self._turn(group), BORN)]
        return self._limited([*picked, *(x for c in self.columns for x in self._untouched(c))], group)

    def _untouched(self, column: Column) -> list[exp.Alias]:
        nulls = ((column.id, column.type), (column.before, column.type), (turn_of(column), INT))
        return [aliased(null_of(type_), name) for name, type_ in nulls]

    def _turn(self, group: ObjectGroup) -> exp.Cast:
        return cast_to(col(TURN, "o") if group.has_turns else number(group.turn), INT)
