"""A connection to a catalogue: transactions, with foreign errors translated at this edge."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from anabranch.catalog import files, format_version, spare_room
from anabranch.catalog.failures import MISSHAPEN, NOT_OURS, is_rolled_back, translate, translate_sqlite
from anabranch.catalog.file_reader import FileReader
from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import looked_up
from anabranch.catalog.sql_engines import engine_of_file, engine_of_server, milliseconds
from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Corrupt,
    InvalidRequest,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from anabranch.model.addresses import masked, read_address
from anabranch.model.ids import RepositoryId
from anabranch.model.texts import shortened
from anabranch.settings import CLOCK_ERROR_LIMIT_MICROS, FREE_PAGES_SHARE, FULL_DISK_BYTES, ServerSettings

if TYPE_CHECKING:
    from sqlalchemy import Engine, Pool, RootTransaction

__all__ = ["Catalog", "Connection", "is_ahead", "lock_repository", "next_time", "now", "settle"]


log = logging.getLogger("anabranch.catalog.store")


class _SqlalchemyEngines(NamedTuple):
    """SQLAlchemy's engine for a catalogue, and its variants for readers and writers."""

    whole: Engine
    reader: Engine
    writer: Engine


class Catalog:
    """One store's catalogue. `read()` and `write()` are its only transactions."""

    def __init__(
        self,
        make_engine: Callable[[], Engine],
        described: str,
        begin_writing: str = "BEGIN IMMEDIATE",
        *,
        file: str = "",
    ) -> None:
        self._make_engine, self._file = make_engine, file
        self._described, self._begin_writing = described, begin_writing
        self._joined, self._making = threading.local(), threading.Lock()
        self._made: _SqlalchemyEngines | None = None
        self._idle: list[files.FileConnection] = []
        self._blocks = 0
        self.has_damage: Callable[[Connection], bool] = lambda _: True
        """Checks every row. Injected, as checks are a room above; without it, what can't be read is damage."""

    @classmethod
    def at_file(cls, path: str) -> Catalog:
        """Open a catalogue in an SQLite file."""
        place = os.path.abspath(path)
        return cls(partial(engine_of_file, path, partial(files.connect, place)), path, file=place)

    @classmethod
    def at_server(cls, text: str, settings: ServerSettings | None = None) -> Catalog:
        """Open a catalogue on a PostgreSQL server."""
        waits, address = settings or ServerSettings(), read_address(text)
        engine = engine_of_server(address, waits)
        begin = f"SET LOCAL idle_in_transaction_session_timeout = {milliseconds(waits.idle_timeout_seconds)}"
        return cls(lambda: engine, address.shown, begin)

    @property
    def _engines(self) -> _SqlalchemyEngines:
        """SQLAlchemy's engines, made on first use: short reads of a file don't need them."""
        with self._making:
            if self._made is None:
                made = self._make_engine()
                # SQLite's readers see one state anyway; a server must be told.
                reader = made if self._file else made.execution_options(isolation_level="REPEATABLE READ")
                self._made = _SqlalchemyEngines(made, reader, made.execution_options(anabranch_write=True))
                self._close_idle()
            return self._made

    @property
    def is_in_folder(self) -> bool:
        """Whether the catalogue is a file, which a folder may bring along, rather than on a server."""
        return bool(self._file)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state; inside `one_state`, that block's."""
        with self._readable():
            held = self._held()
            if held is not None:
                with self._translated():
                    yield held
                return
            with self._reading() as cx:
                yield cx

    def _held(self) -> Connection | None:
        """The connection that this thread reads by, if it is in a block; that of `one_state` is opened on first use."""
        state = self._joined
        if getattr(state, "unopened", None) is not None:
            state.cx, state.unopened = state.unopened.enter_context(self._reading()), None
        return getattr(state, "cx", None)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._translated(), self._reading_file() if self._file and self._made is None else self._asking() as cx:
            yield cx

    @contextmanager
    def _asking(self) -> Iterator[Connection]:
        with (
            self._engines.reader.connect() as cx,
            self._steady(cx.connection.dbapi_connection),
            self._begun(cx, "BEGIN"),
        ):
            yield cx

    @contextmanager
    def _reading_file(self) -> Iterator[Connection]:
        """Read through a plain SQLite connection, as long as nothing needs SQLAlchemy."""
        try:
            found = self._idle.pop()
        except IndexError:
            found = files.connect(self._file)
        reader = FileReader(found, self._opened_over)
        try:
            found.execute("BEGIN")
            with self._steady(found):
                yield cast(Connection, reader)
        finally:
            if reader.end() and found.frozen is None and self._made is None:
                self._idle.append(found)
            else:
                found.close()

    def _opened_over(self, found: files.FileConnection) -> Connection:
        """An SQLAlchemy connection in a transaction that another connection has begun."""
        each = iter((files.connect(self._file), found))
        engine = engine_of_file(self._file, lambda: next(each), poolclass=sa.NullPool)
        engine.connect().close()  # SQLAlchemy tries out the first one, and rolls it back
        cx = engine.connect()
        cx.begin()
        return cx

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """A block in which all reads of this thread see one state, until the thread writes: then reads see that."""
        state = self._joined
        if getattr(state, "cx", None) is not None or getattr(state, "unopened", None) is not None:
            yield
            return
        with ExitStack() as opened:
            state.unopened = opened
            try:
                yield
            finally:
                state.cx = state.unopened = None

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that commits at the end, or leaves nothing; inside `alone`, part of that block's."""
        if self.is_alone:
            with self._translated(), self._joined.cx.begin_nested():
                yield self._joined.cx
            return
        self._joined.cx = self._joined.unopened = None
        with self._holding(), self._committing() as cx:
            yield cx

    @contextmanager
    def apart(self, *, writes: bool = False) -> Iterator[Connection]:
        """Open a transaction on a connection of its own, whatever block this thread is in; that block sees none of it.

        Not to write inside a block that writes: the one would wait for the other.
        """
        with self._committing() if writes else self._readable_apart() as cx:
            yield cx

    @contextmanager
    def _readable_apart(self) -> Iterator[Connection]:
        with self._readable(), self._reading() as cx:
            yield cx

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """Note that this process has a transaction that writes, or is part of one."""
        state = self._joined
        state.depth = getattr(state, "depth", 0) + 1
        try:
            yield
        finally:
            state.depth -= 1

    @contextmanager
    def _committing(self) -> Iterator[Connection]:
        with self._readable(), self._translated(), self._engines.writer.connect() as cx:
            transaction = self._begun(cx, self._begin_writing)
            try:
                yield cx
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except sa.exc.DBAPIError as error:
                if is_rolled_back(error):
                    raise
                cx.invalidate()  # Whoever asks about the outcome must use another connection.
                message = f"the catalogue {self._described} failed while it committed: {masked(str(error.orig))}"
                raise OutcomeUnknown(message, hint="look at the branch's moves (`ana reflog`)") from error

    @contextmanager
    def alone(self, repository: RepositoryId) -> Iterator[None]:
        """A block in which nobody else moves a branch of a repository.

        All transactions of this thread become parts of one, which commits at the end, or leaves nothing.
        """
        with self.write() as cx:
            lock_repository(cx, repository)
            with self._part_of(cx):
                yield

    @contextmanager
    def joined(self, cx: Connection) -> Iterator[None]:
        """A block in which all transactions of this thread are parts of the caller's, on its connection.

        Nothing is committed here and no other connection is opened: the caller commits, or rolls all of it back.
        """
        _check_joined(cx)
        if self._file and not cx.in_transaction():
            cx.begin()  # prepared reads go past SQLAlchemy, which has to know what the caller's rollback() ends
        if self._file and not cx.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
            # The driver begins by itself only before a write; a savepoint alone would be committed when it ends.
            cx.connection.cursor().execute(self._begin_writing)
        with self._part_of(cx):
            yield

    @contextmanager
    def _part_of(self, cx: Connection) -> Iterator[None]:
        before = getattr(self._joined, "cx", None), self.is_alone
        self._joined.cx, self._joined.writes = cx, True
        with self._making:
            self._blocks += 1
        try:
            yield
        finally:
            self._joined.cx, self._joined.writes = before
            with self._making:
                self._blocks -= 1

    @property
    def is_writing(self) -> bool:
        """Whether another transaction that writes might wait for ever for one of this thread, or of one it works for.

        Threads that work for an `alone` or `joined` block are not known, so all of the process count while it lasts.
        """
        return self._blocks > 0 or getattr(self._joined, "depth", 0) > 0

    @property
    def shown(self) -> str:
        """The place of the catalogue, without a password."""
        return self._file or self._described

    def identity(self, cx: Connection) -> str:
        """A name of this very file or database, which a copy of it does not share."""
        if self._file:
            return f"file {os.stat(self._file).st_ino}"
        return f"database {cx.exec_driver_sql(_DATABASE).scalar_one()}"

    @property
    def is_alone(self) -> bool:
        """Whether this thread is in an `alone` or `joined` block, where writes are committed later, if at all."""
        return getattr(self._joined, "writes", False)

    def create(self, facts: dict[str, str]) -> None:
        """Make a new store here."""
        with self.write() as cx:
            if format_version.exists(cx):
                raise AlreadyExists(f"{self._described} is a store already", hint="open it instead")
            from anabranch.catalog import migrations  # it needs all of SQLAlchemy

            migrations.create(cx, facts)

    def exists(self) -> bool:
        """Whether there is a store here."""
        with self.read() as cx:
            return format_version.exists(cx)

    def _need_store(self, cx: Connection) -> None:
        if not format_version.exists(cx):
            raise NotFound(f"there is no store at {self._described}", hint="make one first (`ana init`, ab.init)")

    def open(self) -> dict[str, str]:
        """Check the store's version, upgrade it if it is older, and return its facts."""
        with self.read() as cx:
            current = format_version.is_current(cx)
            if self._file and not current:
                self._need_store(cx)
        if not current:
            from anabranch.catalog import migrations

            with self.write() as cx:
                migrations.wait_for_upgrades(cx)  # one under way has the tables under either name
                self._need_store(cx)
                migrations.upgrade(cx)
        facts = self.facts()
        if not {"store_id", "objects"} <= facts.keys():
            message = f"the catalogue {self._described} does not say which store it is of, or where its objects are"
            raise Corrupt(message, hint="restore it from a backup")
        return facts

    def facts(self) -> dict[str, str]:
        """The facts of the store, such as its id and where its objects are."""
        with self.read() as cx:
            return {row.key: row.value for row in _facts(cx, {})}

    def now(self) -> int:
        """The time by the catalogue's clock."""
        with self.read() as cx:
            return now(cx)

    def compact(self, *, rewrites: bool = True) -> None:
        """Reclaim the space of removed rows, if there is much, and of the log; a server does so by itself.

        This needs exclusive access for a moment and, to rewrite the file, room for two copies; without either, it is
        left for later.
        """
        if not self._file:
            return
        with self._translated(), self._engines.writer.connect() as cx:
            run = cx.connection.cursor().execute
            pages, free = (run(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
            steps = ["PRAGMA wal_checkpoint(TRUNCATE)"]
            has_room = spare_room.free_bytes(self._file) > 2 * os.path.getsize(self._file) + FULL_DISK_BYTES
            if rewrites and has_room and free * FREE_PAGES_SHARE >= pages:
                steps = ["VACUUM", *steps]
            for step in steps:
                try:
                    run(step)
                except sqlite3.OperationalError as error:
                    log.debug("the catalogue %s was not compacted: %s", self._described, error)

    def close(self) -> None:
        """Close all connections."""
        self._close_idle()
        if self._made is not None:
            self._made.whole.dispose()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def start_anew(self) -> None:
        """After a fork: leave the parent's connections alone; they must not even be closed."""
        _OF_PARENTS.extend(self._idle)
        self._idle = []
        if self._made is not None:
            _OF_PARENTS.append(self._made.whole.pool)
            self._made.whole.dispose(close=False)
        self._joined, self._making, self._blocks = threading.local(), threading.Lock(), 0

    @contextmanager
    def _steady(self, found: object) -> Iterator[None]:
        """Refuse what was read of a file that was written meanwhile, where SQLite itself would not notice."""
        frozen = found.frozen if isinstance(found, files.FileConnection) else None
        try:
            yield
        finally:
            if frozen is not None and files.frozen_as(self._file) != frozen:
                message = f"the catalogue {self._described} was written while it was read"
                raise Unavailable(message, hint="read it again")

    def _begun(self, cx: Connection, first: str) -> RootTransaction:
        """Begin by hand on SQLite, since an SQLAlchemy event hook would slow down every statement."""
        transaction = cx.begin()
        if self._file:
            cx.connection.cursor().execute(first)
        elif first != "BEGIN":
            cx.exec_driver_sql(first)
        return transaction

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn errors over misshapen values into `Corrupt`; any other such error is a bug, and stays what it is."""
        try:
            yield
        except AnabranchError:
            raise
        except (*MISSHAPEN, sa.exc.InvalidRequestError) as error:
            if not self._is_damaged():
                raise
            message = f"the catalogue {self._described} says what can't be read: {type(error).__name__}: {error}"
            hint = "`ana verify` lists all damages; restore the catalogue from a backup"
            raise Corrupt(message, hint=hint) from error

    def _is_damaged(self) -> bool:
        """Whether a check of every row finds damage; Python's errors don't say whether a value or the code is wrong."""
        try:
            with self._reading() as cx:
                return self.has_damage(cx)
        except MISSHAPEN:
            return True
        except AnabranchError as error:
            return isinstance(error, Corrupt)

    @property
    def _is_on_full_disk(self) -> bool:
        return bool(self._file) and files.is_on_full_disk(self._file)

    def keep_room(self) -> None:
        """Keep room beside a catalogue in a file, for gc on a full disk."""
        if self._file:
            spare_room.keep(self._file)

    def give_room_back(self) -> bool:
        """Give that room back, and open the catalogue anew with it; tells whether there was any."""
        self.close()
        return bool(self._file) and spare_room.give_back(self._file)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except AnabranchError:
            raise
        except UnicodeEncodeError as error:
            message = f"{shortened(str(error.object))!r} is not valid Unicode"
            raise InvalidRequest(message, hint="leave lone surrogates out") from None
        except sqlite3.Error as error:
            known = translate_sqlite(error, self._described, on_full_disk=self._is_on_full_disk)
            raise known or Corrupt(
                f"the catalogue {self._described} refused to begin: {error}", hint=NOT_OURS
            ) from error
        except sa.exc.DBAPIError as error:
            raise translate(error, self._described, on_full_disk=self._is_on_full_disk) from error
        except sa.exc.TimeoutError as error:
            hint = "use fewer threads, or let each hold a connection for a shorter time"
            raise Unavailable(f"all connections to the catalogue {self._described} are in use", hint=hint) from error


def _check_joined(cx: Connection) -> None:
    """Refuse a connection whose transaction can't hold a publication."""
    level = cx.get_execution_options().get("isolation_level")
    if cx.dialect.name != "sqlite":
        level = cx.get_isolation_level()
    if level not in (None, "READ COMMITTED"):
        hint = "use a connection of the isolation level READ COMMITTED"
        raise InvalidRequest(f"a commit can't be part of a transaction of the isolation level {level}", hint=hint)


_OF_PARENTS: list[Pool | files.FileConnection] = []
"""Connections of the processes this one was forked from, kept so that nothing closes them."""


_facts = looked_up("ana_store")


def now(cx: Connection) -> int:
    """The current time in microseconds since 1970, by the server's clock or this machine's."""
    return time.time_ns() // 1000 if cx.dialect.name == "sqlite" else int(cx.exec_driver_sql(_SERVER_TIME).scalar_one())


_SERVER_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


_DATABASE = """
    SELECT oid || ' ' || 'ana_store'::regclass::oid FROM pg_database WHERE datname = current_database()
"""


def is_ahead(moment: int, today: int) -> bool:
    """Whether a time lies so far in the future that one of the two clocks must be wrong."""
    return moment - today > CLOCK_ERROR_LIMIT_MICROS


def next_time(before: int, today: int) -> int:
    """The time of an event that follows another: never earlier, unless that other's clock was wrong."""
    return today if is_ahead(before, today) else max(before, today)


def lock_repository(cx: Connection, repository: RepositoryId) -> None:
    """Let one writer at a time decide about a repository's names and heads; SQLite has only one anyway."""
    if cx.dialect.name != "sqlite":
        r = t.repositories.c
        cx.execute(sa.select(r.id).where(r.id == repository).with_for_update())


def settle(cx: Connection) -> None:
    """Make sure that what this transaction sees will last, once it is committed.

    An SQLite COMMIT whose sync failed leaves whole pages in the log, unseen until crash recovery applies them.
    Writing further pages replaces them. A server handles this by itself.
    """
    if cx.dialect.name == "sqlite":
        cx.execute(sa.delete(t.store).where(t.store.c.key == _SETTLED))
        cx.execute(t.store.insert(), {"key": _SETTLED, "value": str(now(cx))})


_SETTLED = "settled_at"
