"""The conditions that a query's text sets on single tables: files that can't meet them are skipped.

A condition counts if every row of the result passes it: a conjunct of the WHERE beside the FROM that names the table.
Joins don't matter: WHERE would drop whatever the skipped rows would have produced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from anabranch.proven.parser import parse


@lru_cache(256)
def table_filters(text: str, names: frozenset[str]) -> dict[str, tuple[exp.Expr, ...]]:
    """For each of these tables that a text names exactly once, the conditions on it alone, with its name left out."""
    try:
        parsed = parse(text)
    except (SqlglotError, RecursionError):
        return {}
    found: dict[str, tuple[exp.Expr, ...]] = {}
    named = [node.name for whole in parsed for node in whole.find_all(exp.Table)]
    for select in (s for whole in parsed for s in whole.find_all(exp.Select)):
        for table, is_alone in _tables(select):
            if table.name in names and named.count(table.name) == 1:
                found[table.name] = tuple(_own(select, table.alias_or_name, is_alone))
    return found


def _tables(select: exp.Select) -> Iterator[tuple[exp.Table, bool]]:
    """The tables directly in a FROM, and whether each is the only one there."""
    from_ = select.args.get("from_")
    beside: Sequence[exp.Expr] = [*(select.args.get("joins") or []), *(select.args.get("laterals") or [])]
    for node in (from_.this if from_ else None, *(getattr(join, "this", None) for join in beside)):
        if isinstance(node, exp.Table) and _is_plain(node):
            yield node, not beside


def _is_plain(table: exp.Table) -> bool:
    alias = table.args.get("alias")
    is_renamed = alias is not None and bool(alias.args.get("columns"))
    return not is_renamed and not any(value for part, value in table.args.items() if part not in ("this", "alias"))


def _own(select: exp.Select, name: str, is_alone: bool) -> Iterator[exp.Expr]:
    """The conjuncts of a WHERE that refer to one table only."""
    where = select.args.get("where")
    parts = [where.this] if where is not None else []
    while parts:
        part = parts.pop()
        if isinstance(part, exp.And):
            parts += [part.left, part.right]
        elif isinstance(part, exp.Paren):
            parts.append(part.this)
        elif part.find(exp.Query) is None and all(_is_of(c, name, is_alone) for c in part.find_all(exp.Column)):
            yield _without_table(part)


def _is_of(column: exp.Column, name: str, is_alone: bool) -> bool:
    given = column.args.get("table")
    return is_alone if given is None else given.name.lower() == name.lower() and not column.args.get("db")


def _without_table(part: exp.Expr) -> exp.Expr:
    made = part.copy()
    for column in made.find_all(exp.Column):
        column.set("table", None)
    return made
