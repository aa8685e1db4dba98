"""An object root in a folder of a local or mounted file system."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from anabranch.errors import Corrupt, Unavailable
from anabranch.model.ids import new_id
from anabranch.model.objects import is_object_path
from anabranch.model.root_notes import TOKENS, is_token
from anabranch.objects import found_files, process_folder
from anabranch.objects.root import (
    FoundFile,
    SealedFile,
    WrittenFile,
    collected,
    never_collected,
    nothing,
    parquet_names,
    work_path,
)
from anabranch.objects.workplaces import FolderPlace, Workplace

_TICK_NS = 100_000_000


def stamp(found: os.stat_result) -> Hashable | None:
    """A value that changes when the file is written to; None for a file so young that its timestamp might not."""
    if time.time_ns() - found.st_mtime_ns < _TICK_NS:
        return None
    return own_stamp(found)


def own_stamp(found: os.stat_result) -> Hashable:
    """The same for a file just made under a name that nobody else knows yet."""
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


_PROCESS_FOLDERS, _STORES = "aside", "stores"


class Folder:
    """Files below one folder; written once, never changed."""

    is_far = False

    def __init__(self, path: str, store_id: str = "") -> None:
        self._path, self._store, self._is_known = Path(path).absolute(), store_id, not store_id
        self.where = str(self._path)
        self._process_folder: process_folder.ProcessFolder | None = None
        self.before_upload: Callable[[], None] = nothing
        self.is_collected: Callable[[str], bool] = never_collected
        self._lock = threading.Lock()

    def claim(self) -> None:
        """Do nothing: several stores may share a folder, and each registers with its first file."""

    def put(self, content: bytes | memoryview, suffix: str = ".parquet") -> SealedFile:
        """Write to a temporary name, sync, rename into place, sync the folder."""
        return self.put_stream([content], suffix)

    def put_stream(self, chunks: Iterable[bytes | memoryview], suffix: str) -> SealedFile:
        """Write pieces in the same way; if that fails half-way, nothing is left."""
        self.before_upload()
        name = new_id("o")
        return self._put(f"{name[1:3]}/{name}{suffix}", f"{name}.tmp", chunks)

    def put_as(self, path: str, chunks: Iterable[bytes]) -> None:
        """Write to a given path in the same way."""
        self._put(path, f"{new_id('o')}.tmp", chunks)

    def _put(self, path: str, temporary_name: str, chunks: Iterable[bytes | memoryview]) -> SealedFile:
        digest, source = hashlib.sha256(), _Pieces(chunks)
        final = self._at(path)
        temporary = final.parent / temporary_name
        try:
            self._make(final.parent)
            with temporary.open("wb") as file:
                for chunk in source:
                    file.write(chunk)
                    digest.update(chunk)
                size = file.tell()
                file.flush()
                os.fsync(file.fileno())
            made = self._renamed(temporary, final)
            sync(final.parent)
        except BaseException as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            if isinstance(error, OSError) and error is not source.error:
                raise _unavailable(error, final) from error
            raise
        return SealedFile(path, size, digest.hexdigest(), made)

    def _renamed(self, temporary: Path, final: Path) -> Hashable:
        """Rename a complete file; gc without a time of grace may have taken either name away."""
        try:
            temporary.rename(final)
            return own_stamp(os.stat(final))
        except FileNotFoundError as error:
            raise collected(final) from error

    def put_temporary(self, content: bytes, suffix: str = ".parquet") -> str:
        """Write into this process's folder."""
        try:
            with self._lock:
                if self._process_folder is None or not self._process_folder.is_own:
                    self._process_folder = process_folder.ProcessFolder(self._path / _PROCESS_FOLDERS)
            place = self._process_folder.path / f"{new_id('o')}{suffix}"
            place.write_bytes(content)
        except OSError as error:
            raise _unavailable(error, self._path) from error
        return str(place)

    def new_prefix(self) -> str:
        """Name a folder that nobody else writes to; the engine makes it.

        A mark beside it says that it is wanted. gc removes the mark first, so that `settle` notices.
        """
        name = new_id("o")
        prefix = f"{name[1:3]}/{name}"
        try:
            self._make(self._path / name[1:3])
            self._begun(prefix).touch()
        except OSError as error:
            raise _unavailable(error, self._path) from error
        return prefix

    def _begun(self, prefix: str) -> Path:
        return self._path / f"{prefix}{found_files.BEGUN}"

    def written(self, prefix: str) -> list[WrittenFile]:
        """List the data files, and remove the engine's markers."""
        folder = self._at(prefix)
        with self._writing(folder):
            present = {p.name: p for p in os.scandir(folder)} if folder.is_dir() else {}
            kept = parquet_names(list(present))
            for name in set(present) - set(kept):
                _remove(folder / name)
            return [WrittenFile(f"{prefix}/{name}", present[name].stat().st_size) for name in kept]

    def settle(self, prefix: str) -> None:
        """Sync the folders, and remove the mark that says that the files are wanted."""
        self.before_upload()
        folder = self._at(prefix)
        with self._writing(folder):
            if folder.is_dir():
                sync(folder)
                sync(folder.parent)
            self._begun(prefix).unlink()

    @contextmanager
    def _writing(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            hint = "try again, and let gc run with a longer grace"
            raise Unavailable(f"files below {folder} were collected while they were written", hint=hint) from error
        except OSError as error:
            raise _unavailable(error, folder) from error

    def workplace(self, name: str) -> Workplace:
        """A folder beside the objects: gc leaves it alone, and whoever works there removes it."""
        place = self._path / work_path(name)
        for linked in (place.parent, place):
            if linked.is_symlink():
                raise Corrupt(f"{linked} is a link, which is not followed in an object root", hint=_DAMAGED_OR_HARMFUL)
        return FolderPlace(str(place))

    def discard(self, path: str) -> None:
        """Remove a file or prefix; a missing one is fine."""
        place = self._at(path)
        with suppress(OSError):
            self._begun(path).unlink(missing_ok=True)
        _remove(place)

    def uri(self, path: str) -> str:
        """The file's path, for engines on this machine or with the same mount.

        It never leads out of this folder, whoever wrote the catalogue.
        """
        if not is_object_path(path):
            raise Corrupt(f"{path!r} is no place of an object", hint=_DAMAGED_OR_HARMFUL)
        place = str(self._path)
        for part in path.split("/"):
            place = f"{place}{os.sep}{part}"
            if os.path.islink(place):
                raise Corrupt(f"{place} is a link, which is not followed in an object root", hint=_DAMAGED_OR_HARMFUL)
        return place

    def at_hand(self, addresses: Sequence[str]) -> AbstractContextManager[Mapping[str, str]]:
        """Yield nothing: files are where their addresses say."""
        return nullcontext({})

    def here(self, paths: Sequence[str]) -> set[str]:
        """Those that exist."""
        return {path for path in paths if os.path.isfile(self.uri(path))}

    def evict(self, paths: Sequence[str]) -> list[int]:
        """Do nothing: there are no copies."""
        return []

    def spark_options(self) -> Mapping[str, str]:
        """None needed."""
        return {}

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        full = self._at(path)
        try:
            return full.open("rb")
        except OSError as error:
            raise self._unread(error, path) from error

    def open_uri(self, uri: str) -> BinaryIO:
        """Open a file by its full path."""
        return self.open(uri.removeprefix(f"{self._path}{os.sep}"))

    def check(self, path: str, size_bytes: int, sha256: str | None) -> Hashable | None:
        """Compare the size and, if given, the hash."""
        full = self.uri(path)
        try:
            found = os.stat(full)
        except OSError as error:
            raise self._unread(error, path) from error
        if found.st_size != size_bytes:
            raise Corrupt(f"object file {full} has {found.st_size} bytes, {size_bytes} were written", hint=_RESTORE)
        if sha256 is None:
            return own_stamp(found)  # to be compared with one that was remembered
        if self._digest(path) != sha256:
            raise Corrupt(f"object file {full} is not what was written: its sha256 differs", hint=_RESTORE)
        return stamp(found)

    def _digest(self, path: str) -> str:
        with self.open(path) as file:
            try:
                return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            except OSError as error:
                raise self._unread(error, path) from error

    def _unread(self, error: OSError, path: str) -> Corrupt | Unavailable:
        """A missing file was collected or is damage; one that can't be opened right now is neither."""
        place = self.uri(path)
        if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)):
            missing = Corrupt(f"object file {place} is missing", hint=_RESTORE)
            return collected(place) if self.is_collected(path) else missing
        hint = "check its permissions, and how many files are open"
        return Unavailable(f"object file {place} can't be read: {error.strerror or error}", hint=hint)

    def files(self) -> Iterator[FoundFile]:
        """List the files in the folders that we make, by the names that we give."""
        return found_files.files_below(self._path)

    def collect(self, paths: Iterable[str]) -> None:
        """Remove files and then empty folders; a prefix's mark goes before the files below it."""
        for path in sorted(paths, key=lambda path: not path.endswith(found_files.BEGUN)):
            try:
                found_files.remove(self._path, path)
            except OSError as error:
                hint = "check the permissions, then run gc again"
                raise Unavailable(f"{self._path / path} can't be removed: {error.strerror}", hint=hint) from error

    def other_stores(self) -> list[str]:
        """The other stores with a folder here: each makes one with its first file."""
        with suppress(OSError):
            return sorted(p.name for p in (self._path / _STORES).iterdir() if p.name != self._store)
        return []

    def tokens(self) -> Mapping[str, bytes]:
        """Read the files in the folder of our store's tokens."""
        folder = self._tokens()
        found: dict[str, bytes] = {}
        try:
            for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
                if is_token(name):
                    with suppress(FileNotFoundError):  # its owner removed it meanwhile
                        found[name] = (folder / name).read_bytes()
        except OSError as error:
            raise Unavailable(f"{folder} can't be read: {error.strerror}", hint="check its permissions") from error
        return found

    def put_token(self, token: str, note: bytes) -> None:
        """Write a file, whole or not at all."""
        folder = self._tokens()
        temporary = folder / f"{token}.{new_id('o')}.tmp"
        try:
            self._make(folder)
            with temporary.open("wb") as file:
                file.write(note)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(folder / token)
            sync(folder)
        except OSError as error:
            _remove(temporary)
            raise _unavailable(error, folder) from error

    def remove_tokens(self, tokens: Iterable[str]) -> None:
        """Remove files."""
        folder = self._tokens()
        try:
            for token in tokens:
                (folder / token).unlink(missing_ok=True)
        except OSError as error:
            raise _unavailable(error, folder) from error

    def _tokens(self) -> Path:
        """The folder of our store's tokens."""
        place = self._path / TOKENS / self._store
        for linked in (place.parent, place):
            if linked.is_symlink():
                raise Corrupt(f"{linked} is a link, which is not followed in an object root", hint=_DAMAGED_OR_HARMFUL)
        return place

    def left_behind(self) -> list[tuple[str, int]]:
        """List the folders of dead processes."""
        return list(process_folder.left_behind(self._path / _PROCESS_FOLDERS))

    def remove_left_behind(self, name: str) -> None:
        """Remove the folder of a dead process."""
        process_folder.remove_left_behind(self._path / _PROCESS_FOLDERS, name)

    def _at(self, path: str) -> Path:
        return Path(self.uri(path))

    def _make(self, folder: Path) -> None:
        if not self._is_known:
            (self._path / _STORES / self._store).mkdir(parents=True, exist_ok=True)
            self._is_known = True
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            sync(folder.parent)


class _Pieces:
    """Pieces to write; remembers an error of their source, which is not the target disk's."""

    def __init__(self, chunks: Iterable[bytes | memoryview]) -> None:
        self._chunks = chunks
        self.error: OSError | None = None

    def __iter__(self) -> Iterator[bytes | memoryview]:
        try:
            yield from self._chunks
        except OSError as error:
            self.error = error
            raise


_RESTORE = "restore the file from a backup; other tables are not affected"
_DAMAGED_OR_HARMFUL = "the catalogue or the object root is damaged, or was made to harm; restore it from a backup"


def sync(folder: Path) -> None:
    """Make a file, or renames in a folder, survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(place: Path) -> None:
    """Remove a file or folder. A remnant does no harm; an error here would hide a real one."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
        return
    with suppress(OSError):
        place.unlink(missing_ok=True)


def _unavailable(error: OSError, path: Path) -> Unavailable:
    hint = "check free space and permissions; nothing was published"
    return Unavailable(f"the object root can't be written at {path}: {error.strerror or error}", hint=hint)
