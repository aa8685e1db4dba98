"""Merging rows: base, ours and theirs at the same keys, decided row by row and cell by cell.

The result has, for each key, all three rows, the merged row, and which cells or rows are in conflict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.plan.merge.rules import CONFLICT, RowPolicy, Rule
from anabranch.queries import query as q
from anabranch.queries.nested import differs
from anabranch.queries.query import Query, Sources

BASE, OURS, THEIRS = "0", "1", "2"
SIDES = (BASE, OURS, THEIRS)
KIND = "_ana_kind"
"""What ours and theirs did to a row that is in conflict as a whole; null for others."""
STAYS = "_ana_stays"
"""Whether the row is there after the merge."""
UPDATED, FILLED = "_updated", "filled"
"""How a side used a column: suffixes of the column's id."""
EDITED = {OURS: "_ana_edited_1", THEIRS: "_ana_edited_2"}
INT, STRING = DataType("int"), DataType("string")


def there(side: str) -> str:
    """The column that says whether a side has the row."""
    return f"_ana_there_{side}"


def value_of(column: Column, side: str) -> str:
    """The name of a side's value of a column; the merged value has the column's own name."""
    return f"{column.id}_{side}"


def conflict_of(column: Column) -> str:
    """The column that says whether a cell is in conflict."""
    return f"{column.id}_c"


def unknown_of(column: Column) -> str:
    """The column that says whether the bases of a criss-cross disagree on a cell."""
    return f"{column.id}_u"


def lost_of(column: Column) -> str:
    """The column that says whether ours is a base in which a cell is unknown."""
    return f"{column.id}_v"


def time_of(column: Column, side: str) -> str:
    """The column that says when a side last changed a cell."""
    return f"{column.id}_w{side}"


ROW_TIME = {OURS: "_ana_when_1", THEIRS: "_ana_when_2"}


@dataclass(frozen=True)
class Decision:
    """How rows are decided."""

    schema: Schema
    cells: tuple[Column, ...]
    """The columns besides the key, as they are after the merge."""
    policy: RowPolicy
    expressions: Mapping[str, exp.Expr] = field(default_factory=dict)
    """Users' rules by column id, over columns `base`, `ours` and `theirs`."""
    virtual: bool = False
    """Whether conflicts become unknown cells, as in the base of a criss-cross."""
    has_unknown: bool = False
    """Whether the base has such cells."""
    ours_has_unknown: bool = False
    younger: frozenset[Column] = frozenset()
    """Columns that no commit of the base has: its rows show their initial defaults, which are never unknown."""
    has_times: bool = False
    lacking: frozenset[tuple[str, str]] = frozenset()
    """Columns that a side does not have, by side and column id: it set no cell of them."""

    def for_base(
        self,
        younger: frozenset[Column],
        lacking: frozenset[tuple[str, str]],
        *,
        has_unknown: bool,
        ours_has_unknown: bool,
    ) -> Decision:
        """How to unite commits into one base, with no side preferred."""
        plain = replace(self.policy, theirs_deletes_win=False, only_new_rows=False, replaces_all=False)
        return replace(
            self,
            policy=plain,
            virtual=True,
            has_unknown=has_unknown,
            ours_has_unknown=ours_has_unknown,
            younger=younger,
            lacking=lacking,
            has_times=False,
        )


def decided(
    keys: exp.Table | exp.Subquery,
    states: Mapping[str, Query],
    how: Decision,
    sources: Sources,
    times: Mapping[str, Query] | None = None,
) -> Query:
    """Decide the rows at these keys."""
    return Query(_Decide(how).build(keys, states, times or {}), sources.named)


@dataclass(frozen=True)
class _Decide:
    how: Decision

    @property
    def key(self) -> list[str]:
        return [str(k) for k in self.how.schema.key_ids]

    def build(
        self, keys: exp.Table | exp.Subquery, states: Mapping[str, Query], times: Mapping[str, Query]
    ) -> exp.Select:
        found = self._side_by_side(keys, states, times)
        edited = q.select([exp.Star(), *(self._edited(s) for s in (OURS, THEIRS))], q.subquery(found, "s"))
        return self._results(edited)

    def _side_by_side(
        self, keys: exp.Table | exp.Subquery, states: Mapping[str, Query], times: Mapping[str, Query]
    ) -> exp.Select:
        """The three rows at each key, and which cells each side changed."""
        picked: list[exp.Expr] = [q.col(k, "k") for k in self.key]
        picked += [q.aliased(flag(exp.Not(this=q.is_null(q.col(self.key[0], f"s{s}")))), there(s)) for s in SIDES]
        for c in self.how.cells:
            picked += [q.aliased(q.col(c.id, f"s{s}"), value_of(c, s)) for s in SIDES]
            picked += [q.aliased(self._changed(c, s), changed_of(c, s)) for s in (OURS, THEIRS)]
            if self.how.has_unknown:
                lost = exp.Coalesce(this=q.col(unknown_of(c), "s0"), expressions=[q.number(0)])
                picked.append(q.aliased(lost, unknown_of(c)))
            if self.how.ours_has_unknown:
                lost = exp.Coalesce(this=q.col(unknown_of(c), "s1"), expressions=[q.number(0)])
                picked.append(q.aliased(lost, lost_of(c)))
            picked += [_when(time_of(c, s), s) for s in times if by_time(c, self.how)]
        picked += [_when(ROW_TIME[s], s) for s in times]
        query = q.select(picked, keys)
        joined = {**{f"s{s}": states[s] for s in SIDES}, **{f"w{s}": when for s, when in times.items()}}
        for alias, rows in joined.items():
            query.append(
                "joins", q.joined(q.subquery(rows.expression, alias), q.same_key(self.key, "k", alias), "left")
            )
        return query

    def _rule(self, c: Column) -> Rule:
        return self.how.policy.rules.get(c.id, CONFLICT)

    def _changed(self, c: Column, side: str) -> exp.Expr:
        """Whether a side's value differs from the base's; every value differs from an unknown one."""
        if self._lacks(c, side):
            return q.number(0)
        test = differs(c.type, q.col(c.id, "s0"), q.col(c.id, f"s{side}"))
        unknown = ["s0"] if self.how.has_unknown else []
        unknown += ["s1"] if self.how.ours_has_unknown and side == OURS else []
        tests = [exp.EQ(this=q.col(unknown_of(c), s), expression=q.number(1)) for s in unknown]
        return flag(q.any_of([*tests, test]))

    def _lacks(self, c: Column, side: str) -> bool:
        return (side, str(c.id)) in self.how.lacking

    def _edited(self, side: str) -> exp.Alias:
        """Whether a side did anything to the row since the base."""
        came_or_went = exp.NEQ(this=q.col(there(BASE)), expression=q.col(there(side)))
        both = q.all_of([is_set(there(BASE)), is_set(there(side))])
        changed = q.any_of([is_set(changed_of(c, side)) for c in self.how.cells])
        test = q.any_of([came_or_went, q.all_of([both, exp.Paren(this=changed)])])
        if side == THEIRS and self.how.policy.only_new_rows:
            test = q.all_of([is_not_set(there(BASE)), exp.Paren(this=test)])
        return q.aliased(flag(test), EDITED[side])

    # --- decisions ---

    def _results(self, edited: exp.Select) -> exp.Select:
        picked: list[exp.Expr] = [exp.Star()]
        merged = [self._cell(c) for c in self.how.cells]
        stays = self._plain_stay()
        stays = q.any_of([self._one_went(), exp.Paren(this=stays)]) if self.how.virtual else stays
        picked.append(q.aliased(flag(stays), STAYS))
        picked.append(q.aliased(self._kind(), KIND))
        for c, (value, conflict) in zip(self.how.cells, merged, strict=True):
            picked.append(q.aliased(q.cast_to(self._value(c, value), c.type), c.id))
            clash = exp.false() if self.how.policy.replaces_all else q.all_of([self._meet(), conflict])
            if self.how.virtual and c not in self.how.younger:
                clash = q.any_of([self._one_went(), exp.Paren(this=clash)])
            if self.how.ours_has_unknown:
                clash = q.any_of([is_set(lost_of(c)), exp.Paren(this=clash)])
            picked.append(q.aliased(flag(clash), conflict_of(c)))
        return q.select(picked, q.subquery(edited, "e"))

    def _meet(self) -> exp.Condition:
        """Whether both sides have the row and changed it."""
        return q.all_of([*(is_set(n) for n in (there(OURS), there(THEIRS), EDITED[OURS], EDITED[THEIRS]))])

    def _takes_theirs(self) -> exp.Condition:
        """Whether theirs' row is taken: ours did not change it, or a rule says so."""
        if self.how.policy.replaces_all:
            return exp.true()
        cases = [q.all_of([is_set(EDITED[THEIRS]), is_not_set(EDITED[OURS])])]
        lost = self._one_went()
        if self.how.policy.theirs_deletes_win:
            cases.append(q.all_of([lost.copy(), is_not_set(there(THEIRS))]))
        rule = self.how.policy.rule.word
        if rule == "theirs":
            cases.append(lost.copy())
        if rule == "newest" and self.how.has_times:
            newer = exp.GT(this=q.col(ROW_TIME[THEIRS]), expression=q.col(ROW_TIME[OURS]))
            cases.append(q.all_of([lost.copy(), newer]))
        return q.any_of([exp.Paren(this=case) for case in cases])

    def _one_went(self) -> exp.Condition:
        """Whether one side deleted the row and the other changed it."""
        return q.all_of(
            [
                is_set(EDITED[OURS]),
                is_set(EDITED[THEIRS]),
                exp.NEQ(this=q.col(there(OURS)), expression=q.col(there(THEIRS))),
            ]
        )

    def _plain_stay(self) -> exp.Condition:
        taken = q.choose((self._takes_theirs(), q.col(there(THEIRS))), otherwise=q.col(there(OURS)))
        return exp.EQ(this=taken, expression=q.number(1))

    def _kind(self) -> exp.Expr:
        """The kind of a conflict of whole rows: one side deleted what the other changed."""
        tests = [q.all_of([self._one_went(), exp.Not(this=exp.Paren(this=self._takes_theirs())), *self._not_ours()])]
        if self.how.policy.strictness == "disjoint":
            tests.append(q.all_of([is_set(EDITED[OURS]), is_set(EDITED[THEIRS]), is_not_set(there(OURS))]))
        kinds = exp.Concat(expressions=[_did(OURS), q.text("/"), _did(THEIRS)], safe=True)
        return q.choose((q.any_of([exp.Paren(this=t) for t in tests]), kinds), otherwise=q.null_of(STRING))

    def _not_ours(self) -> list[exp.Expr]:
        word = self.how.policy.rule.word
        is_ours = self.how.virtual or word == "ours" or (word == "newest" and self.how.has_times)
        return [exp.false()] if is_ours else []

    def _value(self, c: Column, merged: exp.Expr) -> exp.Expr:
        """The value of a cell after the merge."""
        if c in self.how.younger:
            return exp.Coalesce(this=q.col(value_of(c, OURS)), expressions=[q.col(value_of(c, THEIRS))])
        for side, other in ((OURS, THEIRS), (THEIRS, OURS)):
            if self._lacks(c, side):  # A side has no say in a column that it lacks.
                return q.choose((is_set(there(other)), q.col(value_of(c, other))), otherwise=q.col(value_of(c, side)))
        return q.choose(
            (self._takes_theirs(), q.col(value_of(c, THEIRS))),
            (self._meet(), merged),
            otherwise=q.col(value_of(c, OURS)),
        )

    def _cell(self, c: Column) -> tuple[exp.Expr, exp.Expr]:
        """The value of a cell in a row that both sides have and touched, and whether it is in conflict."""
        ours, theirs = q.col(value_of(c, OURS)), q.col(value_of(c, THEIRS))
        differ = differs(c.type, ours.copy(), theirs.copy())
        only_theirs, only_ours = (self._is_left_to_other(c, s) for s in (OURS, THEIRS))
        cases: list[tuple[exp.Expr, exp.Expr]] = [(only_theirs, theirs), (only_ours, ours)]
        ruled = self._ruled(c)
        if self._rule(c).word == "sum":
            cases += ruled  # Both deltas count, even equal ones.
        cases.append((exp.Not(this=exp.Paren(this=differ)), ours.copy()))
        if self._rule(c).word != "sum":
            cases += ruled
        value = q.choose(*cases, otherwise=ours.copy())
        if self.how.policy.judges_rows:
            return value, exp.false() if ruled else self._strict(c, differ)
        free = q.any_of([exp.Paren(this=test.copy()) for test, _ in cases])
        return value, exp.Not(this=exp.Paren(this=free))

    def _is_left_to_other(self, c: Column, side: str) -> exp.Expr:
        """Whether a side gave the cell no value of its own: it did not change it, or lacks the column."""
        return exp.true() if self._lacks(c, side) else q.all_of([is_set(there(BASE)), is_not_set(changed_of(c, side))])

    def _strict(self, c: Column, differ: exp.Expr) -> exp.Expr:
        """Whether a cell of a row that both changed conflicts: for `disjoint` if touched, else if it differs."""
        touched = q.any_of([is_set(changed_of(c, s)) for s in (OURS, THEIRS)])
        return touched if self.how.policy.strictness == "disjoint" else differ.copy()

    def _ruled(self, c: Column) -> list[tuple[exp.Expr, exp.Expr]]:
        """When a rule decides a cell that both sides changed differently, and to what."""
        if self.how.virtual and self._rule(c).word not in ("sum", "min", "max", "union", "coalesce"):
            return []  # A base has no notion of which side is ours.
        base, ours, theirs = (q.col(value_of(c, s)) for s in SIDES)
        known: list[exp.Expr] = [
            is_set(there(BASE)),
            *(exp.Not(this=q.is_null(v.copy())) for v in (base, ours, theirs)),
        ]
        known.append(self._is_known(c))
        word = self._rule(c).word
        none = [(q.is_null(ours.copy()), theirs.copy()), (q.is_null(theirs.copy()), ours.copy())]
        if word == "ours":
            return [(exp.true(), ours)]
        if word == "theirs":
            return [(exp.true(), theirs)]
        if word == "newest":
            newer = exp.GT(this=q.col(time_of(c, THEIRS)), expression=q.col(time_of(c, OURS)))
            return [(newer, theirs), (exp.true(), ours)] if self.how.has_times else []
        if word == "sum":
            total = exp.Sub(this=exp.Add(this=ours, expression=theirs), expression=base)
            return [(q.all_of(known), total)]
        if word in ("min", "max"):
            least = exp.LTE if word == "min" else exp.GTE
            return [*none, (least(this=ours.copy(), expression=theirs.copy()), ours), (exp.true(), theirs)]
        if word == "coalesce":
            return [*none]
        if word == "union":
            return [*none, (exp.true(), _union(ours, theirs))]
        if word == "expression":
            sides = {"base": base, "ours": ours, "theirs": theirs}
            return [(self._is_known(c), filled(self.how.expressions[str(c.id)], sides))]
        return []

    def _is_known(self, c: Column) -> exp.Expr:
        """Whether the cell is known in the base, which an expression may use."""
        return is_not_set(unknown_of(c)) if self.how.has_unknown else exp.true()


def by_time(c: Column, how: Decision) -> bool:
    """Whether the newer side wins for a column."""
    return how.has_times and how.policy.rules.get(c.id, CONFLICT).word == "newest"


def _when(name: str, side: str) -> exp.Alias:
    """When a side last touched something; 0 if never."""
    return q.aliased(exp.Coalesce(this=q.col(name, f"w{side}"), expressions=[q.number(0)]), name)


def filled(expression: exp.Expr, sides: Mapping[str, exp.Expr]) -> exp.Expr:
    """A user's rule with the three values in place of their names."""

    def put(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name.lower() in sides and not node.table:
            return sides[node.name.lower()].copy()
        return node

    return exp.Paren(this=expression.copy().transform(put))


def _union(ours: exp.Expr, theirs: exp.Expr) -> exp.Expr:
    """The elements of ours, then those of theirs that ours lacks."""
    item = exp.column("ana_item")
    has = exp.ArrayContains(this=ours.copy(), expression=item)
    lacks = exp.Not(this=exp.Coalesce(this=has, expressions=[exp.true()]))
    new = exp.ArrayFilter(this=theirs, expression=exp.Lambda(this=lacks, expressions=[exp.to_identifier("ana_item")]))
    return exp.ArrayConcat(this=ours, expressions=[new])


def _did(side: str) -> exp.Case:
    """What a side did to a row."""
    had, has = is_set(there(BASE)), is_set(there(side))
    return q.choose(
        (q.all_of([had, has]), q.text("update")), (had.copy(), q.text("delete")), otherwise=q.text("insert")
    )


def changed_of(column: Column, side: str) -> str:
    return f"{column.id}_d{side}"


def flag(test: exp.Expr) -> exp.Case:
    return q.choose((test, q.number(1)), otherwise=q.number(0))


def is_set(name: str) -> exp.EQ:
    return exp.EQ(this=q.col(name), expression=q.number(1))


def is_not_set(name: str) -> exp.EQ:
    return exp.EQ(this=q.col(name), expression=q.number(0))
