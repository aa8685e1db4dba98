"""What an object root promises, wherever it lies: in a folder, on S3 or on HDFS."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from anabranch.objects.workplaces import Workplace

WORK = "jobs"
"""Below this name jobs work, which no object has."""


@dataclass(frozen=True)
class SealedFile:
    """A file that is complete, synced and hashed; its path is relative to the root."""

    path: str
    size_bytes: int
    sha256: str
    stamp: Hashable | None = field(default=None, compare=False)
    """What tells it from what it will be once somebody writes to it; None where nothing does."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that an engine wrote below a prefix."""

    path: str
    size_bytes: int


@dataclass(frozen=True)
class FoundFile:
    """A file that lies in the root, whoever wrote it."""

    path: str
    size_bytes: int
    changed_at: int
    """Microseconds since 1970; of a file below a prefix, when the newest of them was written."""


class ObjectRoot(Protocol):
    """A place for immutable files. Nothing in it counts until the catalogue links it."""

    where: str
    """The location, as messages show it."""
    is_far: bool
    """Whether each look at a file is a request to a server."""

    def claim(self) -> None:
        """Say that our store puts files here; Unavailable if that is not allowed, or another one owns the place."""

    def put(self, content: bytes, suffix: str = ".parquet") -> SealedFile:
        """Store bytes that we made: complete under their final name, or not at all."""

    def put_stream(self, chunks: Iterable[bytes], suffix: str) -> SealedFile:
        """Store bytes that come in pieces, in the same way."""

    def put_as(self, path: str, chunks: Iterable[bytes]) -> None:
        """Store what comes in pieces under a path that another root gave to it."""

    def put_temporary(self, content: bytes, suffix: str = ".parquet") -> str:
        """Store bytes for this process alone, neither synced nor hashed; returns the address for engines."""

    def new_prefix(self) -> str:
        """Reserve a unique prefix for an engine to write under; returns a path."""

    def written(self, prefix: str) -> list[WrittenFile]:
        """List the data files that an engine wrote under a prefix, in the order of the names; all else there goes."""

    def settle(self, prefix: str) -> None:
        """Make the files below a prefix stay; Unavailable if some of them were collected meanwhile."""

    def workplace(self, name: str) -> Workplace:
        """Where executors of Spark may work, which is no place of objects: gc leaves it alone.

        A root that has no such place raises InvalidRequest.
        """

    def discard(self, path: str) -> None:
        """Remove a file or prefix that nobody saw."""

    def uri(self, path: str) -> str:
        """Say where Spark finds a path; DuckDB does, too, unless `at_hand` tells another place."""

    def at_hand(self, addresses: Sequence[str]) -> AbstractContextManager[Mapping[str, str]]:
        """Have files on this machine for as long as a block lasts: by address, where they lie, if that is elsewhere.

        What is fetched for it is compared with what was written, if an address knows that; Corrupt if it differs.
        """

    def here(self, paths: Sequence[str]) -> set[str]:
        """Tell which files are on this machine."""

    def evict(self, paths: Sequence[str]) -> list[int]:
        """Remove the copies of files on this machine that can be fetched again; gives their sizes."""

    def spark_options(self) -> Mapping[str, str]:
        """What Spark needs to know with each read and write to find the root; never a secret."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; Corrupt if it is gone."""

    def open_uri(self, uri: str) -> BinaryIO:
        """Open a file by the address that engines know it by."""

    def check(self, path: str, size_bytes: int, sha256: str | None) -> Hashable | None:
        """Raise Corrupt if a file is missing or is not what was written; without a hash only the size is compared.

        Returns a stamp that will be another when the file is written to; None if that is not sure.
        """

    def files(self) -> Iterator[FoundFile]:
        """List the files that were put or written under a prefix, complete or not; nothing else that may lie there."""

    def collect(self, paths: Iterable[str]) -> None:
        """Remove files that nothing names, Unavailable if that is not allowed; what is gone already is fine."""

    def other_stores(self) -> list[str]:
        """Name the other stores that put files here."""

    def left_behind(self) -> list[tuple[str, int]]:
        """List what was put aside by processes that are dead, with sizes in bytes."""

    def remove_left_behind(self, name: str) -> None:
        """Remove what a dead process put aside."""


def parquet_names(names: Sequence[str]) -> list[str]:
    """Keep the data files among what an engine wrote: no markers, no checksums."""
    return sorted(n for n in names if n.endswith(".parquet") and not n.startswith((".", "_")))
