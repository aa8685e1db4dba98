"""An object root in a folder of a local or mounted file system."""

from __future__ import annotations

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from anabranch.errors import Corrupt, Unavailable
from anabranch.model.ids import new_id
from anabranch.objects.root import SealedFile, parquet_names

_HASHERS = 4


class Folder:
    """Files below one folder; written once, never changed."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()

    def put(self, content: bytes) -> SealedFile:
        """Write to a temporary name, sync, rename into place, sync the folder."""
        path = self._write(content, synced=True)
        return SealedFile(path, len(content), hashlib.sha256(content).hexdigest())

    def put_aside(self, content: bytes) -> str:
        """Write to a temporary name and rename into place."""
        return self._write(content, synced=False)

    def _write(self, content: bytes, synced: bool) -> str:
        name = new_id("o")
        path = f"{name[1:3]}/{name}.parquet"
        final = self._path / path
        temporary = final.with_suffix(".tmp")
        try:
            self._make(final.parent)
            with temporary.open("wb") as file:
                file.write(content)
                if synced:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.rename(final)
            if synced:
                _sync(final.parent)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise _unavailable(error, final) from error
        return path

    def new_prefix(self) -> str:
        """Name a folder that nobody else writes to; the engine makes it."""
        name = new_id("o")
        try:
            self._make(self._path / name[1:3])
        except OSError as error:
            raise _unavailable(error, self._path) from error
        return f"{name[1:3]}/{name}"

    def seal(self, prefix: str) -> list[SealedFile]:
        """Hash and sync each data file, remove the engine's markers, sync the folders."""
        folder = self._path / prefix
        try:
            present = [p.name for p in folder.iterdir()] if folder.is_dir() else []
            kept = parquet_names(present)
            for name in set(present) - set(kept):
                self.discard(f"{prefix}/{name}")
            with ThreadPoolExecutor(_HASHERS) as pool:
                sealed = list(pool.map(lambda name: self._seal(f"{prefix}/{name}"), kept))
            if present:
                _sync(folder)
                _sync(folder.parent)
        except OSError as error:
            raise _unavailable(error, folder) from error
        return sealed

    def discard(self, path: str) -> None:
        """Remove a file or prefix; what is gone already is fine."""
        target = self._path / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            return
        with suppress(OSError):  # A remnant that can't be removed does no harm; an error here would hide a real one.
            target.unlink(missing_ok=True)

    def uri(self, path: str) -> str:
        """Engines on this machine, or with the same mount, find files by their path."""
        return str(self._path / path)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        try:
            return (self._path / path).open("rb")
        except OSError as error:
            raise _missing(self._path / path) from error

    def open_uri(self, uri: str) -> BinaryIO:
        """Open a file by its full path."""
        return self.open(uri)

    def check(self, path: str, size_bytes: int, sha256: str | None) -> None:
        """Compare size and, if given, hash."""
        full = self._path / path
        try:
            found = full.stat().st_size
        except OSError as error:
            raise _missing(full) from error
        if found != size_bytes:
            raise Corrupt(f"object file {full} has {found} bytes, {size_bytes} were written", hint=_RESTORE)
        if sha256 is not None:
            with full.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise Corrupt(f"object file {full} is not what was written: its sha256 differs", hint=_RESTORE)

    def _seal(self, path: str) -> SealedFile:
        with (self._path / path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            return SealedFile(path, file.tell(), digest)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _sync(folder.parent)


_RESTORE = "restore the file from a backup; other tables are not affected"


def _sync(folder: Path) -> None:
    """Make renames in a folder last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _missing(path: Path) -> Corrupt:
    return Corrupt(f"object file {path} is missing", hint=_RESTORE)


def _unavailable(error: OSError, path: Path) -> Unavailable:
    hint = "check free space and permissions; nothing was published"
    return Unavailable(f"the object root can't be written at {path}: {error.strerror or error}", hint=hint)
