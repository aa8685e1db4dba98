"""Proves one SELECT: FROM, grouping, the list, order and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace

from sqlglot import exp

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.types import DataType
from anabranch.proven.aggregates import call_of, has_aggregate, zero_made_plain
from anabranch.proven.column_names import name_of
from anabranch.proven.conditions import conjuncts, guarded
from anabranch.proven.grouping_sets import grouping_sets
from anabranch.proven.scope import Derived, Scope, Surroundings, Visible, check_parts, naming
from anabranch.proven.sources import Source, source_of
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import KNOWN
from anabranch.proven.terms import FROM, HAVING, QUALIFY, SELECT, WHERE, Grouped, Groups, Outer, Terms
from anabranch.proven.windows import ordered
from anabranch.queries.duck_text import BARE, DuckText
from anabranch.queries.query import aliased, col, number, select, subquery

_PARTS = frozenset(
    (
        *("expressions", "from_", "joins", "where", "group", "having", "qualify", "distinct", "order"),
        *("limit", "offset", "with_", "windows"),
    )
)


@dataclass(frozen=True)
class Item:
    """A column of SELECT's list."""

    name: str
    node: exp.Expr
    is_alias: bool = False


@dataclass
class Block:
    """A SELECT while it is being proven."""

    node: exp.Expr
    source: Source
    around: Surroundings
    outside: Outer | None
    items: list[Item] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    @property
    def scope(self) -> Scope:
        return self.source.scope

    @property
    def is_distinct(self) -> bool:
        return bool(self.node.args.get("distinct"))


def prove_select(node: exp.Expr, around: Surroundings, outside: Outer | None) -> Derived:
    """Prove a SELECT."""
    check_parts(node, _PARTS)
    distinct = node.args.get("distinct")
    if distinct is not None:
        check_parts(distinct, frozenset())
    block = Block(node, source_of(node, around), around, outside)
    block.items = _items(node.expressions, block.scope)
    return prove_block(block)


def prove_block(block: Block) -> Derived:
    """Prove a SELECT whose FROM and list are known."""
    args = block.node.args
    rows = replace(Terms.over(block.scope, block.around, block.outside), windows=_named_windows(block.node))
    where = _where(block, rows.at(WHERE)) if args.get("where") else None
    terms, groups = _grouped(block, rows)
    _compute(block, terms.at(SELECT))
    having = _condition(block, terms.at(HAVING), args["having"].this) if args.get("having") else None
    qualify = _condition(block, terms.at(QUALIFY), args["qualify"].this) if args.get("qualify") else None
    order = _order(block, terms.at(FROM)) if args.get("order") else None
    inner = [block.around.ledger.name("c") for _ in block.items]
    whole = select([aliased(v.node, n) for v, n in zip(block.values, inner, strict=True)], where=where)
    _from(whole, block.source)
    if groups is not None:
        whole = _over_groups(whole, groups, len(groups.keys))
        whole.set("where", exp.Where(this=having) if having is not None else None)
    _finish(whole, block, qualify, order)
    columns = tuple((i.name, n, v.type) for i, n, v in zip(block.items, inner, block.values, strict=True))
    single = (
        groups is not None and not groups.keys and not (having or qualify or args.get("limit") or args.get("offset"))
    )
    return Derived(whole, columns, single, order is not None)


def _named_windows(node: exp.Expr) -> dict[str, exp.Expr]:
    windows = node.args.get("windows") or []
    named = {w.name.lower(): w for w in windows}
    if len(named) < len(windows):
        raise InvalidRequest("WINDOW defines a name twice", hint="give one of them another name")
    return named


def _where(block: Block, terms: Terms) -> exp.Expr:
    """Translate WHERE, and leave its join keys to the joins of the block's source."""
    source = block.source
    parts = conjuncts(terms, block.node.args["where"].this, source.aliases)
    block.source, joined = source.joined_by(parts)
    return guarded(parts, source.holding, joined)


def _from(whole: exp.Select, source: Source) -> None:
    if source.node is not None:
        whole.set("from_", exp.From(this=source.node))
        whole.set("joins", list(source.joins) or None)


def _over_groups(whole: exp.Select, groups: Groups, keys: int) -> exp.Select:
    """Make the grouping a query of its own: what is above it then sees plain columns."""
    computed = {**groups.columns, **groups.parts}
    grouping = select([aliased(node, name) for name, node in computed.items()])
    for part in ("from_", "joins", "where"):
        grouping.set(part, whole.args.get(part))
    if groups.sets is not None:
        # Over no rows, Spark has no group; DuckDB has one for the empty grouping.
        listed = ", ".join(f"({', '.join(f'${n + 1}' for n in places)})" for places in groups.sets)
        nodes = [groups.columns[name].copy() for name in list(groups.columns)[:keys]]
        grouping.set(
            "group", exp.Group(expressions=[DuckText(this=f"{BARE}GROUPING SETS ({listed})", expressions=nodes)])
        )
        grouping.set("having", exp.Having(this=DuckText(this="count(*) > 0")))
    elif keys:
        grouping.set("group", exp.Group(expressions=[number(n) for n in range(1, keys + 1)]))
    return select(whole.expressions, subquery(_with_made(grouping, groups), groups.alias))


def _with_made(grouping: exp.Select, groups: Groups) -> exp.Select:
    """Compute above the grouping what is made of several aggregates, since a CASE beside a count
    keeps DuckDB from taking a correlated subquery apart."""
    if not groups.made:
        return grouping
    columns = [aliased(col(name, groups.below), name) for name in groups.columns]
    made = [aliased(node, name) for name, node in groups.made.items()]
    return select([*columns, *made], subquery(grouping, groups.below))


def _finish(whole: exp.Select, block: Block, qualify: exp.Expr | None, order: list[exp.Expr] | None) -> None:
    if block.is_distinct:
        whole.set("distinct", exp.Distinct())
    if qualify is not None:
        whole.set("qualify", exp.Qualify(this=qualify))
    if order:
        whole.set("order", exp.Order(expressions=order))
    for part, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
        given = block.node.args.get(part)
        if given is not None:
            whole.set(part, kind(expression=_row_count(given, kind, block.around)))


def _row_count(node: exp.Expr, kind: type[exp.Expr], around: Surroundings) -> exp.Expr:
    """The row count of a LIMIT or OFFSET."""
    if not isinstance(node, kind):
        raise Unproven(node.key.upper())
    check_parts(node, frozenset(("expression",)))
    count = node.expression
    if isinstance(count, exp.Literal) and str(count.this).isdigit() and int(count.this) < 1 << 31:
        return number(int(count.this))
    if isinstance(count, exp.Placeholder) and around.args[count.name].type == DataType("int"):
        return exp.Placeholder(this=count.name)
    raise Unproven(f"{kind.__name__.upper()} with anything but a plain number")


def _items(nodes: Sequence[exp.Expr], scope: Scope) -> list[Item]:
    """Expand stars and name each column."""
    return [item for node in nodes for item in _item(node, scope)]


def _item(node: exp.Expr, scope: Scope) -> list[Item]:
    if isinstance(node, exp.Star):
        return _star(node, scope.shown, scope)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return _star(node.this, scope.of(str(node.args["table"].name)), scope)
    if isinstance(node, exp.Alias):
        check_parts(node, frozenset(("this", "alias")))
        return [Item(node.alias, node.this, True)]
    return [Item(name_of(node, scope), node)]


def _star(node: exp.Expr, columns: Sequence[Visible], scope: Scope) -> list[Item]:
    check_parts(node, frozenset(("except_",)))
    if not columns:
        raise Unproven("* without FROM")
    left_out = [
        scope.find(c if isinstance(c, exp.Column) else exp.Column(this=c)) for c in node.args.get("except_") or []
    ]
    if None in left_out:
        raise Unproven("* EXCEPT with a name that is no column")
    gone = {id(c) for c in left_out}
    return [Item(c.name, naming(c, scope)) for c in columns if id(c) not in gone]


def _compute(block: Block, terms: Terms) -> None:
    """Translate the list; later columns may use the names of earlier ones."""
    named: dict[str, list[Value]] = {}
    for item in block.items:
        here = replace(terms, named=named)
        value = here.passed(item.node) if isinstance(item.node, exp.Column) else here.visit(item.node)
        if block.is_distinct:
            value = _comparable(value, "DISTINCT")
        block.values.append(value)
        if item.is_alias:
            named.setdefault(item.name.lower(), []).append(value)


def _comparable(value: Value, what: str) -> Value:
    """A value in the form that Spark compares rows by."""
    if value.type is not None and value.type.name not in KNOWN:
        raise Unproven(f"{what} over a column of type {value.type}")
    return zero_made_plain(value)


def _grouped(block: Block, rows: Terms) -> tuple[Terms, Groups | None]:
    """The terms over groups, if the query groups its rows."""
    group, having = block.node.args.get("group"), block.node.args.get("having")
    extra = [p for p in (having, block.node.args.get("qualify"), block.node.args.get("order")) if p is not None]
    aggregates = any(has_aggregate(n) for n in (*(i.node for i in block.items), *extra))
    if group is None and not aggregates:
        if having is not None:
            raise Unproven("HAVING without groups")
        return rows, None
    groups = Groups(block.around.ledger.name("g"), block.around.ledger.name("g"))
    sets = grouping_sets(group) if group is not None else None
    sets, group = (None, None) if sets is not None and not any(sets) else (sets, group)
    listed = [node for one in sets for node in one] if sets is not None else None
    for node in _group_nodes(block, group, listed) if group is not None else []:
        _add_key(groups, rows, node)
    if sets is not None:
        _add_sets(groups, block, rows, sets)
    over = Grouped(**{f.name: getattr(rows, f.name) for f in fields(rows)}, inner=rows, groups=groups)
    return over, groups


def _add_sets(groups: Groups, block: Block, rows: Terms, sets: Sequence[Sequence[exp.Expr]]) -> None:
    """Record which keys each grouping set groups by."""
    order = list(groups.keys)
    found = [tuple(order.index(rows.key(_group_node(block, node))) for node in one) for one in sets]
    if len(set(map(frozenset, found))) < len(found):
        raise Unproven("grouping sets of which two are the same")
    groups.sets = found


def _add_key(groups: Groups, rows: Terms, node: exp.Expr) -> None:
    value = zero_made_plain(rows.visit(node))
    if value.type is None:
        raise Unproven("GROUP BY null")
    rows.around.ledger.may_fail |= value.may_fail
    name = rows.around.ledger.name("k")
    key = rows.key(node)
    groups.kinds.add(type(node.unnest()))
    if key not in groups.keys:
        groups.columns[name] = value.node
        groups.keys[key] = Value(groups.column(name), value.type)


def _group_nodes(block: Block, group: exp.Expr, listed: Sequence[exp.Expr] | None) -> list[exp.Expr]:
    """What GROUP BY lists: expressions, positions in the list, names given there, or all that is not aggregated."""
    if listed is not None:
        return [_group_node(block, node) for node in listed]
    check_parts(group, frozenset(("expressions", "all")))
    if group.args.get("all"):
        mixed = [i for i in block.items if has_aggregate(i.node) and _has_loose_column(i.node)]
        if mixed:
            raise Unproven("GROUP BY ALL with a column next to an aggregate in one expression")
        return [i.node for i in block.items if not has_aggregate(i.node)]
    return [_group_node(block, node) for node in group.expressions]


def _group_node(block: Block, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Tuple):
        raise Unproven("GROUP BY a list in brackets")
    place = _place(node, block)
    if place is not None:
        node = block.items[place].node
    else:
        node = _with_names(node, block, lambda column: block.scope.find(column) is None)
    if has_aggregate(node) or node.find(exp.Window):
        raise Unproven("GROUP BY an aggregate")
    return node


def _has_loose_column(node: exp.Expr) -> bool:
    """Tell whether a column is named outside of aggregates."""
    if call_of(node) is not None:
        return False
    return isinstance(node, exp.Column) or any(_has_loose_column(p) for p in node.iter_expressions())


def _is_unclear(item: Item, scope: Scope) -> bool:
    """Tell whether a name given in SELECT is also another column's."""
    try:
        found = scope.find(exp.Column(this=exp.to_identifier(item.name, quoted=True)))
        itself = isinstance(item.node, exp.Column) and scope.find(item.node) is found
    except (InvalidRequest, NotFound):
        return True
    return found is not None and not itself


def _place(node: exp.Expr, block: Block) -> int | None:
    """The position in SELECT's list that a number means."""
    node = node.unnest()
    if isinstance(node, (exp.Neg, exp.Placeholder)) and not node.find(exp.Column):
        raise Unproven("a place in SELECT's list that is not a plain number")
    if not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdigit():
        return None
    if not 1 <= int(node.this) <= len(block.items):
        raise Unproven(f"the place {node.this} in a list of {len(block.items)} columns")
    return int(node.this) - 1


def _with_names(node: exp.Expr, block: Block, wanted: Callable[[exp.Expr], bool]) -> exp.Expr:
    """Replace names given in SELECT's list by what they stand for."""
    whole = exp.Paren(this=node.copy())
    for column in list(whole.find_all(exp.Column)):
        if column.args.get("table") or column.find_ancestor(exp.Query):
            continue
        found = [i for i in block.items if i.name.lower() == column.name.lower()]
        if found and wanted(column):
            column.replace(exp.Paren(this=_agreed(found, column.name, block).copy()))
    return whole.this.unnest() if isinstance(whole.this, exp.Paren) else whole.this


def _agreed(found: Sequence[Item], name: str, block: Block) -> exp.Expr:
    """What several items of one name compute, if they all compute the same."""
    terms = Terms.over(block.scope, block.around, None)
    if len({terms.key(i.node) for i in found}) > 1:
        raise InvalidRequest(f"the column {name!r} is ambiguous", hint="SELECT gives this name twice", column=name)
    return found[0].node


def _condition(block: Block, terms: Terms, node: exp.Expr) -> exp.Expr:
    """A condition that may use the names given in SELECT."""
    named = {i.name.lower() for i in block.items if _is_unclear(i, block.scope)}
    for column in node.find_all(exp.Column):
        if column.name.lower() in named and not column.args.get("table"):
            raise Unproven(f"the name {column.name}, which is both a column and a name given in SELECT")
    if terms.place == QUALIFY and not any(n.find(exp.Window) for n in (node, *(i.node for i in block.items))):
        raise Unproven("QUALIFY without a window function")
    filled = _with_names(node, block, lambda column: block.scope.find(column) is None)
    return guarded(conjuncts(terms, filled))


def _order(block: Block, terms: Terms) -> list[exp.Expr]:
    order = block.node.args["order"]
    check_parts(order, frozenset(("expressions",)))
    return [ordered(o, _sort_key(block, terms, o.this)) for o in order.expressions]


def _sort_key(block: Block, terms: Terms, node: exp.Expr) -> Value:
    """A sort key: a column of the list by position, or an expression over FROM's columns and SELECT's names."""
    if isinstance(node, exp.Var):
        raise Unproven(f"ORDER BY {node.name.upper()}")
    place = _place(node, block)
    place = _same_item(block, node) if place is None else place
    if place is not None:
        value = block.values[place]
        if value.type is not None and value.type.name not in KNOWN:
            raise Unproven(f"ORDER BY a value of type {value.type}")
        return Value(number(place + 1), value.type)
    if block.is_distinct:
        raise Unproven("ORDER BY of DISTINCT rows by anything but a selected column")
    if block.node.args.get("having") and has_aggregate(node):
        raise Unproven("ORDER BY an aggregate after HAVING: give it a name in SELECT")
    for call in node.walk():
        if call_of(call) is not None or isinstance(call, exp.Window):
            _refuse_unclear(block, call)
    value = terms.visit(_with_names(node, block, lambda _: True))
    if isinstance(value.node, exp.Literal):
        raise Unproven("ORDER BY a literal")
    return value


def _same_item(block: Block, node: exp.Expr) -> int | None:
    """The position of an item that is named, or, with DISTINCT, written out again."""
    if isinstance(node, exp.Column) and not node.args.get("table"):
        found = [n for n, i in enumerate(block.items) if i.name.lower() == node.name.lower()]
        if found:
            _agreed([block.items[n] for n in found], node.name, block)
            return found[0]
    if not block.is_distinct:
        return None
    terms = Terms.over(block.scope, block.around, None)
    wanted = terms.key(node)
    return next((n for n, i in enumerate(block.items) if terms.key(i.node) == wanted), None)


def _refuse_unclear(block: Block, node: exp.Expr) -> None:
    named = {i.name.lower() for i in block.items if _is_unclear(i, block.scope)}
    for column in node.find_all(exp.Column):
        if column.name.lower() in named:
            raise Unproven("a name in an aggregate that is both a column and a name given in SELECT")


def all_of_source(node: exp.Expr, source: Source, around: Surroundings) -> Block:
    """A SELECT of everything, with the order and limits of a node that is no SELECT itself."""
    items = [Item(c.name, naming(c, source.scope)) for c in source.scope.shown]
    return Block(node, source, around, None, items)
