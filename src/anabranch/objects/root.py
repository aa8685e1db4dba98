"""What an object root promises, wherever it is: in a folder, on S3 or on HDFS."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from anabranch.errors import Corrupt, Unavailable
from anabranch.objects.workplaces import Workplace

WORK = "jobs"
"""Jobs work below this name, which no object has."""
_WORK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}", re.ASCII)


def work_path(name: str) -> str:
    """The place of a job below a root. The name may be a stranger's: it never leads to another folder."""
    if not isinstance(name, str) or _WORK_NAME.fullmatch(name) is None:
        hint = "the catalogue is damaged, or was made to harm; restore it from a backup"
        raise Corrupt(f"{name!r} is no place where a job works", hint=hint)
    return f"{WORK}/{name}"


@dataclass(frozen=True)
class SealedFile:
    """A file that is complete, synced and hashed; its path is relative to the root."""

    path: str
    size_bytes: int
    sha256: str
    stamp: Hashable | None = field(default=None, compare=False)
    """Changes when somebody writes to the file; None if that can't be told."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that an engine wrote below a prefix."""

    path: str
    size_bytes: int


@dataclass(frozen=True)
class FoundFile:
    """A file found in the root, whoever wrote it."""

    path: str
    size_bytes: int
    changed_at: int
    """Microseconds since 1970; for a file below a prefix, when the newest of them was written."""


class ObjectRoot(Protocol):
    """A place for immutable files. Nothing in it counts until the catalogue links it."""

    where: str
    """The location, as messages show it."""
    is_far: bool
    """Whether each access to a file is a request to a server."""
    before_upload: Callable[[], None]
    """Called before files are put or settled, which the catalogue may link; it does nothing unless somebody sets it."""

    is_collected: Callable[[str], bool]
    """Called with the path of a file that is missing: whether gc removed it, since nothing names it any more."""

    def claim(self) -> None:
        """Register our store as a writer; Unavailable if not allowed, or another store owns the place."""

    def put(self, content: bytes | memoryview, suffix: str = ".parquet") -> SealedFile:
        """Store bytes: complete under their final name, or not at all."""

    def put_stream(self, chunks: Iterable[bytes], suffix: str) -> SealedFile:
        """Store pieces in the same way."""

    def put_as(self, path: str, chunks: Iterable[bytes]) -> None:
        """Store pieces under a path that another root assigned."""

    def put_temporary(self, content: bytes, suffix: str = ".parquet") -> str:
        """Store bytes for this process alone, neither synced nor hashed; returns the address for engines."""

    def new_prefix(self) -> str:
        """Reserve a unique prefix for an engine to write under; returns a path."""

    def written(self, prefix: str) -> list[WrittenFile]:
        """List the data files that an engine wrote under a prefix, by name; remove everything else there."""

    def settle(self, prefix: str) -> None:
        """Keep the files below a prefix; Unavailable if some were collected in the meantime."""

    def workplace(self, name: str) -> Workplace:
        """A place for Spark's executors to work in, apart from the objects: gc leaves it alone.

        Raises InvalidRequest if the root has no such place.
        """

    def discard(self, path: str) -> None:
        """Remove a file or prefix that nobody saw."""

    def uri(self, path: str) -> str:
        """The address at which Spark finds a path; DuckDB, too, unless `at_hand` yields another."""

    def at_hand(self, addresses: Sequence[str]) -> AbstractContextManager[Mapping[str, str]]:
        """Have files on this machine while a block lasts; maps the addresses of copies to their paths.

        Fetched files are compared with what was written, if the address says that; Corrupt if they differ.
        """

    def here(self, paths: Sequence[str]) -> set[str]:
        """Which of these files are on this machine."""

    def evict(self, paths: Sequence[str]) -> list[int]:
        """Remove local copies of files that can be fetched again; returns their sizes."""

    def spark_options(self) -> Mapping[str, str]:
        """Options that Spark needs for each read and write to find the root; never a secret."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; Corrupt if it is missing."""

    def open_uri(self, uri: str) -> BinaryIO:
        """Open a file by its address for engines."""

    def check(self, path: str, size_bytes: int, sha256: str | None) -> Hashable | None:
        """Raise Corrupt if a file is missing or is not what was written; without a hash, only compare the size.

        Returns a stamp that changes when the file is written to; None if that can't be told.
        """

    def files(self) -> Iterator[FoundFile]:
        """List the files that were put or written under a prefix, complete or not; nothing else that may be there."""

    def collect(self, paths: Iterable[str]) -> None:
        """Remove files that nothing names; missing ones are fine. Unavailable if not allowed."""

    def other_stores(self) -> list[str]:
        """Name the other stores that put files here."""

    def tokens(self) -> Mapping[str, bytes]:
        """The tokens that catalogues of our store laid here, each with its note."""

    def put_token(self, token: str, note: bytes) -> None:
        """Lay a token here."""

    def remove_tokens(self, tokens: Iterable[str]) -> None:
        """Remove tokens; missing ones are fine."""

    def left_behind(self) -> list[tuple[str, int]]:
        """List what dead processes left behind, with sizes in bytes."""

    def remove_left_behind(self, name: str) -> None:
        """Remove what a dead process left behind."""


def never_collected(_path: str) -> bool:
    """Take a missing file for damage: nobody can say what is named."""
    return False


def collected(place: object) -> Unavailable:
    """The error for a file that gc removed while somebody was about to read or to publish it."""
    message = f"object file {place} was collected by gc while it was in use"
    return Unavailable(message, hint="do it again, and let gc run with a longer grace", is_collected=True)


def nothing() -> None:
    """Do nothing before an upload: nobody owns the root by a catalogue."""


def parquet_names(names: Sequence[str]) -> list[str]:
    """Keep the data files among what an engine wrote: no markers, no checksums."""
    return sorted(n for n in names if n.endswith(".parquet") and not n.startswith((".", "_")))
