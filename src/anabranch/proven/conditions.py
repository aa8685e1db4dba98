"""The condition of a join or a filter, part by part: what can't fail is left to DuckDB's optimiser; what may fail is
asked only of rows that Spark would still have when it comes to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.proven.prover import settled
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.terms import Terms
from anabranch.queries.duck_text import DuckText, bracketed
from anabranch.queries.query import all_of, choose

_OUTSIDE = -1
"""The place of every table of the queries around."""
_EQUALITIES = ("$1 = $2", "$1 IS NOT DISTINCT FROM $2")


@dataclass(frozen=True)
class Conjunct:
    """One of the conditions that AND joins, the tables of FROM that it reads, and where Spark looks at it."""

    value: Value
    is_key: bool
    """Whether it equates something of one table with something of those before it, which is how engines join."""
    at: tuple[int, bool]
    """The place of the last table that it reads, and whether Spark comes to it while it joins that table."""

    @property
    def may_be_repeated(self) -> bool:
        """Whether it costs little and never fails, so that it may be asked before another one is."""
        return not self.value.may_fail and self.value.node.find(exp.Query) is None


def conjuncts(
    terms: Terms, condition: exp.Expr, aliases: Sequence[str] = (), alone: frozenset[int] | None = None
) -> list[Conjunct]:
    """Translate the parts of a condition over tables with these aliases.

    Spark looks at a part that reads one table before it joins that table; `alone` are the places of those tables for
    which an outer join lets it.
    """
    values = [terms.truth(part) for part in _parts(condition, terms)]
    if [v.type for v in values] == [None]:
        raise Unproven("a condition that is NULL")
    settle = len(values) > 1
    return [conjunct(settled(v) if settle else v, aliases, alone) for v in values]


def conjunct(value: Value, aliases: Sequence[str], alone: frozenset[int] | None = None) -> Conjunct:
    """Look up which tables a translated condition reads."""
    read = _places(value.node, aliases)
    at = (max(read, default=_OUTSIDE), len(read) > 1)
    if alone is not None and not read <= alone:
        at = (len(aliases) - 1, True)
    return Conjunct(value, _is_key(value.node, aliases), at)


def guarded(new: Sequence[Conjunct], known: Sequence[Conjunct] = ()) -> exp.Expr:
    """One condition of new parts, where known ones hold for all rows that count."""
    whole = [bracketed(c.value.node) for c in new if not _is_risky(c)]
    for at in dict.fromkeys(c.at for c in new if _is_risky(c)):
        whole.append(_in_turn(_steps(at, known, new)))
    return all_of(whole)


def _is_risky(part: Conjunct) -> bool:
    """Whether rows have to be kept away from it; keys are computed for all rows by every engine."""
    return part.value.may_fail and not part.is_key


def _steps(at: tuple[int, bool], known: Sequence[Conjunct], new: Sequence[Conjunct]) -> list[Conjunct]:
    """What Spark looks at up to the last part that may fail in one place: what lies below a join, then in turn."""
    last = max(n for n, c in enumerate(new) if _is_risky(c) and c.at == at)
    every = [*known, *new]
    below = [c for c in every if c.may_be_repeated and at[1] and c.at[0] <= at[0] and (c.at != at or c.is_key)]
    same_place = [c for c in every[: len(known) + last + 1] if c.at == at and (_is_risky(c) or c.may_be_repeated)]
    return [*below, *(c for c in same_place if c not in below)]


def _in_turn(steps: Sequence[Conjunct]) -> exp.Expr:
    """Ask one after the other, the next only where all before hold."""
    *before, last = steps
    whole = last.value.node.copy()
    while before:
        asked = [before.pop()]
        while before and not asked[-1].value.may_fail and not before[-1].value.may_fail:
            asked.append(before.pop())
        test = all_of([bracketed(c.value.node.copy()) for c in reversed(asked)])
        whole = choose((test, whole), otherwise=exp.false())
    return whole


def _parts(condition: exp.Expr, terms: Terms) -> Iterator[exp.Expr]:
    """Take AND apart, also where every side of an OR says the same, as Spark does."""
    for part in _flat(condition, exp.And):
        shared = _shared(part, terms) if isinstance(part, exp.Or) else []
        yield from shared or [part]


def _shared(node: exp.Or, terms: Terms) -> list[exp.Expr]:
    """What all sides of an OR ask for, and then what is left of it; nothing if they have nothing in common."""
    sides = [{terms.key(p): p for p in _flat(side, exp.And)} for side in _flat(node, exp.Or)]
    common = [key for key in sides[0] if all(key in side for side in sides)]
    if not common:
        return []
    left = [[p for key, p in side.items() if key not in common] for side in sides]
    shared = [sides[0][key] for key in common]
    return [*shared, exp.or_(*(exp.and_(*side) for side in left))] if all(left) else shared


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The operands of one AND or OR after another, without brackets around them."""
    rest = [node]
    while rest:
        part = rest.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if isinstance(part, kind):
            rest += [part.args["expression"], part.this]
        else:
            yield part


def _is_key(node: exp.Expr, aliases: Sequence[str]) -> bool:
    node = node.unnest()
    if not isinstance(node, DuckText) or node.this not in _EQUALITIES or node.find(exp.Query):
        return False
    one, other = sorted((_places(side, aliases) for side in node.expressions), key=lambda p: max(p, default=_OUTSIDE))
    return len(other) == 1 and bool(one) and max(one) < max(other)


def _places(node: exp.Expr, aliases: Sequence[str]) -> frozenset[int]:
    """The places of the tables that a condition reads, subqueries in it included."""
    found = set()
    for column in node.find_all(exp.Column):
        if column.table in aliases:
            found.add(aliases.index(column.table))
        elif column.find_ancestor(exp.Query) is None:
            found.add(_OUTSIDE)
    return frozenset(found)
