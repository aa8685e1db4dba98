"""FROM: tables, subqueries, VALUES and joins, and the columns that they bring into scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from anabranch.errors import InvalidRequest
from anabranch.proven.conditions import Conjunct, conjunct, conjuncts, guarded
from anabranch.proven.scope import Derived, Scope, Surroundings, Visible, check_parts
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import common_type
from anabranch.proven.terms import Terms
from anabranch.queries.duck_text import DuckText, bracketed
from anabranch.queries.query import all_of, col, ident, subquery, table


@dataclass(frozen=True)
class Source:
    """What a query selects from."""

    node: exp.Expr | None
    scope: Scope
    joins: tuple[exp.Join, ...] = ()
    loose: bool = False
    """Whether tables are listed side by side: the parser then doesn't tell which of them a condition can see."""
    holding: tuple[Conjunct, ...] = ()
    """Join conditions that hold for every row."""

    @property
    def aliases(self) -> list[str]:
        """DuckDB's names of the tables, in order."""
        return [n.alias for n in (self.node, *(j.this for j in self.joins)) if n is not None]

    def joined_by(self, where: Sequence[Conjunct]) -> tuple[Source, list[Conjunct]]:
        """Turn products of tables into joins by the keys in WHERE; return also which keys these are.

        DuckDB does so itself, unless a subquery is in its way.
        """
        joins = list(self.joins)
        used: list[Conjunct] = []
        for place, join in enumerate(joins, 1):
            is_kept = not any(later.side in ("RIGHT", "FULL") for later in joins[place:])
            keys = [c for c in where if c.may_join and c.at == (place, True)]
            if join.kind == "CROSS" and is_kept and keys:
                on = all_of([bracketed(c.value.node) for c in keys])
                joins[place - 1] = exp.Join(this=join.this, on=on)
                used += keys
        return replace(self, joins=tuple(joins)), used


NOTHING = Source(None, Scope())


def source_of(node: exp.Expr, around: Surroundings) -> Source:
    """Prove the FROM of a query."""
    from_ = node.args.get("from_")
    if from_ is None:
        return NOTHING
    source = _relation(from_.this, around)
    for join in node.args.get("joins") or []:
        source = _joined(source, join, around)
    return source


def of_derived(derived: Derived, around: Surroundings, name: str | None, names: Sequence[str] | None = None) -> Source:
    """Select from a proven query."""
    alias = around.ledger.name("q")
    return Source(subquery(derived.expression, alias), Scope(derived.seen_as(alias, name, names)))


def of_values(node: exp.Expr, around: Surroundings) -> Source:
    """Select from rows of VALUES; Spark calls their columns col1, col2, …"""
    check_parts(node, frozenset(("expressions", "alias")))
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise Unproven("VALUES with rows of different lengths")
    terms = Terms.over(Scope(), around, None)
    columns = [terms.brought_together([terms.visit(v) for v in values]) for values in zip(*rows, strict=True)]
    qualifier, names = _alias(node)
    alias, inner = around.ledger.name("q"), [around.ledger.name("c") for _ in columns]
    tuples = [exp.Tuple(expressions=[v.node for v in row]) for row in zip(*columns, strict=True)]
    named = exp.TableAlias(this=ident(alias), columns=[ident(n) for n in inner])
    types = [values[0].type for values in columns]
    shown = [f"col{n}" for n in range(1, len(columns) + 1)]
    derived = Derived(exp.Select(), tuple(zip(shown, inner, types, strict=True)))
    return Source(exp.Values(expressions=tuples, alias=named), Scope(derived.seen_as(alias, qualifier, names)))


def _relation(node: exp.Expr, around: Surroundings) -> Source:
    if isinstance(node, exp.Values):
        return of_values(node, around)
    if isinstance(node, exp.Subquery):
        check_parts(node, frozenset(("this", "alias")))
        if isinstance(node.this, exp.Table):
            raise Unproven("brackets around a join")
        return of_derived(around.prove(node.this, around), around, *_alias(node))
    if not isinstance(node, exp.Table):
        raise Unproven(f"{node.key.upper()} in FROM")
    check_parts(node, frozenset(("this", "alias")))
    if not isinstance(node.this, exp.Identifier):
        raise Unproven(f"the function {str(node.this.this).upper()} in FROM")
    return _table(node, around)


def _table(node: exp.Table, around: Surroundings) -> Source:
    qualifier, names = _alias(node)
    common = around.common.get(node.name.lower())
    if common is not None:
        inner, derived = common
        alias = around.ledger.name("q")
        return Source(table(inner, alias), Scope(derived.seen_as(alias, qualifier or node.name.lower(), names)))
    columns = around.relations.get(node.name)
    if columns is None:
        raise Unproven(f"the table {node.name}")
    alias = around.ledger.name("t")
    around.ledger.tables[alias] = node.name
    shown = names or [name for name, _ in columns]
    if len(shown) != len(columns):
        raise Unproven("a list of names that is not as long as the list of columns")
    visible = [Visible(n, col(c, alias), t, qualifier) for n, (c, t) in zip(shown, columns, strict=True)]
    return Source(table(node.name, alias), Scope(tuple(visible)))


def _alias(node: exp.Expr) -> tuple[str | None, list[str] | None]:
    alias = node.args.get("alias")
    if alias is None:
        return None, None
    name = alias.this.name.lower() if alias.this else None
    return name, [c.name for c in alias.args.get("columns") or []] or None


_KINDS = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("", "CROSS"): "cross",
    **{(side, kind): side.lower() for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")},
    **{(side, kind): kind.lower() for side in ("", "LEFT") for kind in ("SEMI", "ANTI")},
}
_WORDS = {
    "inner": (None, None),
    "cross": (None, "CROSS"),
    "left": ("LEFT", None),
    "right": ("RIGHT", None),
    "full": ("FULL", None),
    "semi": ("LEFT", "SEMI"),
    "anti": ("LEFT", "ANTI"),
}


def _joined(left: Source, join: exp.Join, around: Surroundings) -> Source:
    check_parts(join, frozenset(("this", "side", "kind", "on", "using", "method")))
    method = str(join.args.get("method") or "")
    words = (str(join.args.get("side") or ""), str(join.args.get("kind") or ""))
    kind = _KINDS.get(words)
    if kind is None or method not in ("", "NATURAL"):
        raise Unproven(f"{' '.join(w for w in (method, *words) if w)} JOIN")
    if kind in ("right", "full") and left.loose:
        # The parser doesn't tell whether this joins all tables before it or only the last one.
        raise Unproven(f"{kind.upper()} JOIN after a comma or a CROSS JOIN")
    right = _relation(join.this, around)
    both = Scope((*left.scope.columns, *right.scope.columns), loose=left.loose)
    parts, scope = _condition(join, kind, left, right, both, around)
    if kind in ("semi", "anti"):
        scope = Scope(_keys_first(left.scope, join))
    return replace(_with_join(left, right, kind, parts), scope=scope, loose=left.loose or kind == "cross")


def _with_join(left: Source, right: Source, kind: str, parts: Sequence[Conjunct]) -> Source:
    """Add a join, and keep the conditions that hold for every row after it."""
    if kind in ("inner", "cross"):
        on, holding = guarded(parts, left.holding) if parts else None, (*left.holding, *parts)
        kind = "inner" if parts else "cross"
    elif not parts and kind not in ("semi", "anti"):
        raise Unproven(f"{kind.upper()} JOIN without a condition")
    else:
        on, holding = guarded(parts) if parts else exp.true(), () if kind in ("right", "full") else left.holding
    side, word = _WORDS[kind]
    return replace(left, joins=(*left.joins, exp.Join(this=right.node, side=side, kind=word, on=on)), holding=holding)


def _condition(
    join: exp.Join, kind: str, left: Source, right: Source, both: Scope, around: Surroundings
) -> tuple[list[Conjunct], Scope]:
    """The conjuncts of a join's condition, and the scope after the join."""
    on, using = join.args.get("on"), [u.name for u in join.args.get("using") or []]
    if join.args.get("method"):
        theirs = {c.name.lower() for c in right.scope.shown}
        using = [c.name for c in left.scope.shown if c.name.lower() in theirs]
    if kind == "cross" and (on is not None or using):
        raise Unproven("CROSS JOIN with a condition")
    terms, aliases = Terms.over(both, around, None), [*left.aliases, *right.aliases]
    if on is not None:
        return conjuncts(terms, on, aliases, _alone(kind, len(left.aliases))), Scope(both.columns)
    if not using:
        return [], Scope(both.columns)
    pairs = [(_key(left.scope, name), _key(right.scope, name)) for name in using]
    tests = [terms.call("=", [terms.reached(a), terms.reached(b)]) for a, b in pairs]
    return [conjunct(t, aliases) for t in tests], _united(kind, pairs, left.scope, right.scope, terms)


def _alone(kind: str, place: int) -> frozenset[int] | None:
    """The tables whose own conditions Spark may evaluate before the join at this place; None for all."""
    if kind in ("inner", "semi"):
        return None
    return frozenset({"left": (place,), "anti": (place,), "right": range(place)}.get(kind, ()))


def _key(scope: Scope, name: str) -> Visible:
    found = scope.find(exp.Column(this=exp.to_identifier(name, quoted=True)))
    if found is None:
        listed = ", ".join(c.name for c in scope.shown[:20])
        raise InvalidRequest(
            f"there is no column {name!r} on one side of the join", hint=f"columns: {listed}", column=name
        )
    return found


def _united(kind: str, pairs: Sequence[tuple[Visible, Visible]], left: Scope, right: Scope, terms: Terms) -> Scope:
    """The scope after USING: the keys first, each once, then the other columns."""
    keys: list[Visible] = []
    hidden: list[Visible] = []
    for ours, theirs in pairs:
        shown, others = (theirs, [ours]) if kind == "right" else (ours, [theirs])
        if kind == "full":
            shown, others = _either(ours, theirs, terms), [ours, theirs]
        keys.append(shown)
        hidden.extend(replace(o, hidden=True) for o in others)
    used = {id(v) for pair in pairs for v in pair}
    rest = [c for c in (*left.columns, *right.columns) if id(c) not in used]
    return Scope((*keys, *rest, *hidden))


def _either(ours: Visible, theirs: Visible, terms: Terms) -> Visible:
    """The key of a full join: the value of whichever side has one."""
    one, other = terms.reached(ours), terms.reached(theirs)
    assert one.type is not None
    assert other.type is not None
    wanted = common_type(one.type, other.type)
    values: list[Value] = [terms.convert(v, wanted) for v in (one, other)]
    node = DuckText(this="coalesce($1, $2)", expressions=[v.node for v in values])
    return Visible(ours.name, node, wanted, None)


def _keys_first(left: Scope, join: exp.Join) -> tuple[Visible, ...]:
    """What a semi join leaves in scope: the left side, with the keys of USING first."""
    keys = [_key(left, u.name) for u in join.args.get("using") or []]
    chosen = {id(k) for k in keys}
    return (*keys, *(c for c in left.columns if id(c) not in chosen))
