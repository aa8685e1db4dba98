"""A transaction that reads a catalogue file by prepared SQL texts, without SQLAlchemy.

Anything else asked of it opens an SQLAlchemy connection over the same transaction.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any

from anabranch.catalog.files import FileConnection
from anabranch.catalog.json_values import decode
from anabranch.catalog.later import Connection


class FileReader:
    """Stands in for an SQLAlchemy connection in reads."""

    dialect = SimpleNamespace(name="sqlite")

    def __init__(self, connection: FileConnection, open_over: Callable[[FileConnection], Connection]) -> None:
        self.file, self._open_over = connection, open_over

    @cached_property
    def _whole(self) -> Connection:
        return self._open_over(self.file)

    def end(self) -> bool:
        """End the transaction; return whether the connection can begin another."""
        if "_whole" in self.__dict__:
            self._whole.close()
            return False
        if self.file.in_transaction:
            self.file.rollback()
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class FoundRows:
    """The rows of a statement, with columns as attributes."""

    def __init__(self, cursor: sqlite3.Cursor, of_json: Sequence[str]) -> None:
        self._cursor = cursor
        self._row = _row_type(tuple(x[0] for x in cursor.description), tuple(of_json))

    def __iter__(self) -> Iterator[Any]:
        return map(self._row, self._cursor)

    def all(self) -> list[Any]:
        """All rows."""
        return list(self)

    def first(self) -> Any:
        """The first row, or None."""
        return next(iter(self), None)

    def one(self) -> Any:
        """The only row."""
        rows = self.all()
        if len(rows) != 1:
            raise LookupError(f"{len(rows)} rows were found where one is required")
        return rows[0]

    def scalar(self) -> Any:
        """The first value of the first row, or None."""
        found = self.first()
        return found[0] if found else None

    def scalars(self) -> Iterator[Any]:
        """The first value of each row."""
        return (row[0] for row in self)


@cache
def _row_type(columns: tuple[str, ...], of_json: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes rows of values, decoding JSON."""
    made: Any = namedtuple("Row", columns)  # type: ignore[misc]
    places = [columns.index(name) for name in of_json]
    if not places:
        return lambda values: made(*values)

    def decoded(values: Sequence[Any]) -> Any:
        found = list(values)
        for place in places:
            found[place] = None if found[place] is None else decode(found[place])
        return made(*found)

    return decoded
