"""Read the catalogue's rows as they are, in order; values of a wrong type are reported as damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    LargeBinary,
    String,
    Table,
    cast,
    select,
    type_coerce,
)
from sqlalchemy.exc import InvalidRequestError as MissingRow
from sqlalchemy.types import NullType

from anabranch.catalog import failures
from anabranch.catalog import tables as t
from anabranch.catalog.json_values import decode
from anabranch.errors import AnabranchError, InvalidRequest
from anabranch.model.names import is_unicode
from anabranch.model.texts import shortened
from anabranch.model.verification import Affected, Damage, DamageKind

_AT_ONCE = 1000
_GREATEST = 1 << 63
_TABLES_OF: Mapping[DamageKind, tuple[Table, ...]] = {
    "store": (t.store,),
    "repository": (t.repositories,),
    "branch": (t.branches, t.branch_moves),
    "tag": (t.tags,),
    "line": (t.lines,),
    "object": (t.objects, t.inline_objects, t.object_links, t.manifest_members, t.blocks),
    "schema": (t.schemas, t.schema_columns),
    "table": (t.entries, t.names),
    "view": (t.views, t.view_objects),
    "open commit": (t.open_commits, t.open_entries, t.open_objects),
    "open merge": (t.open_merges, t.settled_rows),
}
_KINDS = {table: kind for kind, tables in _TABLES_OF.items() for table in tables}
MISSHAPEN = (*failures.MISSHAPEN, AnabranchError, MissingRow)
"""Errors raised by values that are not as expected."""


@dataclass(frozen=True)
class CatalogRow:
    """A row whose values have the types that its table declares."""

    table: Table
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        return self.values[name]

    @property
    def where(self) -> str:
        """Which row it is, by its key."""
        return where(self.table, self.values)

    def damage(self, what: str, affects: Affected | None = None, hint: str | None = None) -> Damage:
        """Damage to this row."""
        more = {} if hint is None else {"hint": hint}
        return Damage(kind_of(self.table), self.where, what, affects or Affected(), **more)


def kind_of(table: Table) -> DamageKind:
    """What a row of a table belongs to."""
    return _KINDS.get(table, "commit")


def where(table: Table, values: Mapping[str, Any]) -> str:
    """Name a row by its key."""
    key = ", ".join(f"{c.name} {shortened(str(values.get(c.name)))}" for c in table.primary_key)
    return f"{table.name} ({key})"


@dataclass
class CatalogReader:
    """Reads tables in one transaction, counts rows, and collects damage to rows that can't be read."""

    cx: Connection
    damages: list[Damage] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def rows(
        self,
        table: Table,
        *order: ColumnElement[Any],
        columns: Sequence[Column[Any]] | None = None,
        condition: ColumnElement[bool] | None = None,
        source: FromClause | None = None,
        more: Mapping[str, Column[Any]] | None = None,
        limit: int | None = None,
    ) -> Iterator[CatalogRow]:
        """Yield the rows of a table, or of a join with `more` columns, which may be null."""
        own = list(columns or table.c)
        wanted = {c.name: c for c in own} | dict(more or {})
        optional = frozenset(more or ())
        picked = [_as_stored(c, self.cx).label(name) for name, c in wanted.items()]
        query = select(*picked).select_from(table if source is None else source)
        query = query.order_by(*order) if condition is None else query.where(condition).order_by(*order)
        query = query.limit(limit)
        if limit is None:
            query = query.execution_options(yield_per=_AT_ONCE)
        for row in self.cx.execute(query):
            self.counts[table.name] += 1
            found = self._shaped(table, wanted, optional, row._mapping)
            if found is not None:
                yield found

    def _shaped(
        self, table: Table, columns: Mapping[str, Column[Any]], optional: frozenset[str], raw: Mapping[Any, Any]
    ) -> CatalogRow | None:
        values: dict[str, Any] = {}
        wrong: list[str] = []
        for name, column in columns.items():
            try:
                values[name] = _value(column, raw[name], name in optional)
            except (ValueError, RecursionError) as error:
                values[name] = None
                wrong.append(f"{name}: {error}")
        row = CatalogRow(table, values)
        self.damages += [row.damage(what) for what in wrong]
        return None if wrong else row

    def check(self, row: CatalogRow | None, found: Iterable[Damage], table: Table | None = None) -> None:
        """Run one check to its end; if it fails over what it reads, that is damage, too."""
        try:
            for damage in found:
                self.damages.append(damage)
        except MISSHAPEN as error:
            place = row.where if row else (table.name if table is not None else "the catalogue")
            kind = kind_of(row.table) if row else (kind_of(table) if table is not None else "store")
            said = error.message if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"
            self.damages.append(Damage(kind, place, f"it says what can't be read: {said}"))


def refused(check: Callable[[], object]) -> Iterator[str]:
    """What a check of a name or word objects to."""
    try:
        check()
    except InvalidRequest as error:
        yield error.message


def _as_stored(column: Column[Any], cx: Connection) -> ColumnElement[Any]:
    """A column as the catalogue keeps it; of JSON on a server its text, since the driver would decode it."""
    is_decoded = isinstance(column.type, JSON) and cx.dialect.name != "sqlite"
    return cast(column, String) if is_decoded else type_coerce(column, NullType())


def _value(column: Column[Any], found: Any, is_optional: bool) -> Any:
    """A value in its column's type; ValueError if it has another."""
    kind = column.type
    if found is None:
        if column.nullable or is_optional:
            return None
        raise ValueError("there is no value")
    if isinstance(kind, JSON):
        return decode(found)
    if isinstance(kind, Boolean):
        return _checked(bool(found), found in (0, 1) and isinstance(found, int), "true or false", found)
    if isinstance(kind, Integer):
        is_number = isinstance(found, int) and not isinstance(found, bool)
        return _checked(found, is_number and -_GREATEST <= found < _GREATEST, "a whole number", found)
    if isinstance(kind, LargeBinary):
        return _checked(found, isinstance(found, bytes | memoryview), "bytes", found)
    return _checked(found, isinstance(found, str) and is_unicode(found), "text", found)


def _checked(value: Any, is_right: bool, expected: str, found: Any) -> Any:
    if not is_right:
        raise ValueError(f"expected {expected}, found {shortened(repr(found))}")
    return value


@contextmanager
def any_text(cx: Connection) -> Iterator[None]:
    """A block in which SQLite also returns text that is not valid UTF-8; a server has none."""
    if cx.dialect.name != "sqlite":
        yield
        return
    connection: Any = cx.connection.dbapi_connection
    before, connection.text_factory = connection.text_factory, lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


class Companions:
    """Rows that belong to other rows, read alongside them in key order; ask for keys once each, ascending."""

    def __init__(self, rows: Iterator[CatalogRow], *key: str) -> None:
        self._rows, self._key = rows, key
        self._next = next(rows, None)

    def of(self, key: tuple[Any, ...]) -> tuple[list[CatalogRow], list[CatalogRow]]:
        """The rows of a key, and earlier ones that nothing asked for."""
        lost = self._until(lambda own: own < key)
        return self._until(lambda own: own == key), lost

    def rest(self) -> list[CatalogRow]:
        """The remaining rows, which nothing asked for."""
        return self._until(lambda _: True)

    def _until(self, is_wanted: Any) -> list[CatalogRow]:
        found: list[CatalogRow] = []
        while self._next is not None and is_wanted(tuple(self._next.values[name] for name in self._key)):
            found.append(self._next)
            self._next = next(self._rows, None)
        return found
