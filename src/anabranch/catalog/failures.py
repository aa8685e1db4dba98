"""Errors of SQLite and PostgreSQL as errors of ours, by their codes."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from anabranch.catalog.later import sa
from anabranch.errors import AlreadyExists, AnabranchError, Corrupt, InvalidRequest, Unavailable
from anabranch.model.addresses import masked

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

_SQLITE_KINDS: dict[int, tuple[type[AnabranchError], str, str]] = {
    sqlite3.SQLITE_BUSY: (Unavailable, "is locked by another writer", "try again in a moment"),
    sqlite3.SQLITE_LOCKED: (Unavailable, "is locked by another writer", "try again in a moment"),
    sqlite3.SQLITE_FULL: (
        Unavailable,
        "has no room: the disk is full",
        "free some space (`ana gc`); nothing was changed",
    ),
    sqlite3.SQLITE_READONLY: (Unavailable, "can't be written", "check the permissions of the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: (Unavailable, "can't be opened", "check that the folder exists and its permissions"),
    sqlite3.SQLITE_IOERR: (Unavailable, "can't be read or written", "check the disk"),
    sqlite3.SQLITE_CORRUPT: (Corrupt, "is damaged", "restore it from a backup"),
    sqlite3.SQLITE_NOTADB: (Corrupt, "is not an SQLite database", "restore it from a backup"),
}


_ROLLED_BACK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY)
"""Errors with which SQLite's COMMIT fails before its last page is written; after a failed sync, pages may be there."""
_ROLLED_BACK_STATES = ("23", "40")
"""SQLSTATE classes with which PostgreSQL refuses a COMMIT: a broken constraint, an aborted transaction."""


def is_rolled_back(error: DBAPIError) -> bool:
    """Whether a failed COMMIT certainly left nothing."""
    if isinstance(error.orig, sqlite3.Error):
        return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _ROLLED_BACK
    state = getattr(error.orig, "sqlstate", None) or ""
    return state.startswith(_ROLLED_BACK_STATES) and not error.connection_invalidated


MISSHAPEN = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)
"""What Python raises over a missing value, or one of an unexpected type or form."""
NOT_OURS = "is it a store of Anabranch's?"


_FAILS_IF_FULL = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
"""Errors that SQLite may give where the disk is full, and others."""


def translate_sqlite(error: sqlite3.Error, described: str, *, on_full_disk: bool = False) -> AnabranchError | None:
    """Translate an SQLite error, if its code tells what it is."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _SQLITE_KINDS:
        known = sqlite3.SQLITE_FULL if on_full_disk and code & 0xFF in _FAILS_IF_FULL else code & 0xFF
        kind, what, hint = _SQLITE_KINDS[known]
        return kind(f"the catalogue {described} {what}", hint=hint, is_full=known == sqlite3.SQLITE_FULL)
    if code == sqlite3.SQLITE_ERROR:
        return Corrupt(f"the catalogue {described} refused a statement: {error}", hint=NOT_OURS)
    return None


_LOCKED_STATES = ("55P03", "40P01")
"""SQLSTATEs of a lock timeout and a deadlock."""
_FORBIDDEN_STATES = ("42501", "25006")
"""SQLSTATEs of a role that lacks a right, and of a read-only server or role."""
_LOCKED_HINT = "try again in a moment; a writer that has stopped is ended by the server in time"


def translate(error: DBAPIError, described: str, *, on_full_disk: bool = False) -> AnabranchError:
    """Translate a database error by its code."""
    if isinstance(error.orig, sqlite3.Error):
        known = translate_sqlite(error.orig, described, on_full_disk=on_full_disk)
        if known is not None:
            return known
    said = masked(str(error.orig))
    if error.statement is None and isinstance(error, sa.exc.ProgrammingError):
        return InvalidRequest(f"{described} can't be reached that way: {said}", hint="check the URL")
    if getattr(error.orig, "sqlstate", None) in _FORBIDDEN_STATES:
        return Unavailable(f"the catalogue {described} refuses: {said}", hint="check the rights of the role")
    if getattr(error.orig, "sqlstate", None) in _LOCKED_STATES:
        return Unavailable(f"the catalogue {described} is locked by another writer", hint=_LOCKED_HINT)
    if isinstance(error, sa.exc.IntegrityError):
        return AlreadyExists(f"another writer was faster: {said}", hint="look at what it did, then try again")
    if isinstance(error, sa.exc.OperationalError) or error.connection_invalidated:
        hint = "check that the server runs and can be reached"
        return Unavailable(f"the catalogue {described} does not answer: {said}", hint=hint)
    return Corrupt(f"the catalogue {described} refused a statement: {said}", hint=NOT_OURS)
