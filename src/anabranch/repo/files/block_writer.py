"""Turns content into blocks: cut, hashed, shared with known ones, and put into packs that nobody sees yet."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import PurePosixPath
from typing import BinaryIO

from anabranch.errors import InvalidRequest
from anabranch.model.files import BlockRef
from anabranch.model.ids import ObjectId, new_write_id
from anabranch.model.objects import NewObject
from anabranch.objects.chunks import MB, WHOLE_BYTES, Chunking, cut, is_packed
from anabranch.objects.packs import PackWriter
from anabranch.plan.refs_forest import WIDTH, decode_list, folded
from anabranch.repo.context.context import Context

Refs = tuple[BlockRef, ...]
Place = tuple[str, int, int]
"""A pack, an offset in it, and a size."""
_NOWHERE = ("", 0, 0)
_SHARED_AT_MOST = 100_000
_READ = 4 * MB


class BlockWriter:
    """Writes the content of files for one transaction."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.packs = PackWriter(ctx.root, ctx.settings.objects.inline_limit_bytes)
        self._write, self._number = new_write_id(), 0
        self._writes = {verb: verb + self._write for verb in "pa"}
        self._known: dict[bytes, Place] = {}

    def write(
        self, stream: BinaryIO, verb: str, name: str, chunking: Chunking | None, old: Sequence[BlockRef] = ()
    ) -> tuple[Refs, bytes]:
        """Store a stream's content; returns its references and the hash of all of it.

        `verb` is `p` for a put, `a` for an append; `old` are the blocks of the last version, to be shared.
        """
        pieces = _pieces(stream)
        head, is_large = _head(pieces)
        pieces = chain(head, pieces)
        if chunking == "whole" or (chunking is None and verb == "p" and is_large and is_packed(name)):
            return self._whole(pieces, verb, name)
        known = {ref.sha256: (ref.object, ref.start, ref.size) for ref in old}
        refs, total = [], hashlib.sha256()
        with self.packs.apart() if is_large else nullcontext():
            for block in cut(pieces, chunking or "content"):
                total.update(block)
                digest = hashlib.sha256(block).digest()
                place = known.get(digest) or self._placed(block, digest)
                refs.append(BlockRef(0, self._writes[verb], self._next(), *place, digest))
        # An empty write leaves a trace, too: it says that the file was made or replaced.
        return tuple(refs) or (self._empty(verb),), total.digest()

    def write_bytes(self, content: bytes, name: str) -> tuple[Refs, bytes]:
        """Store bytes as a put does."""
        return self.write(io.BytesIO(content), "p", name, None)

    def place_small(self, content: bytes) -> tuple[str, int, int, bytes, int]:
        """Store bytes as one block, as most files are; returns pack, offset, size, hash and number."""
        digest = hashlib.sha256(content).digest()
        place = self._placed(content, digest) if content else _NOWHERE
        return (*place, digest, self._next())

    @property
    def put_write(self) -> str:
        """The write id that references of a put carry."""
        return self._writes["p"]

    @property
    def writes(self) -> frozenset[str]:
        """The write ids that references of this transaction carry."""
        return frozenset(self._writes.values())

    def _placed(self, block: bytes, digest: bytes) -> Place:
        """Where a block of this transaction is; it is stored if it is not there yet."""
        place = self._known.get(digest)
        if place is None:
            place = (*self.packs.add(block), len(block))
            if len(self._known) < _SHARED_AT_MOST:
                self._known[digest] = place
        return place

    def _empty(self, verb: str) -> BlockRef:
        return BlockRef(0, verb + self._write, self._next(), "", 0, 0, hashlib.sha256().digest())

    def _whole(self, chunks: Iterator[bytes], verb: str, name: str) -> tuple[Refs, bytes]:
        """Keep a file as its own object, with its suffix, so that others can read it in place."""
        suffix = PurePosixPath(name).suffix.lower()
        is_plain = suffix[1:].isascii() and suffix[1:].isalnum() and len(suffix) <= 13
        id_, size, digest = self.packs.add_whole(chunks, suffix if is_plain else "")
        return (BlockRef(0, verb + self._write, self._next(), id_, 0, size, digest),), digest

    def _next(self) -> int:
        self._number += 1
        return self._number

    def fold(self, refs: Sequence[BlockRef]) -> Refs:
        """Fold references into lists if there are many."""
        return folded(refs, self._put_list) if len(refs) >= WIDTH else tuple(refs)

    def _put_list(self, content: bytes, level: int) -> BlockRef:
        links = {ObjectId(ref.object) for ref in decode_list(content) if ref.size}
        object_id, start = self.packs.add(content, links)
        digest = hashlib.sha256(content).digest()
        return BlockRef(level, f"l{self._write}", self._next(), object_id, start, len(content), digest)

    def taken(self) -> tuple[NewObject, ...]:
        """Finish the current packs, and hand over all new ones."""
        self.packs.finish()
        made, self.packs.made = tuple(self.packs.made), []
        return made

    def forget(self) -> None:
        """Remove packs that nobody took, and share no more blocks of earlier ones, which may be removed as well."""
        self.ctx.discard(self.taken())
        self._known.clear()


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    while more := stream.read(_READ):
        if isinstance(more, str):
            raise InvalidRequest("a stream gave text", hint="open the file in binary mode")
        yield more


def _head(pieces: Iterator[bytes]) -> tuple[list[bytes], bool]:
    """The first pieces, and whether they make a large file."""
    taken, size = [], 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= WHOLE_BYTES:
            return taken, True
    return taken, False
