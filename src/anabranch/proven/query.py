"""Whole queries of Spark SQL that DuckDB answers with the same rows, names and types; anything else is unproven."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType
from anabranch.proven.aggregates import zero_made_plain
from anabranch.proven.expression import argument_of
from anabranch.proven.parser import has_escapes, parse
from anabranch.proven.rewrites import refuse_regrouped
from anabranch.proven.scope import Derived, Ledger, Nameless, Scope, Surroundings, check_parts
from anabranch.proven.select import all_of_source, prove_block, prove_select
from anabranch.proven.sources import of_derived, of_values
from anabranch.proven.spark_functions import refuse_unknown_functions
from anabranch.proven.table.row import TOO_DEEP, ParameterValue, Unproven, Value, guards_of
from anabranch.proven.table.types import KNOWN, common_type
from anabranch.proven.terms import Outer, Terms
from anabranch.queries.query import Query, Sources, aliased, cast_to, col, ident, select, subquery


@dataclass(frozen=True)
class ProvenQuery:
    """A query in DuckDB's form, over relations that `bound` fills in."""

    expression: exp.Query
    """Shared by all who prove the same text: copy it before changing it."""
    columns: tuple[tuple[str, DataType | None], ...]
    """The names and types of Spark's DataFrame; None for a column of nulls only. Names may repeat."""
    used: Mapping[str, frozenset[str]]
    """The columns read of each relation."""
    ordered: bool
    may_fail: bool
    """Whether a value may not fit. The engines may evaluate values in different orders, or some that a condition
    excludes: if DuckDB fails on a value, only Spark can tell whether the query does."""
    args: Mapping[str, Any] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    """What is proven for some values only: DuckDB fails on the others, and Spark is then asked."""

    @property
    def reads_all(self) -> bool:
        """Whether every row of each relation is read, whatever plan an engine chooses."""
        return self.expression.find(exp.Where, exp.Join, exp.Limit) is None


def prove_query(
    text: str,
    relations: Mapping[str, Sequence[tuple[str, DataType | None]]],
    args: Mapping[str, Any],
    zone: str | None = None,
) -> ProvenQuery:
    """Translate a query for DuckDB; raise Unproven for what is not proven, NotFound for an unknown name.

    `zone` is the time zone of Spark's session, if known.
    """
    given = tuple((k, argument_of(v, f"args[{k!r}]")) for k, v in sorted(args.items()))
    known = tuple((name, tuple(columns)) for name, columns in relations.items())
    proven = _proven(text, known, given, zone)
    return replace(proven, args={name: args[name] for name in proven.args})


def bound(proven: ProvenQuery, relations: Mapping[str, Query]) -> Query:
    """Substitute each relation's query for its name."""
    sources, args = Sources(), dict(proven.args)
    parts = {name: _renamed(query, sources) for name, query in relations.items()}
    for query in relations.values():
        if any(args.get(name, value) is not value for name, value in query.args.items()):
            raise InvalidRequest("an argument has the name of another one", hint="give it another name")
        args |= query.args
    expression = proven.expression.copy()
    for node in list(expression.find_all(exp.Table)):
        if node.name in parts:
            node.replace(exp.Subquery(this=parts[node.name].copy(), alias=node.args["alias"]))
    assert isinstance(expression, exp.Select)
    return Query(expression, sources.named, args)


def _renamed(query: Query, sources: Sources) -> exp.Expr:
    """A relation's expression with its sources renamed, so that no two relations share a name."""
    names = {name: sources.add(source) for name, source in query.sources.items()}
    expression = query.expression.copy()
    for node in expression.find_all(exp.Table):
        if node.name in names:
            node.set("this", ident(names[node.name]))
    return expression


_LONE_PLUS = re.compile(
    r"(?:[,(=<>+/%|&-]|(?<!/)\*|\b(?:select|distinct|when|then|else|and|or|not|by))\s*\+", re.IGNORECASE
)


@lru_cache(256)
def _proven(
    text: str,
    relations: tuple[tuple[str, tuple[tuple[str, DataType | None], ...]], ...],
    args: tuple[tuple[str, ParameterValue], ...],
    zone: str | None,
) -> ProvenQuery:
    """Prove a text once."""
    parsed = _parsed(text)
    given = dict(args)
    for node in parsed.find_all(exp.Placeholder):
        if node.name not in given:
            raise InvalidRequest(f"the query has no value for :{node.name}", hint="give it in args=")
    refuse_unknown_functions(parsed)
    _refuse_deep(parsed)
    ledger = Ledger()
    try:
        derived = _prove(parsed, Surroundings(dict(relations), given, ledger, _prove, zone))
        return _finished(derived, ledger)
    except RecursionError:
        raise Unproven(TOO_DEEP) from None


_DEEPEST = 500
"""Levels of a query that are looked at, at most: proving takes several frames of Python's stack for each."""


def _refuse_deep(parsed: exp.Expr) -> None:
    """Refuse at once what is too deep to be proven; chains of AND and OR count as one level."""
    rest = [(parsed, 0)]
    while rest:
        node, depth = rest.pop()
        if depth > _DEEPEST:
            raise Unproven(TOO_DEEP)
        rest += [(p, depth + (type(p) is not type(node) or type(p) not in _CHAINED)) for p in node.iter_expressions()]


_CHAINED = (exp.And, exp.Or)


def _parsed(text: str) -> exp.Expr:
    if "|>" in text:
        raise Unproven("the pipe |>")
    if _LONE_PLUS.search(text):
        raise Unproven("a plus with nothing before it")  # the parser drops it, but Spark shows it in column names
    try:
        parsed = parse(text)
    except SqlglotError as error:
        raise Unproven(f"syntax that only Spark reads{_near(error)}") from error
    except RecursionError:
        raise Unproven(TOO_DEEP) from None
    if has_escapes(text):
        raise Unproven("a backslash")
    if len(parsed) != 1 or not isinstance(parsed[0], (exp.Query, exp.Values)):
        raise Unproven("anything but one query")
    return parsed[0]


def _near(error: SqlglotError) -> str:
    """The word at which parsing failed."""
    words = [str(e["highlight"]) for e in getattr(error, "errors", ()) if e.get("highlight")]
    return f" (near {words[0]!r})" if words and not words[0].startswith("_ana_") else ""


def _prove(node: exp.Expr, around: Surroundings, outer: Outer | None = None) -> Derived:
    """Prove a query, outermost or nested."""
    around = _with_common(node, around)
    if isinstance(node, exp.Select):
        return prove_select(node, around, outer)
    if isinstance(node, exp.SetOperation):
        source = of_derived(united(node, around, outer), around, None)
        return prove_block(all_of_source(_without_operands(node), source, around))
    if isinstance(node, exp.Values):
        return prove_block(all_of_source(exp.Select(), of_values(node, around), around))
    if isinstance(node, exp.Subquery):
        check_parts(node, frozenset(("this", "with_")))
        return _prove(node.this, around, outer)
    raise Unproven(node.key.upper())


def _without_operands(node: exp.Expr) -> exp.Select:
    """The order and limits of a set operation, without its sides."""
    return exp.Select(**{part: node.args.get(part) for part in ("order", "limit", "offset")})


def _with_common(node: exp.Expr, around: Surroundings) -> Surroundings:
    """Prove the queries of WITH, each with those before it in scope, and note them for the outermost query."""
    with_ = node.args.get("with_")
    if with_ is None:
        return around
    check_parts(with_, frozenset(("expressions",)))
    for place, cte in enumerate(with_.expressions):
        check_parts(cte, frozenset(("this", "alias")))
        derived = _prove(cte.this, around)
        names = [c.name for c in cte.args["alias"].args.get("columns") or []]
        if names and len(names) != len(derived.columns):
            raise Unproven("a list of names that is not as long as the list of columns")
        if names:
            renamed = tuple((n, *rest) for n, (_, *rest) in zip(names, derived.columns, strict=True))
            derived = replace(derived, columns=renamed)
        _refuse_same(cte.alias, [c.alias for c in with_.expressions[:place]])
        inner = around.ledger.name("w")
        alias = exp.TableAlias(this=ident(inner))
        around.ledger.common.append(exp.CTE(this=derived.expression, alias=alias))
        around = replace(around, common={**around.common, cte.alias.lower(): (inner, derived)})
    return around


def _refuse_same(name: str, before: Sequence[str]) -> None:
    """Refuse a name that WITH defines twice, as Spark does; names that differ in case only are unproven."""
    if name in before:
        raise InvalidRequest(f"WITH defines {name!r} twice", hint="give one of them another name")
    if name.lower() in map(str.lower, before):
        raise Unproven(f"the names of WITH, of which two are {name} but for their case")


def _finished(derived: Derived, ledger: Ledger) -> ProvenQuery:
    """Name the outermost query's columns as Spark does, and collect which columns are read."""
    whole = derived.expression
    for node, (name, _, type_) in zip(whole.expressions, derived.columns, strict=True):
        if isinstance(name, Nameless):
            raise Unproven(f"{name}, so give it a name with AS")
        if type_ is not None and type_.name == "decimal":
            node.set("this", cast_to(node.this, type_))  # DuckDB may have computed it in a narrower type
        node.set("alias", ident(name))
    if ledger.common:
        whole.set("with_", exp.With(expressions=ledger.common))
    refuse_regrouped(whole)
    prune(whole)
    used: dict[str, set[str]] = {relation: set() for relation in ledger.tables.values()}
    for node in whole.find_all(exp.Column):
        relation = ledger.tables.get(node.table)
        if relation is not None:
            used[relation].add(node.name)
    columns = tuple((str(name), type_) for name, _, type_ in derived.columns)
    frozen = {relation: frozenset(names) for relation, names in used.items()}
    wanted = {str(node.name): None for node in whole.find_all(exp.Placeholder)}
    return ProvenQuery(whole, columns, frozen, derived.ordered, ledger.may_fail, wanted, tuple(guards_of(whole)))


def prune(whole: exp.Query) -> None:
    """Drop columns of inner queries that nothing names; column names are unique in a proven query."""
    while True:
        named = {node.name for node in whole.find_all(exp.Column)}
        if not sum(_drop(query, named) for query in whole.find_all(exp.Select) if _is_table(query)):
            return


def _is_table(query: exp.Expr) -> bool:
    """Tell whether a query's columns are only used by name: not by position, nor as whole rows."""
    parent = query.parent
    by_place = query.args.get("distinct") or query.args.get("order")
    return not by_place and isinstance(parent, (exp.CTE, exp.Subquery)) and bool(parent.args.get("alias"))


def _drop(query: exp.Select, named: set[str]) -> bool:
    # The grouping keys come first and stay: GROUP BY refers to them by position.
    group = query.args.get("group")
    keys = sum(len(part.expressions) or 1 for part in group.expressions) if group is not None else 0
    kept = [c for n, c in enumerate(query.expressions) if n < keys or c.alias in named] or query.expressions[:1]
    dropped = len(kept) < len(query.expressions)
    if dropped:
        query.set("expressions", kept)
    return dropped


_PARTS = frozenset(("this", "expression", "distinct", "order", "limit", "offset", "with_"))


def united(node: exp.SetOperation, around: Surroundings, outer: Outer | None) -> Derived:
    """Prove a set operation, leaving out its order and limits."""
    check_parts(node, _PARTS)
    asked = len(outer.asked) if outer else 0
    left, right = (around.prove(node.args[part], around, outer) for part in ("this", "expression"))
    if outer and len(outer.asked) > asked:
        raise Unproven(f"{node.key.upper()} in a correlated subquery")
    if len(left.columns) != len(right.columns):
        raise Unproven(f"{node.key.upper()} of queries with different numbers of columns")
    types = [_common(one, other) for (_, _, one), (_, _, other) in zip(left.columns, right.columns, strict=True)]
    plain = isinstance(node, exp.Union) and not node.args.get("distinct")
    if not plain and any(t is not None and t.name not in KNOWN for t in types):
        raise Unproven(f"{node.key.upper()} over a nested column")
    sides = [exp.Subquery(this=_brought(side, types, around, plain)) for side in (left, right)]
    whole = type(node)(this=sides[0], expression=sides[1], distinct=bool(node.args.get("distinct")))
    columns = tuple((n, inner, t) for (n, inner, _), t in zip(left.columns, types, strict=True))
    return Derived(whole, columns)


def _common(one: DataType | None, other: DataType | None) -> DataType | None:
    if one is None or other is None:
        return one or other
    return common_type(one, other)


def _brought(side: Derived, types: list[DataType | None], around: Surroundings, plain: bool) -> exp.Query:
    """One side, cast to the common types; if rows are compared, -0.0 becomes 0.0."""
    alias = around.ledger.name("q")
    terms = Terms.over(Scope(), around, None)
    nodes, changed = [], False
    for (_, name, type_), wanted in zip(side.columns, types, strict=True):
        value = Value(col(name, alias), type_)
        brought = terms.convert(value, wanted) if wanted is not None else value
        brought = brought if plain else zero_made_plain(brought)
        changed |= brought is not value
        nodes.append(aliased(brought.node, name))
    return select(nodes, subquery(side.expression, alias)) if changed else side.expression
