"""Fold the changes of several turns into one. Rows that were inserted meanwhile are read by `scan`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries import query as q
from anabranch.queries.nested import differs, last_of
from anabranch.queries.object_groups import INT, ObjectGroup
from anabranch.queries.overlay_columns import GONE, turn_of
from anabranch.queries.query import DELETE, OP, SAME, TURN, UPDATE, Query, Sources
from anabranch.queries.scan import Access, Scan

BORN = "_ana_born"


def folded(state: TableState, cells: Sequence[Column], access: Access) -> Query:
    """One row per key that the state's layers change: what happened to it, seen from the rows before them.

    A deleted key stays deleted, whatever came after; one that was only inserted does not concern the rows before. Cells
    of other keys have the first value before and the last value after, or two nulls if nothing touched them.
    """
    sources = Sources()
    plan = _Fold(state, tuple(cells), access, sources, None, False)
    return Query(plan.fold(), sources.named)


class _Fold(Scan):
    """A scan that returns what changed instead of what is there."""

    def fold(self) -> exp.Select:
        changed = [x for x in self.state.layers if x.object.kind != "rows"]
        born = [x for x in self.state.layers if x.object.kind == "rows"]
        parts = [self._changed(group) for group in self._groups(changed)]
        parts += [self._born(group) for group in self._groups(born)]
        once = q.select([*(q.col(k) for k in self.key_ids), *self._netted()], q.subquery(q.union_all(parts), "f"))
        once.set("group", exp.Group(expressions=[q.col(k) for k in self.key_ids]))
        values = [q.aliased(q.cast_to(q.col(n), c.type), n) for c in self.columns for n in (str(c.id), c.before)]
        return q.select([*(q.col(k) for k in self.key_ids), *values, q.aliased(self._op(), OP)], q.subquery(once, "o"))

    def _op(self) -> exp.Case:
        """What happened to a key; if its first change is an insert, nothing. Within one turn, deletes come first."""
        first = exp.LT(this=q.col(BORN), expression=q.col(GONE))
        new = q.all_of([q.is_null(q.col(GONE)), exp.Not(this=q.is_null(q.col(BORN)))])
        gone = exp.Not(this=q.is_null(q.col(GONE)))
        changed = q.any_of([differs(c.type, q.col(c.before), q.col(c.id)) for c in self.columns])
        cases = ((first, SAME), (new, SAME), (gone, DELETE), (changed, UPDATE))
        return q.choose(*((test, q.text(op)) for test, op in cases), otherwise=q.text(SAME))

    def _netted(self) -> list[exp.Alias]:
        found = [q.aliased(exp.Min(this=q.col(name)), name) for name in (GONE, BORN)]
        for c in self.columns:
            turn = turn_of(c)
            found.append(q.aliased(last_of(c.type, q.col(c.id), q.col(turn)), c.id))
            found.append(q.aliased(exp.ArgMin(this=q.col(c.before), expression=q.col(turn)), c.before))
        return found

    def _changed(self, group: ObjectGroup) -> exp.Select:
        """Which keys were deleted in which turn, and the values of changed cells before and after."""
        turn, deletes = self._turn(group), group.kind == "delete"
        picked = [q.aliased(group.value(c), c.id) for c in self.key]
        picked += [q.aliased(turn if deletes else q.null_of(INT), GONE), q.aliased(q.null_of(INT), BORN)]
        for c in self.columns:
            if deletes or not group.touches(c):
                picked += self._untouched(c)
                continue
            changed = group.changes(c)
            for value, name in ((group.value(c), str(c.id)), (group.before(c), c.before), (turn, turn_of(c))):
                picked.append(q.aliased(q.choose((changed.copy(), value.copy()), otherwise=exp.Null()), name))
        return self._limited(picked, group)

    def _born(self, group: ObjectGroup) -> exp.Select:
        picked = [q.aliased(group.value(c), c.id) for c in self.key]
        picked += [q.aliased(q.null_of(INT), GONE), q.aliased(self._turn(group), BORN)]
        return self._limited([*picked, *(x for c in self.columns for x in self._untouched(c))], group)

    def _untouched(self, column: Column) -> list[exp.Alias]:
        nulls = ((column.id, column.type), (column.before, column.type), (turn_of(column), INT))
        return [q.aliased(q.null_of(type_), name) for name, type_ in nulls]

    def _turn(self, group: ObjectGroup) -> exp.Cast:
        return q.cast_to(q.col(TURN, "o") if group.has_turns else q.number(group.turn), INT)
