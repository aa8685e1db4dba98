"""What the stores of one process share in tests: SQL that is compiled already, and one database of DuckDB's.

Most tests make a store of a few rows; each would compile the same statements and load DuckDB again, which takes longer
than all else that it does. Nothing that a store holds is shared. Whatever imports this module has it so."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

import duckdb
from sqlalchemy import Connection, Engine, MetaData, create_engine, create_mock_engine
from sqlalchemy.util import LRUCache

from anabranch.catalog import later, migrations
from anabranch.engines.choice import Engines
from anabranch.engines.duck import DuckEngine
from anabranch.engines.duck_functions import register


class _Compiled(LRUCache[Any, Any]):
    """Statements by the name of the dialect: each store has an object for it, and all are alike."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), value)


COMPILED = _Compiled(5000)


def _engine(url: Any, **options: Any) -> Engine:
    return create_engine(url, execution_options={"compiled_cache": COMPILED}, **options)


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
            self._duck = _KeptDuck(self._settings.objects.row_group_rows, self._at_hand)
        return self._duck


later.sa.create_engine = _engine  # type: ignore[assignment]
migrations.metadata.create_all = _create_all  # type: ignore[method-assign,assignment]
Engines.duck = _duck  # type: ignore[method-assign]
