"""Conditions of joins and filters, conjunct by conjunct.
Those that can't fail are left to DuckDB's optimiser; those that may fail are only evaluated for rows that Spark
would evaluate them for."""

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
"""The place of every table of the enclosing queries."""
_EQUALITIES = ("$1 = $2", "$1 IS NOT DISTINCT FROM $2")


@dataclass(frozen=True)
class Conjunct:
    """One operand of an AND, the tables of FROM that it reads, and where Spark evaluates it."""

    value: Value
    is_key: bool
    """Whether it equates something of one table with something of earlier ones: engines join by such conditions."""
    at: tuple[int, bool]
    """The place of the last table that it reads, and whether Spark evaluates it while joining that table."""

    @property
    def may_be_repeated(self) -> bool:
        """Whether it is cheap and never fails, so that it may also be tested before another conjunct."""
        return not self.value.may_fail and self.value.node.find(exp.Query) is None

    @property
    def may_join(self) -> bool:
        """Whether it is a plain join key that never fails."""
        return self.is_key and not self.value.may_fail


def conjuncts(
    terms: Terms, condition: exp.Expr, aliases: Sequence[str] = (), alone: frozenset[int] | None = None
) -> list[Conjunct]:
    """Translate the conjuncts of a condition over tables with these aliases.

    Spark evaluates a conjunct over one table before joining that table; `alone` lists the places of the tables for
    which an outer join permits this.
    """
    values = [terms.truth(part) for part in _parts(condition, terms)]
    if [v.type for v in values] == [None]:
        raise Unproven("a condition that is NULL")
    settle = len(values) > 1
    return [conjunct(settled(v) if settle else v, aliases, alone) for v in values]


def conjunct(value: Value, aliases: Sequence[str], alone: frozenset[int] | None = None) -> Conjunct:
    """Find which tables a translated condition reads."""
    read = _places(value.node, aliases)
    at = (max(read, default=_OUTSIDE), len(read) > 1)
    if alone is not None and not read <= alone:
        at = (len(aliases) - 1, True)
    return Conjunct(value, _is_key(value.node, aliases), at)


def guarded(new: Sequence[Conjunct], known: Sequence[Conjunct] = (), joined: Sequence[Conjunct] = ()) -> exp.Expr:
    """One condition of the new conjuncts, given known ones that hold for every row that counts.

    Those that are `joined` by already are left out. DuckDB plans subqueries in the order of the
    text and does not push conditions below a correlated one that aggregates, so those are last.
    """
    plain = [c for c in new if not _is_risky(c) and c not in joined]
    whole = [bracketed(c.value.node) for c in plain]
    for at in dict.fromkeys(c.at for c in new if _is_risky(c)):
        whole.append(_in_turn(_steps(at, known, new)))
    return all_of(sorted(whole, key=_planning_cost))


def _planning_cost(condition: exp.Expr) -> int:
    """0 for a condition without a subquery, 1 with an uncorrelated one, 2 with a correlated one."""
    queries = list(condition.find_all(exp.Query))
    if not queries:
        return 0
    return 2 if any(_is_correlated(query) for query in queries) else 1


def _is_correlated(query: exp.Expr) -> bool:
    """Whether a proven query reads a column of no relation inside it; all their names differ."""
    inside = {alias.name for alias in query.find_all(exp.TableAlias)}
    return any(column.table not in inside for column in query.find_all(exp.Column))


def _is_risky(part: Conjunct) -> bool:
    """Whether rows must be kept away from it; join keys are exempt, since every engine computes them for all rows."""
    return part.value.may_fail and not part.is_key


def _steps(at: tuple[int, bool], known: Sequence[Conjunct], new: Sequence[Conjunct]) -> list[Conjunct]:
    """What Spark evaluates at one place up to the last conjunct that may fail: first what is below the join, then in
    order."""
    last = max(n for n, c in enumerate(new) if _is_risky(c) and c.at == at)
    every = [*known, *new]
    below = [c for c in every if c.may_be_repeated and at[1] and c.at[0] <= at[0] and (c.at != at or c.is_key)]
    same_place = [c for c in every[: len(known) + last + 1] if c.at == at and (_is_risky(c) or c.may_be_repeated)]
    return [*below, *(c for c in same_place if c not in below)]


def _in_turn(steps: Sequence[Conjunct]) -> exp.Expr:
    """Test the steps in order, each only where all earlier ones hold."""
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
    """Split at AND, and pull common conjuncts out of an OR, as Spark does."""
    for part in _flat(condition, exp.And):
        shared = _shared(part, terms) if isinstance(part, exp.Or) else []
        yield from shared or [part]


def _shared(node: exp.Or, terms: Terms) -> list[exp.Expr]:
    """The conjuncts that all sides of an OR share, then what is left of the OR; empty if they share none."""
    sides = [{terms.key(p): p for p in _flat(side, exp.And)} for side in _flat(node, exp.Or)]
    common = [key for key in sides[0] if all(key in side for side in sides)]
    if not common:
        return []
    left = [[p for key, p in side.items() if key not in common] for side in sides]
    shared = [sides[0][key] for key in common]
    return [*shared, exp.or_(*(exp.and_(*side) for side in left))] if all(left) else shared


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The operands of a chain of ANDs or ORs, without brackets."""
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
    """The places of the tables that a condition reads, including in subqueries."""
    found = set()
    for column in node.find_all(exp.Column):
        if column.table in aliases:
            found.add(aliases.index(column.table))
        elif column.find_ancestor(exp.Query) is None:
            found.add(_OUTSIDE)
    return frozenset(found)
