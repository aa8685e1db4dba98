"""Folders that belong to one process: removed when it ends, and recognised as left behind if it was killed.

A file lock says whether the process lives; it is released with the process, however that ends.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from anabranch.model.ids import new_id

_LOCK = ".lock"
_NAME = re.compile("o[a-z2-7]{16}")


class ProcessFolder:
    """A folder that nobody takes for left behind while this process lives."""

    def __init__(self, above: Path) -> None:
        self.name, self._above, self._process = new_id("o"), above, os.getpid()
        if above.is_symlink():  # a store from elsewhere may link to anywhere
            raise OSError(errno.ELOOP, "it is a link")
        above.mkdir(parents=True, exist_ok=True)
        # Lock before making the folder, so that none is ever seen without its owner.
        self._lock = _locked(above / f"{self.name}{_LOCK}")
        self.path.mkdir()
        atexit.register(self.remove)

    @property
    def path(self) -> Path:
        return self._above / self.name

    @property
    def is_own(self) -> bool:
        """Whether this process made it, rather than the parent it was forked from."""
        return os.getpid() == self._process

    def remove(self) -> None:
        """Remove the folder; a fork leaves it to the process that made it."""
        if self.is_own and self._lock >= 0:
            _remove(self._above, self.name)
            os.close(self._lock)
            self._lock = -1


def left_behind(above: Path) -> Iterator[tuple[str, int]]:
    """List the folders whose processes are dead, with their sizes in bytes."""
    for name in _names(above):
        lock = _try_lock(above / f"{name}{_LOCK}")
        if lock is not None:
            os.close(lock)
            yield name, _size(above / name)


def remove_left_behind(above: Path, name: str) -> None:
    """Remove a folder, if its process is still dead."""
    lock = _try_lock(above / f"{name}{_LOCK}")
    if lock is not None:
        _remove(above, name)
        os.close(lock)


def _names(above: Path) -> list[str]:
    """The names that we gave; none behind a link, which may lead anywhere."""
    with suppress(OSError):
        if not above.is_symlink():
            names = {p.name.removesuffix(_LOCK) for p in above.iterdir()}
            return sorted(name for name in names if _NAME.fullmatch(name))
    return []


def _locked(path: Path) -> int:
    """Make a file and lock it; retry if somebody removed it as left behind in between."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):
            if os.stat(path).st_ino == os.fstat(handle).st_ino:
                return handle
        os.close(handle)


def _try_lock(path: Path) -> int | None:
    """Lock a file unless somebody holds it; if in doubt, somebody does."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove(above: Path, name: str) -> None:
    """Remove a folder, and its lock last: a half-removed folder still has an owner."""
    shutil.rmtree(above / name, ignore_errors=True)
    with suppress(OSError):
        (above / f"{name}{_LOCK}").unlink(missing_ok=True)


def _size(folder: Path) -> int:
    return sum(p.lstat().st_size for p in folder.rglob("*")) if folder.is_dir() else 0
