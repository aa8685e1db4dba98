"""Compares files with what was written before an engine reads them, so that damage is reported and never read."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from anabranch.model.objects import FileAddress
from anabranch.objects.root import ObjectRoot, SealedFile
from anabranch.settings import HASHING_THREADS, DamageSettings

_sound: dict[tuple[str, str], Hashable] = {}
"""The files, by address and hash, that this process has hashed and found sound, with their stamps."""


class Soundness:
    """Compares a file's size each time, its hash once per process, and again if the file was written to since.

    A file written a moment ago is not remembered: the next write might leave the same timestamp.
    """

    def __init__(self, root: ObjectRoot, settings: DamageSettings) -> None:
        self._root, self._settings = root, settings
        self._others: list[ObjectRoot] = []

    def include(self, root: ObjectRoot) -> None:
        """Also make files of another root available; they are compared where they are found (`ObjectFiles`)."""
        self._others.append(root)

    @contextmanager
    def at_hand(self, uris: Sequence[str]) -> Iterator[Mapping[str, str]]:
        """Make files available to DuckDB, which reads local files only and verifies no checksums: so hash them here.

        Yields the paths of files that are not at their addresses; those were compared when fetched.
        """
        with self._root.at_hand(uris) as own, ExitStack() as stack:
            unknown = self._unknown(uri for uri in uris if uri not in own)
            if self._settings.hashes:
                self._hash(unknown)
            elsewhere = [uri for uri in uris if not isinstance(uri, FileAddress)]
            places = dict(own)
            for other in self._others:
                places |= stack.enter_context(other.at_hand(elsewhere))
            yield places

    def wrote(self, uri: str, file: SealedFile) -> None:
        """Remember a file that this process has just written and hashed, so that it isn't read again for that."""
        if file.stamp is not None:
            _sound[uri, file.sha256] = file.stamp

    def before_spark(self, uris: Iterable[str]) -> bool:
        """Check files before Spark reads them; its page checksums suffice for large reads and far roots.

        Returns False where it is too much to be hashed: then only readers with checksums of their own suffice.
        """
        if self._root.is_far:
            return True
        unknown = self._unknown(uris)
        if not self._settings.hashes:
            return True
        if sum(f.size_bytes for f in unknown) > self._settings.spark_hash_limit_bytes:
            return False
        self._hash(unknown)
        return True

    def before_rewrite(self, uris: Collection[str]) -> None:
        """Check the hashes of files to be rewritten: under a new file's hash, old damage would never show."""
        with self._root.at_hand(list(uris)) as places:
            self._hash([file for file in _files(uris) if file not in places])

    def _unknown(self, uris: Iterable[str]) -> list[FileAddress]:
        """The files that were not hashed in their present state; compares the sizes of all."""
        found = []
        for file in _files(uris):
            stamp = self._root.check(file.path, file.size_bytes, None)
            if stamp is None or _sound.get((file, file.sha256)) != stamp:
                found.append(file)
        return found

    def _hash(self, files: Sequence[FileAddress]) -> None:
        if len(files) == 1:
            self._hash_one(files[0])
        elif files:
            with ThreadPoolExecutor(HASHING_THREADS) as pool:
                list(pool.map(self._hash_one, files))

    def _hash_one(self, file: FileAddress) -> None:
        stamp = self._root.check(file.path, file.size_bytes, file.sha256)
        if stamp is not None:
            _sound[file, file.sha256] = stamp


def _files(uris: Iterable[str]) -> list[FileAddress]:
    return [uri for uri in dict.fromkeys(uris) if isinstance(uri, FileAddress)]
