"""A server, or a writer on it, that does not answer is waited for as long as the settings say, and then told."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.catalog.store import lock_repository
from tests.catalog.processes import PATIENCE_SECONDS, Child
from tests.catalog.stores import Store, ids, make_table, put
from tests.postgres import PostgresServer


@pytest.fixture
def store(postgres: PostgresServer, tmp_path: Path) -> Store:
    return Store("postgresql", postgres.create_database(), tmp_path / "objects")


def waiting(**seconds: float) -> ab.Settings:
    return ab.Settings(server=ab.ServerSettings(**seconds))  # type: ignore[arg-type]


def stop_while_writing(store: Store, name: str, told: str, settings: ab.Settings) -> str:
    """Take the lock of all writers, and be stopped with it; on waking up, go on as if nothing were."""
    try:
        with (
            store.open(name, settings=settings) as repo,
            repo._ctx.catalog.write() as cx,
        ):
            lock_repository(cx, repo._ctx.record.id)
            Path(told).touch()
            os.kill(os.getpid(), signal.SIGSTOP)
            lock_repository(cx, repo._ctx.record.id)
    except ab.AnabranchError as error:
        return type(error).__name__
    return "written"


@contextmanager
def stopped_writer(store: Store, locked: Path, settings: ab.Settings) -> Iterator[Child]:
    """A writer that holds the lock and is stopped, or about to be; whatever becomes of the test, it ends."""
    made = Child(stop_while_writing, store, "r", str(locked), settings)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not locked.exists():
        assert time.monotonic() < deadline, "the writer never began"
        time.sleep(0.02)
    try:
        yield made
    finally:
        made.kill()


def test_a_writer_that_was_stopped_stops_others_and_no_readers(store: Store, tmp_path: Path) -> None:
    with store.init("r") as repo:
        make_table(repo, "t")
        with stopped_writer(store, tmp_path / "locked", waiting(idle_timeout_seconds=3600)) as stopped:
            with (
                store.open("r", settings=waiting(lock_timeout_seconds=0.1)) as hasty,
                pytest.raises(ab.Unavailable, match="locked by another writer") as caught,
            ):
                put(hasty, "t", 2)
            assert "again" in str(caught.value.hint)
            assert ids(repo, "t") == [1], "readers don't wait"
            stopped.wake()
            assert stopped.result() == "written"


def test_a_writer_that_was_stopped_stops_others_for_a_set_time_only(store: Store, tmp_path: Path) -> None:
    with store.init("r") as repo:
        make_table(repo, "t")
        with stopped_writer(store, tmp_path / "locked", waiting(idle_timeout_seconds=1)) as stopped:
            put(repo, "t", 3)  # as soon as the server has ended the writer
            stopped.wake()
            assert stopped.result() == "Unavailable"
        assert ids(repo, "t") == [1, 3]


@pytest.mark.long
def test_a_server_that_does_not_answer_is_told_after_a_set_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://bob@127.0.0.1:{silent.getsockname()[1]}/db"
        with pytest.raises(ab.Unavailable, match="does not answer"):
            ab.open(url, settings=waiting(connect_timeout_seconds=2))
        with pytest.raises(ab.Unavailable, match="does not answer"):
            ab.open(f"{url}?connect_timeout=2")


def test_connections_are_kept_alive_and_the_url_has_the_last_word(store: Store) -> None:
    with store.init("r", settings=waiting(keepalive_idle_seconds=77, lock_timeout_seconds=5)) as repo:
        assert _told(repo, "keepalives_idle") == "77"
        with repo._ctx.catalog.read() as cx:
            assert cx.exec_driver_sql("SHOW lock_timeout").scalar() == "5s"
            assert cx.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "0", "reads may take long"
    with ab.open(f"{store.url}?keepalives_idle=55", engine="duck") as repo:
        assert _told(repo, "keepalives_idle") == "55"


def _told(repo: ab.Repository, option: str) -> str:
    with repo._ctx.catalog.read() as cx:
        connection = cx.connection.dbapi_connection
        assert connection is not None
        return str(connection.info.get_parameters()[option])
