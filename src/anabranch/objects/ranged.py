"""A file that is read in parts from afar."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import BinaryIO, cast


class RangedFile(io.RawIOBase):
    """Reads what is asked for, and no more."""

    def __init__(self, read: Callable[[int, int], bytes], size_bytes: int) -> None:
        self._read, self._size, self._at = read, size_bytes, 0

    def buffered(self, size: int) -> BinaryIO:
        """Read ahead, so that small reads of neighbours are one."""
        return cast(BinaryIO, io.BufferedReader(self, size))

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """It can be read from anywhere."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go elsewhere."""
        self._at = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence] + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read what fits."""
        wanted = max(0, min(len(buffer), self._size - self._at))
        found = self._read(self._at, wanted) if wanted else b""
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)
