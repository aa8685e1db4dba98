"""Where a job's shards and their driver work: a folder that all of them see, or a place in a bucket.

This module is sent to Spark's executors by value and imports nothing of ours there. Keys are not sent along: each
machine opens a bucket with those that it finds itself (environment, profile, role).
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

_MARK = "begun"
_READERS = 16


class Workplace(Protocol):
    """Files of one job. Also decides which of several attempts at a shard counts."""

    path: str
    """Where it is, for messages and for Spark."""
    spark_options: Mapping[str, str]
    """Options that Spark needs to write here; never a secret."""

    def make(self) -> None:
        """Make the place, unless it exists."""

    def why_unseen(self) -> str | None:
        """Say why the caller can't work here; None if it can."""

    def names(self, folder: str = "") -> list[str]:
        """List a folder, sorted; empty if there is no such folder."""

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Read files, each whole."""

    def open(self, name: str) -> Any:
        """Open a file for Arrow to read from, in any order."""

    def open_object(self, address: str) -> Any:
        """Open an object of the store by its address for engines."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file: durable on return, and never seen incomplete where others look for it."""

    def sink(self, name: str) -> AbstractContextManager[Any]:
        """A block in which Arrow writes to a file; the file exists and is durable after the block."""

    def offer(self, number: int, content: bytes) -> bool:
        """Offer the manifest of an attempt at a shard; False if it is certain that another attempt counts."""

    def winners(self, number: int | None = None) -> dict[int, str]:
        """The name of the manifest that counts now, by shard: of one shard, or of all finished ones."""

    def remove(self, name: str = "") -> None:
        """Remove a folder in it, or all of it; a remnant does no harm."""

    def remove_older(self, seconds: float) -> None:
        """Remove neighbouring places that were idle for this long."""


class FolderPlace:
    """A folder at the same path everywhere. A manifest is a hard link: making it succeeds only once, even on NFS."""

    spark_options: Mapping[str, str] = {}

    def __init__(self, path: str) -> None:
        self.path = path

    def make(self) -> None:
        os.makedirs(self.path, exist_ok=True)

    def why_unseen(self) -> str | None:
        return None if os.path.isdir(self.path) else "it is not there"

    def names(self, folder: str = "") -> list[str]:
        place = self._at(folder)
        return sorted(os.listdir(place)) if os.path.isdir(place) else []

    def read(self, names: Sequence[str]) -> list[bytes]:
        return [_content(self._at(name)) for name in names]

    def open(self, name: str) -> Any:
        return self.open_object(self._at(name))

    def open_object(self, address: str) -> Any:
        import pyarrow as pa

        return pa.memory_map(address)

    def write(self, name: str, content: bytes) -> None:
        path = self._new(name)
        with open(path, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())

    @contextmanager
    def sink(self, name: str) -> Iterator[Any]:
        import pyarrow as pa

        path = self._new(name)
        with pa.OSFile(path, "wb") as stream:
            yield stream
        _sync(path)

    def offer(self, number: int, content: bytes) -> bool:
        """Make the manifest, whole or not at all, after all that the attempt wrote is durable."""
        draft = f"draft-{uuid.uuid4().hex}"
        self.write(draft, content)
        try:
            os.link(self._at(draft), self._at(_manifest(number)))
        except FileExistsError:
            return False
        finally:
            os.unlink(self._at(draft))
        _sync(self.path)
        return True

    def winners(self, number: int | None = None) -> dict[int, str]:
        if number is None:
            return {int(n[6:-5]): n for n in self.names() if n.startswith("shard-")}
        return {number: _manifest(number)} if os.path.exists(self._at(_manifest(number))) else {}

    def remove(self, name: str = "") -> None:
        shutil.rmtree(self._at(name), ignore_errors=True)

    def remove_older(self, seconds: float) -> None:
        beside = os.path.dirname(self.path)
        for folder in os.scandir(beside) if os.path.isdir(beside) else ():
            if folder.is_dir() and time.time() - folder.stat().st_mtime > seconds:
                shutil.rmtree(folder.path, ignore_errors=True)

    def _at(self, name: str) -> str:
        """The path of a file. Names come from manifests, which a stranger may have written, so none leads out."""
        if not name:
            return self.path
        path = os.path.join(self.path, name)
        inside = os.path.realpath(self.path) + os.sep
        if not os.path.realpath(path).startswith(inside):
            from anabranch.errors import Corrupt  # Only for this error: an executor may not have the package.

            raise Corrupt(f"{name!r} leads out of {self.path}, where a job works", hint="forget it with `ana job rm`")
        return path

    def _new(self, name: str) -> str:
        path = self._at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path


class BucketPlace:
    """A prefix of a bucket, by Arrow's own client, which executors have. Relies on no conditional writes.

    Every attempt has its own manifest, and of those of a shard the first by name counts for whoever lists them. A
    driver lists once, when all shards are finished, and publishes what it saw then.
    """

    def __init__(self, path: str, endpoint: str | None, region: str | None, spark_options: Mapping[str, str]) -> None:
        self.path = f"s3a://{path}"
        self.spark_options: Mapping[str, str] = dict(spark_options)
        self._base, self._endpoint, self._region = path, endpoint, region
        self._opened: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def make(self) -> None:
        self.write(_MARK, b"")

    def why_unseen(self) -> str | None:
        """Say why; names an error's class only, since a server's answer may repeat parts of the request."""
        try:
            return None if self._files.get_file_info(self._at(_MARK)).is_file else "it is not there"
        except OSError as error:
            return f"it can't be read ({type(error).__name__}): the keys or the network are not right there"

    def names(self, folder: str = "") -> list[str]:
        return sorted(info.base_name for info in self._infos(folder))

    def read(self, names: Sequence[str]) -> list[bytes]:
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(self._content, names))

    def open(self, name: str) -> Any:
        return self._files.open_input_file(self._at(name))

    def open_object(self, address: str) -> Any:
        return self._files.open_input_file(address.partition("://")[2])

    def write(self, name: str, content: bytes) -> None:
        with self.sink(name) as stream:
            stream.write(content)

    def sink(self, name: str) -> AbstractContextManager[Any]:
        opened: AbstractContextManager[Any] = self._files.open_output_stream(self._at(name))
        return opened

    def offer(self, number: int, content: bytes) -> bool:
        self.write(f"won/{number:05}/{uuid.uuid4().hex}.json", content)
        return True

    def winners(self, number: int | None = None) -> dict[int, str]:
        folder = "won" if number is None else f"won/{number:05}"
        files = sorted(info.path for info in self._infos(folder, recursive=True) if info.is_file)
        names = [path.removeprefix(f"{self._base}/") for path in files]
        return {int(name.split("/")[1]): name for name in reversed(names)}

    def remove(self, name: str = "") -> None:
        with suppress(OSError):
            self._files.delete_dir(self._at(name))

    def remove_older(self, seconds: float) -> None:
        beside = self._base.rpartition("/")[0]
        newest: dict[str, float] = {}
        for info in self._select(beside, recursive=True):
            if info.is_file:
                name = info.path.removeprefix(f"{beside}/").partition("/")[0]
                newest[name] = max(newest.get(name, 0.0), info.mtime.timestamp())
        for name, changed_at in newest.items():
            if time.time() - changed_at > seconds:
                self._files.delete_dir(f"{beside}/{name}")

    @property
    def _files(self) -> Any:
        from pyarrow.fs import S3FileSystem

        if self._opened is None:
            scheme, _, host = (self._endpoint or "").rpartition("://")
            known = {"endpoint_override": host.rstrip("/"), "scheme": scheme, "region": self._region}
            self._opened = S3FileSystem(**{name: value for name, value in known.items() if value})
        return self._opened

    def _infos(self, folder: str, *, recursive: bool = False) -> Iterable[Any]:
        return self._select(self._at(folder), recursive=recursive)

    def _select(self, path: str, *, recursive: bool) -> Iterable[Any]:
        from pyarrow.fs import FileSelector

        found: list[Any] = self._files.get_file_info(FileSelector(path, recursive=recursive, allow_not_found=True))
        return found

    def _content(self, name: str) -> bytes:
        with self.open(name) as stream:
            return bytes(stream.read())

    def _at(self, name: str) -> str:
        return f"{self._base}/{name}" if name else self._base


def _manifest(number: int) -> str:
    return f"shard-{number:05}.json"


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
