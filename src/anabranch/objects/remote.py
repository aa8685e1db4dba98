"""An object root on S3 or HDFS: promises the same as a folder, by a few operations on blobs and a local cache.

Nothing relies on conditional puts: names are random, and the catalogue alone says what counts.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from anabranch.errors import Corrupt, Unavailable
from anabranch.model.ids import new_id
from anabranch.model.objects import FileAddress, is_object_path
from anabranch.model.root_notes import TOKENS, is_token
from anabranch.objects import found_files
from anabranch.objects.blobs import Blob, Blobs
from anabranch.objects.cache import FileCache, WantedFile
from anabranch.objects.ranged import RangedFile
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
from anabranch.objects.workplaces import Workplace
from anabranch.settings import LEFT_BEHIND_SECONDS, RANGE_BYTES, STILL_ALIVE_SECONDS

MARKER = "anabranch-root.json"
"""Names the store that writes here; others only read."""
_STORES, _ASIDE = "stores", "aside"
_RESTORE = "restore the object from a backup; other tables are not affected"


class RemoteRoot:
    """Blobs below one address; written once, never changed."""

    is_far = True

    def __init__(self, blobs: Blobs, store_id: str, cache: FileCache) -> None:
        self._blobs, self._store, self._is_claimed = blobs, store_id, not store_id
        self.cache, self.where = cache, blobs.where
        self._id = hashlib.sha256(blobs.where.encode()).hexdigest()[:16]
        self._lock = threading.Lock()
        self._process_folder = FarProcessFolder(blobs, _ASIDE)
        self.before_upload: Callable[[], None] = nothing
        self.is_collected: Callable[[str], bool] = never_collected

    def put(self, content: bytes | memoryview, suffix: str = ".parquet") -> SealedFile:
        """Upload under a new name; keep a copy in the cache, since writers often read."""
        self.before_upload()
        path, content = self._new_path(suffix), bytes(content)
        self._blobs.put(path, content)
        self.cache.keep(self._cached(path), content)
        return SealedFile(path, len(content), hashlib.sha256(content).hexdigest())

    def put_stream(self, chunks: Iterable[bytes], suffix: str) -> SealedFile:
        """Upload pieces; if that fails half-way, nothing exists under the name."""
        self.before_upload()
        path, described = self._new_path(suffix), _Measured(chunks)
        self._blobs.put(path, described)
        return SealedFile(path, described.size, described.digest.hexdigest())

    def put_as(self, path: str, chunks: Iterable[bytes]) -> None:
        """Upload under a given path."""
        self.claim()
        self._blobs.put(_checked(path), chunks)

    def put_temporary(self, content: bytes, suffix: str = ".parquet") -> str:
        """Upload into this process's folder."""
        self.claim()
        return self._blobs.address(self._process_folder.put(content, suffix))

    def new_prefix(self) -> str:
        """Name a prefix that nobody else writes to; a blob beside it marks it as wanted."""
        prefix = self._new_path("")
        self._blobs.put(f"{prefix}{found_files.BEGUN}", b"")
        return prefix

    def written(self, prefix: str) -> list[WrittenFile]:
        """List the data files that an engine wrote, by name; remove everything else there."""
        found = {blob.name.removeprefix(f"{prefix}/"): blob for blob in self._blobs.below(prefix)}
        kept = parquet_names([name for name in found if "/" not in name])
        self._blobs.delete(blob.name for name, blob in found.items() if name not in kept)
        return [WrittenFile(found[name].name, found[name].size_bytes) for name in kept]

    def settle(self, prefix: str) -> None:
        """Remove the mark that says that the files are wanted; Unavailable if gc removed it first."""
        self.before_upload()
        mark = f"{prefix}{found_files.BEGUN}"
        try:
            self._blobs.size(mark)
        except FileNotFoundError:
            hint = "try again, and let gc run with a longer grace"
            message = f"files below {self.uri(prefix)} were collected while they were written"
            raise Unavailable(message, hint=hint) from None
        self._blobs.delete([mark])

    def workplace(self, name: str) -> Workplace:
        """A place below a prefix without objects."""
        path = work_path(name)
        self.claim()
        return self._blobs.workplace(path)

    def discard(self, path: str) -> None:
        """Remove a blob or prefix. A remnant does no harm; an error here would hide a real one."""
        with suppress(Unavailable):
            below = [blob.name for blob in self._blobs.below(path)]
            self._blobs.delete([f"{path}{found_files.BEGUN}", path, *below])
            self.cache.evict([self._cached(path)])

    def uri(self, path: str) -> str:
        """The address at which Spark finds a blob."""
        return self._blobs.address(_checked(path))

    def here(self, paths: Sequence[str]) -> set[str]:
        """Those in the cache."""
        return {path for path in paths if self.cache.has(self._cached(path))}

    def evict(self, paths: Sequence[str]) -> list[int]:
        """Remove files from the cache, unless somebody is reading them."""
        return self.cache.evict(map(self._cached, paths))

    def spark_options(self) -> Mapping[str, str]:
        """Options that Spark needs for each read and write."""
        return self._blobs.spark_options()

    @contextmanager
    def at_hand(self, addresses: Sequence[str]) -> Iterator[Mapping[str, str]]:
        """Fetch files into the cache, compared with what was written, and keep them there while the block lasts."""
        own = self._blobs.address("")
        ours = list(dict.fromkeys(a for a in addresses if isinstance(a, FileAddress) or a.startswith(own)))
        with self.cache.holding([self._wanted(a) for a in ours]) as places:
            yield dict(zip(ours, map(str, places), strict=True))

    def open(self, path: str) -> BinaryIO:
        """Open a file: a small pack from the cache, fetched if need be; others from the cache, else in ranges."""
        name = self._cached(_checked(path))
        if path.partition(".")[2].startswith("pack") and self._size(path) <= _WHOLE_BYTES:
            with self.cache.holding([self._wanted(self.uri(path))]) as places:
                return places[0].open("rb")
        with suppress(FileNotFoundError):
            if self.cache.has(name):
                return self.cache.place(name).open("rb")
        return RangedFile(lambda start, size: self._range(path, start, size), self._size(path)).buffered(RANGE_BYTES)

    def open_uri(self, uri: str) -> BinaryIO:
        """Open a blob by its Spark address."""
        return self.open(self._path(uri))

    def check(self, path: str, size_bytes: int, sha256: str | None) -> Hashable | None:
        """Compare the size that the server reports and, if a hash is given, all bytes."""
        size, digest = (self._size(path), None) if sha256 is None else self._digest(path)
        if size != size_bytes:
            raise Corrupt(f"object {self.uri(path)} has {size} bytes, {size_bytes} were written", hint=_RESTORE)
        if digest != sha256:
            message = f"object {self.uri(path)} is not what was written: its sha256 differs"
            raise Corrupt(message, hint=_RESTORE)
        return None

    def files(self) -> Iterator[FoundFile]:
        """List the blobs whose names we gave; those of one name are listed together."""
        groups: dict[str, list[Blob]] = {}
        for blob in self._blobs.below(""):
            name = found_files.own_name(blob.name)
            if name is not None:
                groups.setdefault(name, []).append(blob)
        for blobs in groups.values():
            newest = max(blob.changed_at for blob in blobs)
            yield from (FoundFile(blob.name, blob.size_bytes, newest) for blob in blobs)

    def collect(self, paths: Iterable[str]) -> None:
        """Remove blobs, marks of prefixes first; Unavailable if the place belongs to another store."""
        wanted = list(paths)
        if wanted:
            self._check_owner()
        for path in wanted:
            if found_files.own_name(path) is None:
                message = f"{path!r} is no place of an object; nothing is removed there"
                raise Corrupt(message, hint="run `ana verify`")
        self._blobs.delete(path for path in wanted if path.endswith(found_files.BEGUN))
        self._blobs.delete(path for path in wanted if not path.endswith(found_files.BEGUN))
        self.cache.evict(map(self._cached, wanted))

    def other_stores(self) -> list[str]:
        """The other stores that left a blob of their name here."""
        names = {blob.name.rpartition("/")[2] for blob in self._blobs.below(_STORES)}
        owner = self._owner()
        return sorted(names.union({owner} if owner else ()) - {self._store})

    def tokens(self) -> Mapping[str, bytes]:
        """Read the blobs below the name of our store's tokens."""
        found: dict[str, bytes] = {}
        for blob in self._blobs.below(f"{TOKENS}/{self._store}"):
            token = blob.name.rpartition("/")[2]
            if is_token(token):
                with suppress(FileNotFoundError):  # its owner removed it meanwhile
                    found[token] = b"".join(self._blobs.read(blob.name))
        return found

    def put_token(self, token: str, note: bytes) -> None:
        """Upload a blob."""
        self.claim()
        self._blobs.put(self._token(token), note)

    def remove_tokens(self, tokens: Iterable[str]) -> None:
        """Remove blobs."""
        names = [self._token(token) for token in tokens]
        if names:
            self._blobs.delete(names)

    def _token(self, token: str) -> str:
        return f"{TOKENS}/{self._store}/{token}"

    def left_behind(self) -> list[tuple[str, int]]:
        """List the folders of processes that were not reported alive for long."""
        return self._process_folder.left_behind()

    def remove_left_behind(self, name: str) -> None:
        """Remove the folder of such a process."""
        self._process_folder.remove(name)

    def claim(self) -> None:
        """Register our store as the writer here, once; Unavailable if another one is."""
        with self._lock:
            if self._is_claimed:
                return
            if self._owner() is None:
                self._blobs.create(MARKER, json.dumps({"store_id": self._store}).encode())
            self._check_owner()
            self._blobs.put(f"{_STORES}/{self._store}", b"")
            self._is_claimed = True

    def _check_owner(self) -> None:
        owner = self._owner()
        if owner not in (None, self._store) and self._store:
            message = f"{self.where} belongs to store {owner}: other stores only read there"
            raise Unavailable(message, hint="choose another place for the objects of this store", owner=owner)

    def _owner(self) -> str | None:
        try:
            described: Any = json.loads(b"".join(self._blobs.read(MARKER)))
            return str(described["store_id"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            hint = "restore it from a backup, or remove it if no other store writes there"
            raise Corrupt(f"{self.where} has a {MARKER} that can't be read", hint=hint) from None

    def _new_path(self, suffix: str) -> str:
        self.claim()
        name = new_id("o")
        return f"{name[1:3]}/{name}{suffix}"

    def _cached(self, path: str) -> str:
        return f"{self._id}/{path}"

    def _path(self, address: str) -> str:
        return address.removeprefix(self._blobs.address(""))

    def _wanted(self, address: str) -> WantedFile:
        path = address.path if isinstance(address, FileAddress) else self._path(address)
        fetch = self._reading(path)
        if isinstance(address, FileAddress):
            path = _checked(path)
            return WantedFile(self._cached(path), self.uri(path), fetch, address.size_bytes, address.sha256)
        return WantedFile(self._cached(path), address, fetch)

    def _reading(self, path: str) -> Any:
        def read() -> Iterator[bytes]:
            with self._missing(path):
                yield from self._blobs.read(path)

        return read

    def _size(self, path: str) -> int:
        with self._missing(path):
            return self._blobs.size(_checked(path))

    def _range(self, path: str, start: int, size: int) -> bytes:
        with self._missing(path):
            return self._blobs.read_range(path, start, size)

    def _digest(self, path: str) -> tuple[int, str]:
        described = _Measured(self._reading(_checked(path))())
        for _ in described:
            pass
        return described.size, described.digest.hexdigest()

    @contextmanager
    def _missing(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            place = self._blobs.address(path)
            if self.is_collected(path):
                raise collected(place) from None
            raise Corrupt(f"object {place} is missing", hint=_RESTORE) from None


_WHOLE_BYTES = 64 * 1024 * 1024
"""Packs up to this size are fetched whole: their blocks are read one by one."""


class _Measured:
    """Passes pieces through, and computes their size and hash."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks, self.size, self.digest = chunks, 0, hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.size += len(chunk)
            self.digest.update(chunk)
            yield chunk


def _checked(path: str) -> str:
    """The path, refused unless it is an object's, whoever wrote the catalogue."""
    if not is_object_path(path):
        hint = "the catalogue is damaged, or was made to harm; restore it from a backup"
        raise Corrupt(f"{path!r} is no place of an object", hint=hint)
    return path


_ALIVE = "alive"


class FarProcessFolder:
    """This process's folder below another; made on first use, removed at exit."""

    def __init__(self, blobs: Blobs, above: str) -> None:
        self._blobs, self._above = blobs, above
        self._name, self._process = "", 0
        self._lock = threading.Lock()

    def put(self, content: bytes, suffix: str) -> str:
        """Store bytes for this process; returns the name."""
        with self._lock:
            if self._process != os.getpid():
                self._start()
        name = f"{self._above}/{self._name}/{new_id('o')}{suffix}"
        self._blobs.put(name, content)
        return name

    def left_behind(self) -> list[tuple[str, int]]:
        """The folders that were not reported alive for long, with their sizes."""
        sizes: dict[str, int] = {}
        newest: dict[str, int] = {}
        for blob in self._blobs.below(self._above):
            name = blob.name.removeprefix(f"{self._above}/").partition("/")[0]
            sizes[name] = sizes.get(name, 0) + blob.size_bytes
            newest[name] = max(newest.get(name, 0), blob.changed_at)
        before = (time.time() - LEFT_BEHIND_SECONDS) * 1_000_000
        return [(name, size) for name, size in sorted(sizes.items()) if newest[name] < before]

    def remove(self, name: str) -> None:
        """Remove a folder."""
        self._blobs.delete([blob.name for blob in self._blobs.below(f"{self._above}/{name}")])

    def _start(self) -> None:
        self._name, self._process = new_id("o"), os.getpid()
        self._say()
        threading.Thread(target=self._say_again, daemon=True, name="anabranch-aside").start()
        atexit.register(self._end, self._name, self._process)

    def _say(self) -> None:
        self._blobs.put(f"{self._above}/{self._name}/{_ALIVE}", b"")

    def _say_again(self) -> None:
        while True:
            time.sleep(STILL_ALIVE_SECONDS)
            with suppress(Unavailable):
                self._say()

    def _end(self, name: str, process: int) -> None:
        if process == os.getpid():
            with suppress(Unavailable):
                self.remove(name)
