"""Connections to a catalogue in an SQLite file, even where it can't be written: a read-only disk, another's folder.

SQLite's log needs a file beside the catalogue that readers share. If it is missing and can't be made, the catalogue
is read as if nobody wrote to it; `frozen_as` tells afterwards whether somebody did.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import weakref
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

from anabranch.catalog import spare_room
from anabranch.errors import Unavailable
from anabranch.settings import FILE_BUSY_TIMEOUT_SECONDS, FULL_DISK_BYTES

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_FORBIDDEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)

Frozen = tuple[int, int, int]
"""A file's identity, size and time of change, which tell whether it was written."""


class FileConnection(sqlite3.Connection):
    """A connection; `frozen` is the file's state at opening, if nothing else would tell that it was written since."""

    frozen: Frozen | None = None


def connect(path: str) -> FileConnection:
    """Open a catalogue, read-only if it can't be written."""
    made = _opened(path)
    try:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = FULL")
        return made
    except sqlite3.OperationalError as error:
        made.close()
        if not _is_forbidden(error, path) or not os.access(path, os.R_OK):
            raise
    return _connect_reading(path)


def _is_forbidden(error: sqlite3.OperationalError, path: str) -> bool:
    """Whether SQLite may not make its files beside the catalogue, or has no room for them."""
    code = error.sqlite_errorcode & 0xFF
    return code in _FORBIDDEN or (code in _NO_ROOM and is_on_full_disk(path))


def is_on_full_disk(path: str) -> bool:
    """Whether there is too little room beside a catalogue to open it as usual."""
    try:
        return spare_room.free_bytes(path) < FULL_DISK_BYTES
    except OSError:
        return False


def frozen_as(path: str) -> Frozen:
    """The current state of a catalogue's file."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _connect_reading(path: str) -> FileConnection:
    try:
        return _tried(_opened(f"file:{quote(path)}?mode=ro", uri=True))
    except sqlite3.OperationalError as error:
        if not _is_forbidden(error, path):
            raise
    log = Path(f"{path}-wal")
    return _of_copy(path, log) if log.is_file() and log.stat().st_size else _of_frozen(path)


def _of_frozen(path: str) -> FileConnection:
    frozen = frozen_as(path)
    made = _tried(_opened(f"file:{quote(path)}?mode=ro&immutable=1", uri=True))
    made.frozen = frozen
    return made


def _of_copy(path: str, log: Path) -> FileConnection:
    """Read a copy: the log can't be read in place, and without it newer commits would be missed."""
    frozen, folder = frozen_as(path), Path(mkdtemp(prefix="anabranch-"))
    copy = folder / "catalog.db"
    try:
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        made = _tried(_opened(str(copy)))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        message = f"the catalogue {path} can't be read in place, and not be copied to {folder}: {error.strerror}"
        raise Unavailable(message, hint="free some space, or name a folder with room in TMPDIR") from error
    made.frozen = frozen
    weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    return made


def _opened(path: str, **options: Any) -> FileConnection:
    return sqlite3.connect(
        path,
        timeout=FILE_BUSY_TIMEOUT_SECONDS,
        check_same_thread=False,
        isolation_level=None,
        factory=FileConnection,
        **options,
    )


def _tried(made: FileConnection) -> FileConnection:
    """Check that a read-only connection can read."""
    try:
        made.execute("PRAGMA query_only = ON")
        made.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error:
        made.close()
        raise
    return made
