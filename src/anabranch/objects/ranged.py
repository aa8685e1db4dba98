"""A file that is read in ranges: a remote one, or one made of blocks."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import BinaryIO, cast


class RangedFile(io.RawIOBase):
    """Reads exactly what is asked for."""

    def __init__(self, read: Callable[[int, int], bytes], size_bytes: int) -> None:
        self._read, self._size, self._at = read, size_bytes, 0

    def buffered(self, size: int) -> BinaryIO:
        """Read ahead, so that nearby small reads become one."""
        return cast(BinaryIO, io.BufferedReader(self, size))

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """The offset of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to an offset."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read what fits into the buffer."""
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self._size - self._at))
        found = self._read(self._at, wanted) if wanted else b""
        view[: len(found)] = found
        self._at += len(found)
        return len(found)
