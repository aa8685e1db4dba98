"""Statements compiled to SQL once; for catalogues in files beforehand, so that they need no SQLAlchemy.

The texts for files are in prepared.json, generated from the statements (`python -m tests.prepared_texts`).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from anabranch.catalog.file_reader import FileReader, FoundRows
from anabranch.catalog.later import Connection, sa, t

TEXTS = Path(__file__).with_name("prepared.json")
_LIST = re.compile(r"__\[POSTCOMPILE_(\w+)\]")
"""SQLAlchemy's placeholder for a list, whose length is known only when the statement runs."""


@dataclass(frozen=True)
class FileText:
    """A statement as SQLite takes it."""

    sql: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values that are always the same."""
    json: Sequence[str] = ()
    """The columns that hold JSON."""

    @cached_property
    def _lists(self) -> list[str]:
        return _LIST.findall(self.sql)

    def expanded(self, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text and all its values, with a placeholder for each value of a list."""
        given = {**self.fixed, **values}
        if not self._lists:
            return self.sql, given
        for name in self._lists:
            given |= {f"{name}_{i}": value for i, value in enumerate(given.pop(name))}
        return _LIST.sub(lambda found: _places(found[1], len(values[found[1]])), self.sql), given


def _places(name: str, count: int) -> str:
    return ", ".join(f":{name}_{i}" for i in range(count)) or "NULL"


class Prepared:
    """A statement with named parameters, compiled on its first run: compiling is a third of the cost of a short one.

    `make` is called with the values of `variant`, which are also part of the statement's name.
    """

    def __init__(self, make: Callable[..., Any], *variant: Any) -> None:
        self._make, self._variant = make, variant
        self._known: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}
        words = (make.__module__.rpartition(".")[2], make.__name__.strip("_"), *map(str, variant))
        self.name = ".".join(words)
        assert self.name not in EVERY, f"two statements are called {self.name}"
        EVERY[self.name] = self

    @cached_property
    def statement(self) -> Any:
        """The statement in SQLAlchemy."""
        return self._make(*self._variant)

    @cached_property
    def file_text(self) -> FileText:
        """The statement for a catalogue in a file."""
        known = _texts().get(self.name)
        return FileText(**known) if known else self.rendered()

    def rendered(self) -> FileText:
        """Turn the statement into SQL for a catalogue in a file."""
        from sqlalchemy.dialects.sqlite import dialect

        made = self.statement.compile(dialect=dialect(paramstyle="named"))
        lists = _LIST.findall(made.string)
        fixed = {name: value for name, value in made.params.items() if value is not None and name not in lists}
        return FileText(made.string, fixed, self._json)

    @cached_property
    def _json(self) -> list[str]:
        columns = self.statement.selected_columns if self.statement.is_select else ()
        return [column.name for column in columns if isinstance(column.type, sa.JSON)]

    @cached_property
    def _reads(self) -> bool:
        return bool(self.statement.is_select)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the text says it all: it has no list parameters, and returns no JSON."""
        return not self._json and not any(x.expanding for x in self.statement.compile().binds.values())

    def __call__(self, cx: Connection, values: Mapping[str, Any]) -> Any:
        """Run it with these values; a read of a file past SQLAlchemy, which takes longer over it than SQLite."""
        file = cx.file if isinstance(cx, FileReader) else cx.connection.dbapi_connection if self._reads else None
        if isinstance(file, sqlite3.Connection):
            text = self.file_text
            return FoundRows(file.execute(*text.expanded(values)), text.json)
        if not self._is_plain:
            return cx.execute(self.statement, values)
        text, order, fixed = self._known.get(cx.dialect.name) or self._prepare(cx)
        given = {**fixed, **values}
        return cx.exec_driver_sql(text, given if order is None else tuple(given[name] for name in order))

    def _prepare(self, cx: Connection) -> tuple[str, list[str] | None, dict[str, Any]]:
        compiled = self.statement.compile(dialect=cx.dialect)
        found = self._known[cx.dialect.name] = (compiled.string, compiled.positiontup, dict(compiled.params))
        return found


EVERY: dict[str, Prepared] = {}
"""All prepared statements of the modules imported so far, by name."""


def prepared(make: Callable[[], Any]) -> Prepared:
    """Prepare the statement that a function makes."""
    return Prepared(make)


def looked_up(table: str, columns: str = "", *, order: str = "", **by: str) -> Prepared:
    """Prepare a look-up of columns (all if none are named) by the values of others; `by` names their parameters."""
    return Prepared(_look_up, table, columns, order, *by.items())


def _look_up(name: str, columns: str, order: str, *by: tuple[str, str]) -> Any:
    table = t.metadata.tables[name]
    query = sa.select(*(table.c[column] for column in columns.split() or table.c.keys()))
    query = query.where(*(table.c[column] == sa.bindparam(parameter) for column, parameter in by))
    return query.order_by(*(table.c[column] for column in order.split()))


@cache
def _texts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TEXTS.read_text(encoding="utf-8")) if TEXTS.exists() else {}
    return found
