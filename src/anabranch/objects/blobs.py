"""What an object root needs of a blob store (S3, HDFS): a few operations on whole names, and our errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from anabranch.objects.workplaces import Workplace


@dataclass(frozen=True)
class Blob:
    """Bytes under a name."""

    name: str
    size_bytes: int
    changed_at: int
    """Microseconds since 1970."""


class Blobs(Protocol):
    """Names and bytes below one address. Raises FileNotFoundError for a missing name, else Unavailable."""

    where: str
    """The address, as shown in messages and used to tell places apart; holds no secrets."""

    def put(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Store bytes: complete under their name, or not at all."""

    def create(self, name: str, content: bytes) -> None:
        """Store bytes unless the name is taken; some servers overwrite anyway."""

    def read(self, name: str) -> Iterator[bytes]:
        """Read all bytes, in pieces."""

    def read_range(self, name: str, start: int, size: int) -> bytes:
        """Read a range of the bytes."""

    def size(self, name: str) -> int:
        """Return the number of bytes."""

    def below(self, folder: str) -> Iterator[Blob]:
        """List all blobs below a folder, at any depth; an empty text means the whole place."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove blobs; missing ones are fine."""

    def address(self, name: str) -> str:
        """Return the address at which Spark finds a name."""

    def spark_options(self) -> Mapping[str, str]:
        """Options that Spark needs for each read and write to find the place; no secrets."""

    def workplace(self, folder: str) -> Workplace:
        """A place for jobs below a folder, reachable from executors; InvalidRequest if there can be none."""
