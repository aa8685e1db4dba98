"""What the stores of one process share in tests: the statements that make a store, and one database of DuckDB's.

Most tests make a store of a few rows; each would compile these statements and load DuckDB again, which takes longer
than all else that it does. Nothing that a store holds is shared. Whatever imports this module has it so."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

import duckdb
from sqlalchemy import Connection, MetaData, create_mock_engine

from anabranch.catalog import migrations
from anabranch.engines.choice import Engines
from anabranch.engines.duck import DuckEngine
from anabranch.engines.duck_functions import register


@cache
def _statements(dialect: str) -> tuple[str, ...]:
    """What makes the tables of a store."""
    made: list[str] = []
    engine = create_mock_engine(f"{dialect}://", lambda ddl, *_: made.append(str(ddl.compile(dialect=engine.dialect))))
    MetaData.create_all(migrations.metadata, engine, checkfirst=False)
    return tuple(made)


def _create_all(cx: Connection, checkfirst: bool) -> None:
    assert not checkfirst
    for statement in _statements(cx.dialect.name):
        cx.exec_driver_sql(statement)


@cache
def _database(_process: int) -> duckdb.DuckDBPyConnection:
    """One for each process: DuckDB's threads do not follow into one that is forked off."""
    made = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    register(made)
    return made


class _KeptDuck(DuckEngine):
    """An engine that is one more connection."""

    def __init__(self, row_group_rows: int, at_hand: Any) -> None:
        self._row_group_rows, self._at_hand = row_group_rows, at_hand
        self._database, self._local = _database(os.getpid()).cursor(), threading.local()

    def close(self) -> None:
        self._database.close()


def _duck(self: Engines) -> DuckEngine:
    with self._lock:
        if self._duck is None:
            rows, memory_bytes = self._settings.objects.row_group_rows, self._settings.limits.query_memory_bytes
            if memory_bytes:  # a limit of the database, so not of the one that is kept
                self._duck = DuckEngine(rows, self._at_hand, memory_bytes)
            else:
                self._duck = _KeptDuck(rows, self._at_hand)
        return self._duck


migrations.metadata.create_all = _create_all  # type: ignore[method-assign,assignment]
Engines.duck = _duck  # type: ignore[method-assign]
