"""What names mean inside a query: the columns in scope, a query's result, and state shared by the whole query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Protocol

from sqlglot import exp

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.types import DataType
from anabranch.proven.table.row import ParameterValue, Unproven
from anabranch.queries.query import col

Columns = Sequence[tuple[str, DataType | None]]


class Nameless(str):
    """Stands for the name of a column that Spark would name in an unknown way; the text says what the column is."""


@dataclass(frozen=True)
class Visible:
    """A column that can be named: how DuckDB reaches it, and the table name that users may qualify it with."""

    name: str
    node: exp.Expr
    type: DataType | None
    qualifier: str | None
    """In lower case."""
    hidden: bool = False
    """Whether it must be qualified by its table: the second of two columns that USING merged."""


@dataclass(frozen=True)
class Derived:
    """A proven query, with Spark's and DuckDB's names of its columns."""

    expression: exp.Query
    columns: tuple[tuple[str, str, DataType | None], ...]
    """Spark's name, the name in the expression, and the type."""
    single: bool = False
    """Whether it always has exactly one row."""
    ordered: bool = False

    def seen_as(self, alias: str, qualifier: str | None, names: Sequence[str] | None = None) -> tuple[Visible, ...]:
        """The columns as a query that selects from this one sees them."""
        shown = names or [name for name, _, _ in self.columns]
        if len(shown) != len(self.columns):
            raise Unproven("a list of names that is not as long as the list of columns")
        return tuple(
            Visible(name, col(inner, alias), type_, qualifier)
            for name, (_, inner, type_) in zip(shown, self.columns, strict=True)
        )


@dataclass(frozen=True)
class Scope:
    """The columns of a FROM, in order."""

    columns: tuple[Visible, ...] = ()
    loose: bool = False
    """Whether a join condition may see only some of these columns."""

    def find(self, node: exp.Expr) -> Visible | None:
        """Find the column that a name means, ignoring case; None if there is none."""
        place: int | None = node.meta.get(PLACE)
        if place is not None:
            return self.columns[place]
        name, qualifier = node.name.lower(), qualifier_of(node)
        found = [c for c in self._by_name.get(name, ()) if _is_reached(c, qualifier)]
        if len({id(c.node) for c in found}) > 1:
            raise self._ambiguous(node, found)
        return found[0] if found else None

    @cached_property
    def _by_name(self) -> dict[str, list[Visible]]:
        found: dict[str, list[Visible]] = {}
        for column in self.columns:
            found.setdefault(column.name.lower(), []).append(column)
        return found

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each column, by the column's id()."""
        return {id(column): place for place, column in enumerate(self.columns)}

    def of(self, qualifier: str) -> list[Visible]:
        """The columns of one table, those hidden by USING first, as Spark lists them."""
        found = [c for c in self.columns if c.qualifier == qualifier.lower()]
        if any(c.name.lower() == qualifier.lower() for c in self.columns) and not found:
            raise Unproven(f"a part of the value {qualifier}")
        if not found:
            known = dict.fromkeys(c.qualifier for c in self.columns if c.qualifier)
            raise InvalidRequest(f"there is no table {qualifier!r} in FROM", hint=f"tables: {', '.join(known)}")
        return sorted(found, key=lambda c: not c.hidden)

    @property
    def shown(self) -> list[Visible]:
        """The columns that a star expands to."""
        return [c for c in self.columns if not c.hidden]

    def _ambiguous(self, node: exp.Expr, found: Sequence[Visible]) -> Exception:
        if self.loose:
            return Unproven(f"the name {node.name}, which several tables side by side have")
        tables = ", ".join(f"{c.qualifier}.{c.name}" if c.qualifier else c.name for c in found)
        return InvalidRequest(f"the column {node.name!r} is ambiguous", hint=f"it may be {tables}", column=node.name)


PLACE = "place"
"""Key in a node's meta: the place of the star's column that the name stands for."""


def naming(column: Visible, scope: Scope) -> exp.Column:
    """A name that means exactly this column."""
    node = exp.Column(this=exp.to_identifier(column.name, quoted=True))
    node.meta[PLACE] = scope.places[id(column)]
    return node


def qualifier_of(node: exp.Expr) -> str | None:
    """The table name before a column's, in lower case."""
    if node.args.get("db"):
        raise Unproven("a name of more than two parts")
    table = node.args.get("table")
    return str(table.name).lower() if table else None


def _is_reached(column: Visible, qualifier: str | None) -> bool:
    return not column.hidden if qualifier is None else column.qualifier == qualifier


def no_column(node: exp.Expr, scopes: Iterable[Scope]) -> NotFound:
    """The error for a name that means nothing here, with the nearest known names."""
    columns = [c for scope in scopes for c in scope.columns]
    qualifier = qualifier_of(node)
    names = [f"{c.qualifier}.{c.name}" if qualifier else c.name for c in columns if c.qualifier or not qualifier]
    written = f"{qualifier}.{node.name}" if qualifier else node.name
    return unknown_column(node, written, names)


def unknown_column(node: exp.Expr, written: str, names: Iterable[str]) -> NotFound:
    """The error for an unknown column: names the nearest ones, and shows how to write it if a text is meant."""
    shown = {n.lower(): n for n in names}
    near = get_close_matches(written.lower(), shown, n=1)
    hint = f"did you mean {shown[near[0]]!r}?" if near else f"columns: {', '.join([*shown.values()][:20]) or 'none'}"
    if not near and isinstance(node.parent, _COMPARED) and node is not node.parent.this:
        hint += f"; a text is written in quotes: '{written}'"
    return NotFound(f"there is no column {written!r}", hint=hint, column=written)


_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Like, exp.ILike)


@dataclass
class Ledger:
    """Collected while a query is proven: names in use, tables read, the queries of WITH."""

    taken: int = 0
    tables: dict[str, str] = field(default_factory=dict)
    """The relation that each alias stands for."""
    common: list[exp.CTE] = field(default_factory=list)
    may_fail: bool = False

    def name(self, letter: str) -> str:
        """A name that is unique in the query."""
        self.taken += 1
        return f"_{letter}{self.taken}"


class Inner(Protocol):
    """Proves a nested query."""

    def __call__(self, node: exp.Expr, around: Surroundings, outer: Any = None) -> Derived: ...


@dataclass(frozen=True)
class Surroundings:
    """The context that all parts of a query are proven in."""

    relations: Mapping[str, Columns]
    args: Mapping[str, ParameterValue]
    ledger: Ledger
    prove: Inner
    zone: str | None = None
    """The time zone of Spark's session, if known."""
    common: Mapping[str, tuple[str, Derived]] = field(default_factory=dict)
    """The queries of WITH in scope, by lower-case name."""
    beyond: tuple[Scope, ...] = ()
    """The scopes of the enclosing queries: Spark may accept their names in places where they are not looked up here."""


def check_parts(node: exp.Expr, understood: frozenset[str]) -> None:
    """Refuse a node with parts that are not read here."""
    for name, value in node.args.items():
        if value and name not in understood:
            raise Unproven(_PARTS.get(name, name.replace("_", " ").strip().upper()))


_PARTS = {
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "hint": "a hint",
    **dict.fromkeys(("when", "version"), "a table at another time"),
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "by_name": "BY NAME",
    "recursive": "WITH RECURSIVE",
    "match_condition": "ASOF JOIN",
    "replace": "* REPLACE",
    "rename": "* RENAME",
    "joins": "brackets around a join",
}
