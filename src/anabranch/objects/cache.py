"""Files of far object roots, cached on this machine for all processes of a user: bounded, verified, never partial.

A file is fetched under a temporary name, hashed and renamed. Files in use are noted (`held/`) and stay; past the limit,
the oldest others are evicted. Both steps briefly take a lock, so neither misses the other.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import Corrupt, Unavailable
from anabranch.model.ids import new_id
from anabranch.objects import process_folder
from anabranch.objects.folder import stamp
from anabranch.settings import FETCHING_THREADS, LEFT_BEHIND_SECONDS

_IN_USE, _LOCK, _TMP = "held", "lock", ".tmp"


def cache_folder() -> Path:
    """Where this user's cache is."""
    above = os.environ.get("XDG_CACHE_HOME")
    return (Path(above) if above and os.path.isabs(above) else Path.home() / ".cache") / "anabranch" / "objects"


@dataclass(frozen=True)
class WantedFile:
    """A file to fetch: its name in the cache and its address, what is known of it, and how to get it."""

    name: str
    address: str
    fetch: Callable[[], Iterator[bytes]]
    size_bytes: int | None = None
    sha256: str | None = None


class FileCache:
    """A folder of files that can be fetched again."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder, self._limit = folder, limit_bytes
        self._known: dict[tuple[str, str | None], Hashable] = {}
        self._process: process_folder.ProcessFolder | None = None
        self._guard = threading.Lock()
        self._size: int | None = None
        """Bytes in the cache by this process's count; recounted before anything is evicted."""

    @contextmanager
    def holding(self, wanted: Sequence[WantedFile]) -> Iterator[list[Path]]:
        """Have files in the cache, fetching those that are missing; none is evicted while the block lasts."""
        with ExitStack() as stack:
            with self._translated_errors():
                stack.enter_context(self._noted([w.name for w in wanted]))
                self._fetch_all([w for w in wanted if not self._is_sound(w)])
            yield [self._folder / w.name for w in wanted]

    def _fetch_all(self, missing: Sequence[WantedFile]) -> None:
        if len(missing) == 1:
            self._fetch(missing[0])
        elif missing:
            with ThreadPoolExecutor(FETCHING_THREADS) as pool:
                list(pool.map(self._fetch, missing))
        if missing:
            self._shrink()

    def keep(self, name: str, content: bytes) -> None:
        """Cache bytes that were just stored elsewhere; a full disk is no error."""
        with suppress(OSError):
            self._write(name, [content])
            self._shrink()

    def has(self, name: str) -> bool:
        """Tell whether a file is cached."""
        return (self._folder / name).is_file()

    def place(self, name: str) -> Path:
        """Where a file is, if it is cached."""
        return self._folder / name

    def evict(self, names: Iterable[str]) -> list[int]:
        """Remove files that nobody is reading; returns the size of each."""
        with self._translated_errors(), self._locked(fcntl.LOCK_EX):
            held = self._in_use()
            wanted = [name for name in names if name not in held and self.has(name)]
            return [self._remove(self._folder / name) for name in wanted]

    def _is_sound(self, w: WantedFile) -> bool:
        """Compare a cached file with what was written: its size each time, its hash once per process."""
        place = self._folder / w.name
        try:
            found = place.stat()
            if w.size_bytes not in (None, found.st_size):
                return False
            now = stamp(found)
            if w.sha256 is None or (now is not None and self._known.get((w.name, w.sha256)) == now):
                return True
            with place.open("rb") as file:
                is_same = hashlib.file_digest(file, "sha256").hexdigest() == w.sha256
        except FileNotFoundError:
            return False
        if is_same and now is not None:
            self._known[w.name, w.sha256] = now
        return is_same

    def _fetch(self, w: WantedFile) -> None:
        """Fetch a file; retry once if the bytes are not what was written, or the disk is full."""
        for attempt in (1, 2):
            try:
                self._write(w.name, w.fetch(), w)
                return
            except _OtherBytes as error:
                if attempt == 2:
                    hint = "restore the object from a backup; other tables are not affected"
                    raise Corrupt(f"object {w.address} is not what was written: {error}", hint=hint) from None
            except OSError as error:
                if attempt == 2 or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
                self._shrink(0)

    def _write(self, name: str, chunks: Iterable[bytes], w: WantedFile | None = None) -> None:
        final = self._folder / name
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = final.with_name(f"{final.name}.{new_id('o')}{_TMP}")
        digest, size = hashlib.sha256(), 0
        try:
            with temporary.open("wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
            if w is not None and w.size_bytes not in (None, size):
                raise _OtherBytes(f"it has {size} bytes, {w.size_bytes} were written")
            if w is not None and w.sha256 not in (None, digest.hexdigest()):
                raise _OtherBytes("its sha256 differs")
            temporary.rename(final)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        with self._guard:
            self._size = None if self._size is None else self._size + size

    def _shrink(self, limit: int | None = None) -> None:
        """Evict the least recently read files until the rest is within the limit."""
        wanted = self._limit if limit is None else limit
        if self._size is not None and self._size <= wanted:
            return
        with self._locked(fcntl.LOCK_EX):
            entries = sorted(self._entries(self._folder), key=lambda e: max(e[1].st_atime, e[1].st_mtime))
            left = sum(found.st_size for _, found in entries)
            held = self._in_use() if left > wanted else set()
            for name, _ in entries:
                if left <= wanted:
                    break
                if name not in held:
                    left -= self._remove(self._folder / name)
        with self._guard:
            self._size = left

    def _entries(self, folder: Path) -> Iterator[tuple[str, os.stat_result]]:
        """The files of the cache; removes partial files that killed processes left."""
        for above, folders, files in os.walk(folder):
            if Path(above) == self._folder:
                folders[:] = [f for f in folders if f != _IN_USE]
                files = [f for f in files if f != _LOCK]
            for file in files:
                place = Path(above) / file
                with suppress(FileNotFoundError):
                    found = place.stat()
                    if not file.endswith(_TMP):
                        yield str(place.relative_to(self._folder)), found
                    elif time.time() - found.st_mtime > LEFT_BEHIND_SECONDS:
                        place.unlink()

    @staticmethod
    def _remove(place: Path) -> int:
        with suppress(FileNotFoundError):
            size = place.stat().st_size
            place.unlink()
            return size
        return 0

    @contextmanager
    def _noted(self, names: Sequence[str]) -> Iterator[None]:
        """Note that files are being read. Taken under the same lock as eviction, which honours all notes."""
        with self._guard:
            if self._process is None or not self._process.is_own:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._process = process_folder.ProcessFolder(self._folder / _IN_USE)
            note = self._process.path / new_id("o")
        with self._locked(fcntl.LOCK_SH):
            note.write_text("\n".join(names), encoding="utf-8")
        try:
            yield
        finally:
            with suppress(OSError):
                note.unlink(missing_ok=True)

    def _in_use(self) -> set[str]:
        """The files that any living process is reading."""
        above = self._folder / _IN_USE
        for name, _ in process_folder.left_behind(above):
            process_folder.remove_left_behind(above, name)
        held: set[str] = set()
        for note in above.glob("*/*"):
            with suppress(FileNotFoundError):
                held.update(note.read_text(encoding="utf-8").splitlines())
        return held

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        lock = self._folder / _LOCK
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "free some room, or name another folder in XDG_CACHE_HOME"
            message = f"the cache in {self._folder} can't be written: {error.strerror or error}"
            raise Unavailable(message, hint=hint) from error


class _OtherBytes(Exception):
    """The fetched bytes are not what was written."""
