"""Reads blocks from packs, wherever they are, and compares them with their hashes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.catalog import objects
from anabranch.errors import Corrupt
from anabranch.model.files import BlockRef, FileRow
from anabranch.model.ids import ObjectId
from anabranch.model.objects import StoredObject
from anabranch.objects.packs import PackWriter, check_block
from anabranch.plan.refs_forest import leaves
from anabranch.repo.context.context import Context

_KEPT_BYTES = 16 * 1024 * 1024
_READ = 4 * 1024 * 1024


class BlockReader:
    """Reads blocks of published packs, and of those that only an unfinished commit knows."""

    def __init__(
        self,
        ctx: Context,
        packs: Mapping[ObjectId, StoredObject] | None = None,
        pending: Mapping[ObjectId, bytes] | None = None,
        filling: PackWriter | None = None,
    ) -> None:
        self._ctx, self._packs, self._pending, self._filling = ctx, packs or {}, pending or {}, filling
        self._inline: OrderedDict[ObjectId, bytes] = OrderedDict()

    def leaves(self, row: FileRow) -> tuple[BlockRef, ...]:
        """The references to the bytes of a file, with all lists expanded."""
        return self._leaves(row.blocks, row.path, row.size)

    def _leaves(self, refs: Sequence[BlockRef], path: str, size: int) -> tuple[BlockRef, ...]:
        return tuple(leaves(refs, lambda ref: self.read(ref, f"a list of {path!r}"), size))

    def taken_apart(self, row: FileRow | None) -> FileRow | None:
        """A file with all lists of its blocks expanded."""
        return row and row._replace(blocks=self.leaves(row))

    def read(self, ref: BlockRef, path: str) -> bytes:
        """Read one whole block, and compare it with its hash."""
        if not ref.size:
            return b""
        where = f"{path}: block {ref.number} in pack {ref.object}"
        return check_block(self._bytes(ref, 0, ref.size), ref.size, ref.sha256, where)

    def stream(
        self, refs: Sequence[BlockRef], path: str, size: int, start: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        """Yield the bytes of a file, or of some of its references, which have `size` bytes, from `start` to `end`.

        Reads blocks only as needed."""
        at = 0
        for ref in self._leaves(refs, path, size):
            low, high = max(start - at, 0), min(ref.size, (end if end is not None else at + ref.size) - at)
            if low < high:
                yield from self._part(ref, path, low, high)
            at += ref.size
            if end is not None and at >= end:
                return

    def _part(self, ref: BlockRef, path: str, low: int, high: int) -> Iterator[bytes]:
        """A part of a block; a large one (a file kept whole) is not read whole for it."""
        if ref.size <= _READ:
            yield self.read(ref, path)[low:high]
            return
        self._check_file(ref)
        for at in range(low, high, _READ):
            yield self._bytes(ref, at, min(_READ, high - at))

    def _check_file(self, ref: BlockRef) -> None:
        """Compare a file that is one block with its hash, once per process."""
        stored = self.find(ref)
        if stored.place != "inline":
            self._ctx.files.locate(stored).check(stored, deep=False)

    def _bytes(self, ref: BlockRef, start: int, size: int) -> bytes:
        filling = self._filling.find(ref.object, ref.start + start, size) if self._filling else None
        if filling is not None:
            return filling
        stored = self.find(ref)
        if stored.place == "inline":
            return self._content(stored)[ref.start + start : ref.start + start + size]
        with self._ctx.files.locate(stored).open() as file:
            file.seek(ref.start + start)
            return file.read(size)

    def last_byte(self, ref: BlockRef) -> bytes:
        """The last byte of a block, which tells whether it ends a line."""
        return self._bytes(ref, ref.size - 1, 1)

    def head(self, ref: BlockRef, size: int) -> bytes:
        """The first bytes of a block."""
        return self._bytes(ref, 0, min(size, ref.size))

    def place(self, ref: BlockRef, path: str) -> dict[str, Any]:
        """Where a block is: a file and an offset, or its bytes if the catalogue holds them."""
        file = self.address(ref)
        return {"file": file, "start": ref.start, "size": ref.size} if file else {"content": self.read(ref, path)}

    def address(self, ref: BlockRef) -> str:
        """The address of the file that holds a block; empty if the catalogue holds its bytes."""
        stored = self.find(ref)
        return "" if stored.place == "inline" else str(self._ctx.files.address(stored))

    def find(self, ref: BlockRef) -> StoredObject:
        """The pack that a block is in."""
        id_ = ObjectId(ref.object)
        made = {o.stored.id: o.stored for o in self._filling.made} if self._filling else {}
        found = made.get(id_) or self._packs.get(id_) or self._ctx.known_objects.get(id_)
        if found is None:
            with self._ctx.catalog.read() as cx:
                self._ctx.known_objects.update(objects.find(cx, [id_]))
            found = self._ctx.known_objects.get(id_)
        if found is None or found.kind != "pack":
            raise Corrupt(f"pack {id_} is missing from the catalogue", hint="restore the catalogue from a backup")
        if ref.start + ref.size > found.size_bytes:
            message = f"pack {id_} has {found.size_bytes} bytes, and a block ends at {ref.start + ref.size}"
            raise Corrupt(message, hint="`ana verify` names all such files; delete it, or restore a backup")
        return found

    def _content(self, stored: StoredObject) -> bytes:
        if stored.id in self._pending:
            return self._pending[stored.id]
        made = self._filling.made if self._filling else ()
        fresh = next((o.content for o in made if o.stored.id == stored.id), None)
        if fresh is not None:
            return fresh
        if stored.id not in self._inline:
            with self._ctx.catalog.read() as cx:
                found = objects.contents(cx, [stored.id])
            if stored.id not in found:
                raise Corrupt(f"pack {stored.id} is missing from the catalogue", hint="restore it from a backup")
            self._inline[stored.id] = found[stored.id]
            while sum(map(len, self._inline.values())) > _KEPT_BYTES:
                self._inline.popitem(last=False)
        return self._inline[stored.id]
