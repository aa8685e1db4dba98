"""Limits of what one query may take of this process: past its time, DuckDB is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from anabranch.errors import Unavailable
from anabranch.settings import QUERY_INTERRUPTS_SECONDS

HINT = "use engine='auto' or 'spark', or raise {setting} in ab.Settings(limits=ab.LimitSettings(…))"


@contextmanager
def interrupted_after(seconds: float, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupt the query that a cursor runs in this block once it took so long; 0 never does.

    The block ends when DuckDB stopped: nothing goes on behind the caller's back.
    """
    if not seconds:
        yield
        return
    alarm = _Alarm(seconds, cursor)
    try:
        yield
    except duckdb.InterruptException as error:
        if not alarm.rang:
            raise
        raise _too_slow(seconds) from error
    finally:
        alarm.stop()


class _Alarm:
    """Interrupts a cursor when its time is up, until it is stopped."""

    def __init__(self, seconds: float, cursor: duckdb.DuckDBPyConnection) -> None:
        self.rang = False
        self._seconds = seconds
        self._cursor = cursor
        self._lock = threading.Lock()
        self._over = threading.Event()
        thread = threading.Thread(target=self._ring, name="anabranch-query-limit", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            hint = "raise the limits of this process (ulimit -u, ulimit -v)"
            raise Unavailable("the system gives this process no more threads", hint=hint) from error

    def stop(self) -> None:
        """Leave the cursor alone from now on; its next query is another one's."""
        with self._lock:
            self._over.set()

    def _ring(self) -> None:
        wait_seconds = self._seconds
        while not self._over.wait(wait_seconds):
            wait_seconds = QUERY_INTERRUPTS_SECONDS  # DuckDB forgets an interrupt when it begins to run
            with self._lock:
                if not self._over.is_set():
                    self.rang = True
                    self._cursor.interrupt()


def _too_slow(seconds: float) -> Unavailable:
    message = f"the query took longer than {seconds:g} s in the process and was stopped"
    return Unavailable(message, hint=HINT.format(setting="query_seconds"), limit="seconds")
