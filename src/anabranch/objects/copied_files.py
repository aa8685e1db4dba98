"""Files of an object root, copied to another folder under the same paths and compared with what was written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from anabranch.errors import Corrupt, Unavailable
from anabranch.objects.folder import Folder
from anabranch.objects.root import ObjectRoot, SealedFile

_PIECE = 1 << 20


def copy_file(source: ObjectRoot, target: Folder, wanted: SealedFile) -> int:
    """Copy a file that the target lacks; complete under its name, or not at all. Returns the bytes that were written.

    Corrupt if the source is not what was written.
    """
    place = Path(target.uri(wanted.path))
    if _is_there(target, wanted):
        return 0
    temporary = place.with_suffix(".tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with source.open(wanted.path) as file, temporary.open("wb") as out:
            _pour(file, out, wanted)
            os.fsync(out.fileno())
        temporary.rename(place)
    except OSError as error:
        raise Unavailable(f"{place} can't be written: {error.strerror or error}", hint="check the disk") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return wanted.size_bytes


def _is_there(target: Folder, wanted: SealedFile) -> Hashable | None:
    """Whether the target has a file of this name and size: it was compared when it was copied."""
    with suppress(Corrupt):
        return target.check(wanted.path, wanted.size_bytes, None) or True
    return None


def _pour(file: BinaryIO, out: BinaryIO, wanted: SealedFile) -> None:
    digest, size = hashlib.sha256(), 0
    while piece := file.read(_PIECE):
        digest.update(piece)
        out.write(piece)
        size += len(piece)
    if (size, digest.hexdigest()) != (wanted.size_bytes, wanted.sha256):
        message = f"object file {wanted.path} is not what was written: {size} bytes of {wanted.size_bytes}, or others"
        raise Corrupt(message, hint="restore it from an older backup, or run `ana verify` to see all that is damaged")
    out.flush()
