"""Packs: the bytes of many blocks in one object. Small packs live in the catalogue, others in the object root."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anabranch.errors import Corrupt
from anabranch.model.ids import ObjectId, SchemaId, new_id
from anabranch.model.objects import NewObject, StoredObject
from anabranch.objects.root import ObjectRoot

PACK_BYTES = 64 * 1024 * 1024
"""The size of a full pack."""
SUFFIX = ".pack"
NO_SCHEMA = SchemaId("")


@dataclass
class PackWriter:
    """Gathers blocks into packs; nobody sees one until its object is published."""

    root: ObjectRoot
    inline_limit_bytes: int
    made: list[NewObject] = field(default_factory=list)
    """Finished packs, in order."""
    _id: ObjectId | None = None
    _content: io.BytesIO = field(default_factory=io.BytesIO)
    _size: int = 0
    _links: set[ObjectId] = field(default_factory=set)

    def add(self, block: bytes, links: Iterable[ObjectId] = ()) -> tuple[ObjectId, int]:
        """Add a block; returns its pack and the offset in it. `links` are packs that the block's bytes refer to."""
        if self._id is not None and self._size + len(block) > PACK_BYTES:
            self.finish()
        if self._id is None:
            self._id = ObjectId(new_id("o"))
        start = self._size
        self._size += self._content.write(block)
        if links:
            self._links.update(links)
        return self._id, start

    def find(self, object_id: str, start: int, size: int) -> bytes | None:
        """Read back a block that is in no finished pack yet."""
        return bytes(self._content.getbuffer()[start : start + size]) if object_id == self._id else None

    def finish(self) -> None:
        """Finish the current pack."""
        if self._id is not None:
            self.made.append(self._sealed(self._id, self._content.getvalue()))
        self._id, self._content, self._size, self._links = None, io.BytesIO(), 0, set()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Put the blocks of a large file into packs of their own, which readers of its format may read in place."""
        set_aside = self._id, self._content, self._size, self._links
        self._id, self._content, self._size, self._links = None, io.BytesIO(), 0, set()
        try:
            yield
        finally:
            self.finish()
            self._id, self._content, self._size, self._links = set_aside

    def _sealed(self, id_: ObjectId, content: bytes) -> NewObject:
        links = tuple(sorted(self._links - {id_}))
        if len(content) <= self.inline_limit_bytes:
            digest = hashlib.sha256(content).hexdigest()
            return NewObject(_pack(id_, digest, len(content), None), content, links)
        file = self.root.put(content, SUFFIX)
        return NewObject(_pack(id_, file.sha256, len(content), file.path), None, links)

    def add_whole(self, chunks: Iterable[bytes], suffix: str) -> tuple[ObjectId, int, bytes]:
        """Store a stream as an object of its own that keeps a suffix; returns it, its size and its hash."""
        file = self.root.put_stream(chunks, f"{SUFFIX}{suffix}")
        id_ = ObjectId(new_id("o"))
        self.made.append(NewObject(_pack(id_, file.sha256, file.size_bytes, file.path)))
        return id_, file.size_bytes, bytes.fromhex(file.sha256)


def _pack(id_: ObjectId, sha256: str, size_bytes: int, path: str | None) -> StoredObject:
    return StoredObject(
        id_, "pack", sha256, size_bytes, 0, NO_SCHEMA, None, (), "inline" if path is None else "root", path
    )


def check_block(block: bytes, size: int, sha256: bytes, where: str) -> bytes:
    """Refuse bytes that are not what was written."""
    if len(block) != size or hashlib.sha256(block).digest() != sha256:
        found = f"{len(block)} of {size} bytes" if len(block) != size else "another sha256"
        raise Corrupt(f"{where} is not what was written: {found}", hint="restore it from a backup, or run `ana verify`")
    return block
