"""Expressions inside a query: names from tables, aliases and outer queries, subqueries and window functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.types import DataType
from anabranch.proven.aggregates import Call, aggregated, call_of, where_holds
from anabranch.proven.parser import TAKE_UNITS, WORDS
from anabranch.proven.prover import Prover
from anabranch.proven.scope import Derived, Nameless, Scope, Surroundings, Visible, no_column, qualifier_of
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import BOOLEAN, KNOWN, common_type
from anabranch.proven.windows import windowed
from anabranch.queries.duck_text import bracketed
from anabranch.queries.query import cast_to, col, number, select, subquery


@dataclass(frozen=True)
class TermPlace:
    """What an expression may contain, depending on its place in a query."""

    windows: bool = False
    scalars: bool = False
    """Subqueries that return one value."""
    predicates: bool = False
    """IN and EXISTS with a subquery."""
    outer: bool = False
    """Columns of the outer query."""
    names: bool = True
    """Names that SELECT gave to earlier columns."""


_WORDS = WORDS | {"session_user", "current_time", "localtimestamp", "current_schema", "current_path"}
FROM, WHERE, SELECT = (
    TermPlace(),
    TermPlace(scalars=True, predicates=True, outer=True),
    TermPlace(windows=True, scalars=True),
)
HAVING = TermPlace(scalars=True, predicates=True)
QUALIFY = TermPlace(windows=True)


@dataclass
class Outer:
    """The outer query, and which of its columns were used."""

    terms: Terms
    asked: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Terms(Prover):
    """Translates expressions over the columns of a FROM."""

    around: Surroundings
    scope: Scope
    place: TermPlace = FROM
    outside: Outer | None = None
    named: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """What SELECT has named so far; used for names that no column has."""
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    """The windows that the query has named."""

    @classmethod
    def over(cls, scope: Scope, around: Surroundings, outside: Outer | None) -> Terms:
        """Terms over a FROM; whoever runs a whole query asks Spark if DuckDB fails."""
        return cls({}, around.args, around, scope, outside=outside, guards=True, zone=around.zone)

    def at(self, place: TermPlace) -> Terms:
        """The same terms in another place."""
        return replace(self, place=place)

    def visit(self, node: exp.Expr) -> Value:
        """Translate an expression."""
        call = call_of(node)
        method = next((m for kind, m in _OWN.items() if isinstance(node, kind)), Prover.visit)
        value = self.aggregate(call) if call is not None else method(self, node)
        self.around.ledger.may_fail |= value.may_fail
        return value

    def condition(self, node: exp.Expr) -> Value:
        """Translate a condition."""
        value = self.truth(node)
        if value.type is None:
            raise Unproven("a condition that is NULL")
        return value

    def aggregate(self, call: Call) -> Value:
        """Refuse an aggregate; where rows are grouped, `Grouped` overrides this."""
        raise Unproven(f"{call.name.upper()} where rows are not grouped")

    def grouping(self, _node: exp.Expr, name: str) -> Value:
        """Refuse GROUPING, which only groups have."""
        raise Unproven(f"{name.upper()} where rows are not grouped")

    def column(self, node: exp.Expr) -> Value:
        """Translate a column that a value is computed from."""
        value = self.passed(node)
        if value.type is not None and value.type.name not in KNOWN:
            raise Unproven(f"a value computed from {node.name}, which is of type {value.type}")
        return value

    def passed(self, node: exp.Expr) -> Value:
        """Translate a column that is passed on unchanged."""
        found = self.scope.find(node)
        if found is not None:
            return self.reached(found)
        value = self._named_in_select(node) or self._of_outer_query(node)
        if value is None:
            raise self._unknown(node)
        return value

    def reached(self, column: Visible) -> Value:
        """A column of this query's FROM."""
        if column.type is not None and column.type.only_spark:
            raise Unproven(f"the column {column.name} of type {column.type}")
        return Value(column.node.copy(), column.type)

    def _named_in_select(self, node: exp.Expr) -> Value | None:
        values = self.named.get(node.name.lower(), ()) if qualifier_of(node) is None else ()
        if len(values) > 1:
            raise Unproven(f"the name {node.name}, which SELECT gives more than once")
        if values and (values[0].node.find(exp.Window) or not self.place.names):
            raise Unproven(f"the name {node.name} of the same SELECT, of or in a window function")
        # To Spark it is no longer a literal, so its digits don't count.
        return replace(values[0], node=values[0].node.copy(), digits=0, literal=None) if values else None

    def _of_outer_query(self, node: exp.Expr) -> Value | None:
        if self.outside is None or not self.outside.terms.can_see(node):
            return None
        if not self.place.outer:
            raise Unproven(f"{node.name}, a column of the outer query, anywhere but in WHERE")
        if self.outside.terms.scope.find(node) is None:
            raise Unproven(f"{node.name}, a name of the outer query that is no column of its tables")
        self.outside.asked.append(node.name)
        return self.outside.terms.passed(node)

    def can_see(self, node: exp.Expr) -> bool:
        """Tell whether a name means something here or in an outer query."""
        if self.scope.find(node) is not None:
            return True
        return self.outside is not None and self.outside.terms.can_see(node)

    def scopes(self) -> Iterator[Scope]:
        """This query's scope, then those of the enclosing queries."""
        yield self.scope
        if self.outside is not None:
            yield from self.outside.terms.scopes()

    def _unknown(self, node: exp.Expr) -> Exception:
        qualifier = qualifier_of(node)
        columns = {c.name.lower() for scope in self.scopes() for c in scope.columns}
        if any(isinstance(c.name, Nameless) for scope in self.scopes() for c in scope.columns):
            return Unproven("a subquery with a column that has no name")
        if qualifier in columns:
            return Unproven(f"a part of the value {qualifier}")
        if any(self._found(node, scope) for scope in self.around.beyond) or self._is_named_outside(node):
            return Unproven(f"{node.name}, a name of the outer query, in this place")
        if not isinstance(node.this, exp.Identifier) or node.name.lower() in _WORDS:
            return Unproven(f"the word {node.name}")
        return no_column(node, self.scopes())

    def call_of_function(self, node: exp.Expr) -> Value:
        """Translate a function call; refuse one that the table lacks before looking at the names in it."""
        name = str(node.this).lower()
        if name in ("grouping", "grouping_id"):
            return self.grouping(node, name)
        if not self.knows(name):
            raise Unproven(f"the function {name.upper()}")
        if name in TAKE_UNITS and len(node.expressions) == 3:
            raise Unproven(f"{name.upper()} with a unit")
        return self.function(node)

    def window(self, node: exp.Expr) -> Value:
        """Translate a window function."""
        if not self.place.windows:
            raise Unproven("a window function in this place")
        return windowed(node, self.at(TermPlace(names=False)), self.windows)

    def scalar(self, node: exp.Expr) -> Value:
        """Translate a scalar subquery."""
        if not self.place.scalars:
            raise Unproven("a subquery in this place")
        derived, asked = self._inner(node)
        if asked and not derived.single:
            raise Unproven("a correlated subquery that is not an aggregate of all its rows")
        type_ = _only_type(derived)
        self.around.ledger.may_fail |= not derived.single
        return Value(exp.Subquery(this=derived.expression), type_, not derived.single)

    def exists(self, node: exp.Expr) -> Value:
        """Translate EXISTS."""
        derived = self._predicate(node)
        return Value(exp.Exists(this=derived.expression), BOOLEAN)

    def listed(self, node: exp.Expr) -> Value:
        """Translate IN, with values or with a subquery."""
        query = node.args.get("query")
        if query is None:
            return self.within(node)
        if isinstance(node.this, exp.Tuple):
            raise Unproven("IN with several columns")
        if _is_like_typed_literal(query):
            raise Unproven("IN with a SELECT of nothing but a text")
        value, derived = self.visit(node.this), self._predicate(query)
        type_ = _only_type(derived)
        if value.type is None or value.may_fail:
            raise Unproven("IN with a subquery, of a value that may fail")
        wanted = common_type(value.type, type_)
        inner = derived.expression
        if type_ != wanted:
            inner = _converted(derived, self, wanted)
        return Value(exp.In(this=bracketed(self.convert(value, wanted).node), query=exp.Subquery(this=inner)), BOOLEAN)

    def _predicate(self, node: exp.Expr) -> Derived:
        if not self.place.predicates:
            raise Unproven("IN or EXISTS with a subquery anywhere but in WHERE and HAVING")
        derived, asked = self._inner(node)
        if asked and derived.single:
            raise Unproven("IN or EXISTS with a correlated aggregate")
        return derived

    def _inner(self, node: exp.Expr) -> tuple[Derived, bool]:
        outer = Outer(self)
        body = node.this if isinstance(node, (exp.Subquery, exp.Exists)) else node
        derived = self.around.prove(body, replace(self.around, beyond=tuple(self.scopes())), outer)
        return derived, bool(outer.asked)

    def key(self, node: exp.Expr) -> str:
        """A text that two expressions share if they compute the same from the same columns."""
        whole = node.unnest().copy()
        for part in list(whole.find_all(exp.Anonymous, exp.Column)):
            if isinstance(part, exp.Anonymous):
                part.set("this", str(part.this).lower())
            elif (found := self._found(part)) is not None:
                part.set("table", None)
                place = (
                    f"{found.node.table}.{found.node.name}" if isinstance(found.node, exp.Column) else id(found.node)
                )
                part.set("this", exp.to_identifier(str(place), quoted=True))
        return str(whole.sql("spark"))

    def _is_named_outside(self, node: exp.Expr) -> bool:
        return self.outside is not None and node.name.lower() in self.outside.terms.named

    def _found(self, node: exp.Expr, scope: Scope | None = None) -> Visible | None:
        try:
            return (scope or self.scope).find(node)
        except (InvalidRequest, NotFound):
            return None


@dataclass
class Groups:
    """What rows are grouped by and what is computed for each group, under DuckDB's names."""

    alias: str
    below: str
    """The name of the grouping itself, where something is made of its columns."""
    keys: dict[str, Value] = field(default_factory=dict)
    """What each expression of GROUP BY is translated to."""
    kinds: set[type[exp.Expr]] = field(default_factory=set)
    """The node types of these expressions: no other node needs a lookup."""
    columns: dict[str, exp.Expr] = field(default_factory=dict)
    """What is computed, by name."""
    parts: dict[str, exp.Expr] = field(default_factory=dict)
    """Aggregates that only `made` reads, by name."""
    made: dict[str, exp.Expr] = field(default_factory=dict)
    """What is computed from several aggregates of a group, by name."""
    known: dict[str, Value] = field(default_factory=dict)
    """Aggregates already computed."""
    sets: Sequence[tuple[int, ...]] | None = None
    """For ROLLUP and the like: the keys that each grouping groups by."""

    def column(self, name: str) -> exp.Column:
        """A column of the groups."""
        return col(name, self.alias)


@dataclass(frozen=True)
class Grouped(Terms):
    """Translates expressions over groups: only grouping keys and aggregates."""

    inner: Terms | None = None
    groups: Groups | None = None

    def visit(self, node: exp.Expr) -> Value:
        """Translate an expression, trying first whether it is a grouping key as a whole."""
        return self._grouped(node) or super().visit(node)

    def passed(self, node: exp.Expr) -> Value:
        """Translate a name, which must be a grouping key or an outer query's."""
        found = self._grouped(node)
        if found is None and self.rows.scope.find(node) is not None:
            raise Unproven(f"the column {node.name}, which is neither grouped by nor aggregated")
        return found or super().passed(node)

    @property
    def rows(self) -> Terms:
        """The terms over the rows before grouping."""
        assert self.inner is not None
        return self.inner

    def _grouped(self, node: exp.Expr) -> Value | None:
        assert self.groups is not None
        if type(node) not in self.groups.kinds:
            return None
        found = self.groups.keys.get(self.rows.key(node))
        return replace(found, node=found.node.copy()) if found else None

    def scalar(self, node: exp.Expr) -> Value:
        """Translate a subquery; Spark allows no correlated ones in the list of a SELECT that groups."""
        if self.place.windows and self._inner(node)[1]:
            raise Unproven("a correlated subquery in a SELECT that groups")
        return super().scalar(node)

    def grouping(self, node: exp.Expr, name: str) -> Value:
        """Which keys a group is not grouped by: grouping(a), grouping_id(a, …)."""
        assert self.groups is not None
        given = node.expressions
        if self.groups.sets is None or (name == "grouping" and len(given) != 1):
            raise Unproven(f"{name.upper()} where rows are not grouped in several ways")
        order = list(self.groups.keys)
        keys = [self.rows.key(p) for p in given] or order
        if any(key not in order for key in keys):
            raise Unproven(f"{name.upper()} of what is not grouped by")
        names = list(self.groups.columns)
        nodes = [self.groups.columns[names[order.index(key)]].copy() for key in keys]
        type_ = DataType("tinyint" if name == "grouping" else "bigint")
        inner = self.around.ledger.name("a")
        self.groups.columns[inner] = cast_to(exp.Anonymous(this="grouping", expressions=nodes), type_)
        return Value(self.groups.column(inner), type_)

    def aggregate(self, call: Call) -> Value:
        """Have the grouping compute an aggregate, once, and refer to it by name."""
        assert self.groups is not None
        text = repr((call.name, call.distinct, *(self.rows.key(p) for p in (*call.arguments, call.condition) if p)))
        if text not in self.groups.known:
            value, name = self._computed(call), self.around.ledger.name("a")
            self.around.ledger.may_fail |= value.may_fail
            self._keep(name, value.node)
            self.groups.known[text] = replace(value, node=self.groups.column(name), may_fail=False)
        known = self.groups.known[text]
        return replace(known, node=known.node.copy())

    def _keep(self, name: str, node: exp.Expr) -> None:
        """Have a node computed with the groups; above them, if it is made of several aggregates."""
        assert self.groups is not None
        calls = [part for part in node.find_all(exp.Anonymous) if _AGGREGATE in part.meta]
        if len(calls) < 2:
            self.groups.columns[name] = node
            return
        for call in calls:
            part = self.around.ledger.name("a")
            call.replace(col(part, self.groups.below))
            self.groups.parts[part] = call
        self.groups.made[name] = node

    def _computed(self, call: Call) -> Value:
        rows = self.rows.at(FROM)
        values = arguments_of(call, rows)
        if call.condition is not None:
            test = rows.condition(call.condition)
            values = [where_holds(test, v) for v in values]
        return aggregated(call, values, lambda name, nodes: _over_group(name, nodes, call.distinct))


def arguments_of(call: Call, terms: Terms) -> list[Value]:
    """Translate an aggregate's arguments; `count(*)` counts a constant."""
    if [type(a) for a in call.arguments] == [exp.Star] and call.name == "count" and not call.distinct:
        return [Value(number(1), None)]
    return [terms.visit(a) for a in call.arguments]


def _over_group(name: str, nodes: Sequence[exp.Expr], distinct: bool) -> exp.Expr:
    given = [exp.Distinct(expressions=list(nodes))] if distinct else list(nodes)
    call = exp.Anonymous(this=name, expressions=given)
    call.meta[_AGGREGATE] = True
    return call


_AGGREGATE = "aggregate"
"""Key in the meta of a node that calls an aggregate over a group."""


def _only_type(derived: Derived) -> DataType:
    types = [type_ for _, _, type_ in derived.columns]
    if len(types) != 1:
        raise Unproven("a subquery of several columns")
    if types[0] is None or types[0].name not in KNOWN:
        raise Unproven(f"a subquery that gives a value of type {types[0] or 'void'}")
    return types[0]


def _converted(derived: Derived, terms: Terms, wanted: DataType) -> exp.Select:
    """The only column of a query, cast to another type."""
    alias = terms.around.ledger.name("q")
    _, name, type_ = derived.columns[0]
    value = terms.convert(Value(col(name, alias), type_), wanted)
    return select([value.node], subquery(derived.expression, alias))


_OWN: dict[type[exp.Expr], Callable[[Terms, exp.Expr], Value]] = {
    exp.Column: lambda terms, node: terms.column(node),
    exp.Anonymous: lambda terms, node: terms.call_of_function(node),
    exp.Window: lambda terms, node: terms.window(node),
    exp.Subquery: lambda terms, node: terms.scalar(node),
    exp.Exists: lambda terms, node: terms.exists(node),
    exp.In: lambda terms, node: terms.listed(node),
}


def _is_like_typed_literal(query: exp.Expr) -> bool:
    """Tell whether Spark reads `SELECT 'x'` as a typed literal of type SELECT, and fails."""
    select = query.unnest()
    parts = [name for name, value in select.args.items() if value]
    if not isinstance(select, exp.Select) or parts != ["expressions"] or len(select.expressions) > 1:
        return False
    return isinstance(select.expressions[0], exp.Literal) and bool(select.expressions[0].is_string)
