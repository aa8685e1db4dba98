"""A connection to a catalogue: transactions, and foreign errors translated at this edge."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    Executable,
    RootTransaction,
    create_engine,
    event,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from anabranch.catalog import migrations
from anabranch.catalog.tables import repositories, store
from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Corrupt,
    InvalidRequest,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from anabranch.model.ids import RepositoryId

__all__ = ["Catalog", "Connection", "lock_repository", "now"]

_BUSY_TIMEOUT_SECONDS = 30


class Catalog:
    """One store's catalogue. `read()` and `write()` are its only transactions."""

    def __init__(self, engine: Engine, described: str) -> None:
        self._engine = engine
        self._writer = engine.execution_options(anabranch_write=True)
        self._in_file = engine.dialect.name == "sqlite"
        # SQLite's readers see one state anyway; a server is told to show one.
        self._reader = engine if self._in_file else engine.execution_options(isolation_level="REPEATABLE READ")
        self._described = described

    @classmethod
    def at_file(cls, path: str) -> Catalog:
        """Reach a catalogue in an SQLite file."""
        url = URL.create("sqlite", database=path)
        arguments = {"timeout": _BUSY_TIMEOUT_SECONDS, "check_same_thread": False, "isolation_level": None}
        engine = create_engine(url, connect_args=arguments)
        event.listen(engine, "connect", _prepare_sqlite)
        return cls(engine, path)

    @classmethod
    def at_server(cls, text: str) -> Catalog:
        """Reach a catalogue on a PostgreSQL server."""
        try:
            url = make_url(text).set(drivername="postgresql+psycopg")
            engine = create_engine(url, pool_pre_ping=True)
        except (ArgumentError, NoSuchModuleError, ValueError):
            # The text is not repeated, and not chained: it may hold a password.
            hint = "write postgresql://user:password@host:port/database"
            raise InvalidRequest("that URL does not name a catalogue", hint=hint) from None
        except ModuleNotFoundError as error:
            raise Unavailable("PostgreSQL needs psycopg", hint="pip install 'anabranch[postgres]'") from error
        return cls(engine, url.set(query={}).render_as_string(hide_password=True))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state."""
        with self._translated(), self._reader.connect() as cx, self._begun(cx, "BEGIN"):
            yield cx

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is committed at the end, or leaves nothing."""
        with self._translated(), self._writer.connect() as cx:
            transaction = self._begun(cx, "BEGIN IMMEDIATE")
            try:
                yield cx
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                if error.connection_invalidated:
                    message = f"the connection to {self._described} was lost while it committed"
                    raise OutcomeUnknown(message, hint="look at the branch's moves (`ana reflog`)") from error
                raise

    def create(self, facts: dict[str, str]) -> None:
        """Make a new store here."""
        with self.write() as cx:
            if migrations.exists(cx):
                raise AlreadyExists(f"{self._described} is a store already", hint="open it instead")
            migrations.create(cx, facts)

    def exists(self) -> bool:
        """Tell whether there is a store here."""
        with self.read() as cx:
            return migrations.exists(cx)

    def open(self) -> dict[str, str]:
        """Check the store's version, upgrade it if it is older, and return its facts."""
        with self.read() as cx:
            if not migrations.exists(cx):
                raise NotFound(f"there is no store at {self._described}", hint="make one first (`ana init`, ab.init)")
            current = migrations.found_version(cx) == migrations.FORMAT_VERSION
        if not current:
            with self.write() as cx:
                migrations.upgrade(cx)
        with self.read() as cx:
            return {row.key: row.value for row in cx.execute(select(store))}

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    def _begun(self, cx: Connection, how: str) -> RootTransaction:
        """Begin as told. SQLite is told by hand: an event of SQLAlchemy's would make every statement slower."""
        transaction = cx.begin()
        if self._in_file:
            cx.connection.cursor().execute(how)
        return transaction

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except AnabranchError:
            raise
        except DBAPIError as error:
            raise _translate(error, self._described) from error
        except sqlite3.Error as error:
            known = _translate_sqlite(error, self._described)
            raise known or Corrupt(
                f"the catalogue {self._described} refused to begin: {error}", hint=_STRANGE
            ) from error
        except PoolTimeout as error:
            hint = "use fewer threads, or let each hold a connection for a shorter time"
            raise Unavailable(f"all connections to the catalogue {self._described} are in use", hint=hint) from error


class Prepared:
    """A statement over text and numbers that is turned into SQL once: a third of what a short one costs."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._known: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}

    def __call__(self, cx: Connection, values: Mapping[str, Any]) -> CursorResult[Any]:
        """Run it with these values."""
        text, order, fixed = self._known.get(cx.dialect.name) or self._prepare(cx)
        given = {**fixed, **values}
        return cx.exec_driver_sql(text, given if order is None else tuple(given[name] for name in order))

    def _prepare(self, cx: Connection) -> tuple[str, list[str] | None, dict[str, Any]]:
        compiled = self._statement.compile(dialect=cx.dialect)  # type: ignore[attr-defined]
        found = self._known[cx.dialect.name] = (compiled.string, compiled.positiontup, dict(compiled.params))
        return found


def now() -> int:
    """The time as the catalogue keeps it: microseconds since 1970."""
    return time.time_ns() // 1000


def lock_repository(cx: Connection, repository: RepositoryId) -> None:
    """Let one writer at a time decide about a repository's names and heads; SQLite has one writer anyway."""
    if cx.dialect.name != "sqlite":
        cx.execute(select(repositories.c.id).where(repositories.c.id == repository).with_for_update())


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


_SQLITE_KINDS: dict[int, tuple[type[AnabranchError], str, str]] = {
    sqlite3.SQLITE_BUSY: (Unavailable, "is locked by another writer", "try again in a moment"),
    sqlite3.SQLITE_LOCKED: (Unavailable, "is locked by another writer", "try again in a moment"),
    sqlite3.SQLITE_FULL: (Unavailable, "has no room: the disk is full", "free some space; nothing was changed"),
    sqlite3.SQLITE_READONLY: (Unavailable, "can't be written", "check the permissions of the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: (Unavailable, "can't be opened", "check that the folder exists and its permissions"),
    sqlite3.SQLITE_IOERR: (Unavailable, "can't be read or written", "check the disk"),
    sqlite3.SQLITE_CORRUPT: (Corrupt, "is damaged", "restore it from a backup"),
    sqlite3.SQLITE_NOTADB: (Corrupt, "is not an SQLite database", "restore it from a backup"),
}


_STRANGE = "is it a store of Anabranch's?"


def _translate_sqlite(error: sqlite3.Error, described: str) -> AnabranchError | None:
    """Turn an error of SQLite's into one of ours, if its code tells what it is."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _SQLITE_KINDS:
        kind, what, hint = _SQLITE_KINDS[code & 0xFF]
        return kind(f"the catalogue {described} {what}", hint=hint)
    if code == sqlite3.SQLITE_ERROR:
        return Corrupt(f"the catalogue {described} refused a statement: {error}", hint=_STRANGE)
    return None


def _translate(error: DBAPIError, described: str) -> AnabranchError:
    """Turn a database error into one of ours, by its code."""
    if isinstance(error.orig, sqlite3.Error) and (known := _translate_sqlite(error.orig, described)):
        return known
    if error.statement is None and isinstance(error, ProgrammingError):
        return InvalidRequest(f"{described} can't be reached that way: {error.orig}", hint="check the URL")
    if isinstance(error, IntegrityError):
        return AlreadyExists(f"another writer was faster: {error.orig}", hint="look at what it did, then try again")
    if isinstance(error, OperationalError) or error.connection_invalidated:
        hint = "check that the server runs and can be reached"
        return Unavailable(f"the catalogue {described} does not answer: {error.orig}", hint=hint)
    return Corrupt(f"the catalogue {described} refused a statement: {error.orig}", hint=_STRANGE)
