"""What an object root needs of a store of blobs (S3, HDFS): a few verbs on whole names, and errors of ours."""

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
    """Names and bytes below one address. FileNotFoundError for a name that is not there, else Unavailable."""

    where: str
    """The address as messages show it, and as it tells this place from others; it holds no secrets."""

    def put(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Store bytes: complete under their name, or not at all."""

    def create(self, name: str, content: bytes) -> None:
        """Store bytes unless the name is taken; some servers overwrite all the same."""

    def read(self, name: str) -> Iterator[bytes]:
        """Read all bytes, in pieces."""

    def read_range(self, name: str, start: int, size: int) -> bytes:
        """Read some of the bytes."""

    def size(self, name: str) -> int:
        """Tell how many bytes there are."""

    def below(self, folder: str) -> Iterator[Blob]:
        """List all blobs below a folder, at any depth; of the whole place for an empty text."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove blobs; what is gone already is fine."""

    def address(self, name: str) -> str:
        """Say where Spark finds a name."""

    def spark_options(self) -> Mapping[str, str]:
        """What Spark needs to know with each read and write to find the place; no secrets."""

    def workplace(self, folder: str) -> Workplace:
        """A place for jobs below a folder, which executors reach by themselves; InvalidRequest where there is none."""
