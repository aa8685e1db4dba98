"""Copies files from one object root to another under the same paths, and compares them with what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from anabranch.errors import Corrupt
from anabranch.objects.root import ObjectRoot, SealedFile

_PIECE = 1 << 20


def copy_file(source: ObjectRoot, target: ObjectRoot, wanted: SealedFile) -> int:
    """Copy a file, completely or not at all; returns its size. Raises Corrupt if it is not what was written."""
    target.put_as(wanted.path, _compared(source, wanted))
    return wanted.size_bytes


def _compared(source: ObjectRoot, wanted: SealedFile) -> Iterator[bytes]:
    """The bytes of a file; raises an error at the end if they are not what was written."""
    digest, size = hashlib.sha256(), 0
    with source.open(wanted.path) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            yield piece
    if (size, digest.hexdigest()) != (wanted.size_bytes, wanted.sha256):
        message = f"object file {wanted.path} is not what was written: {size} bytes of {wanted.size_bytes}, or others"
        raise Corrupt(message, hint="restore it from an older backup, or run `ana verify` to see all that is damaged")
