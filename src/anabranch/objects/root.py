"""What an object root promises, wherever it lies; a folder is the first kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from anabranch.errors import InvalidRequest


@dataclass(frozen=True)
class SealedFile:
    """A file that is complete, synced and hashed; its path is relative to the root."""

    path: str
    size_bytes: int
    sha256: str


class ObjectRoot(Protocol):
    """A place for immutable files. Nothing in it counts until the catalogue links it."""

    def put(self, content: bytes) -> SealedFile:
        """Store bytes that we made: complete under their final name, or not at all."""

    def put_aside(self, content: bytes) -> str:
        """Store bytes for this process alone, neither synced nor hashed; returns a path."""

    def new_prefix(self) -> str:
        """Reserve a unique prefix for an engine to write under; returns a path."""

    def seal(self, prefix: str) -> list[SealedFile]:
        """Hash and sync what an engine wrote under a prefix, in the order of the names."""

    def discard(self, path: str) -> None:
        """Remove a file or prefix that nobody saw."""

    def uri(self, path: str) -> str:
        """Say where engines find a path."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading; Corrupt if it is gone."""

    def open_uri(self, uri: str) -> BinaryIO:
        """Open a file by the address that engines know it by."""

    def check(self, path: str, size_bytes: int, sha256: str | None) -> None:
        """Raise Corrupt if a file is missing or is not what was written; without a hash only the size is compared."""


def open_root(location: str) -> ObjectRoot:
    """Open an object root by its location."""
    from anabranch.objects.folder import Folder

    if "://" in location and not location.startswith("file://"):
        scheme = location.split("://", 1)[0]
        hint = "give a folder; other roots are not built yet"
        raise InvalidRequest(f"an object root can't lie at {scheme}://", hint=hint)
    return Folder(location.removeprefix("file://"))


def parquet_names(names: Sequence[str]) -> list[str]:
    """Keep the data files among what an engine wrote: no markers, no checksums."""
    return sorted(n for n in names if n.endswith(".parquet") and not n.startswith((".", "_")))
