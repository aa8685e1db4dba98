"""Packed files: compressed ones, and those in a zip, named like `data.zip/part.csv`."""

from __future__ import annotations

import lzma
import os
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""The compressions that Arrow supports."""
XZ = ".xz"
ZIP = ".zip"
_ENCRYPTED = 1
UNPACKING_ERRORS = (zipfile.BadZipFile, lzma.LZMAError, zlib.error, NotImplementedError)
"""Errors that mean a file cannot be unpacked: it is damaged, or packed in an unknown way."""


@dataclass(frozen=True)
class Member:
    """A file in a zip: its path within, and its size once unpacked."""

    name: str
    size_bytes: int


def is_zip(path: str) -> bool:
    """Whether a file is a zip, by its name."""
    return path.lower().endswith(ZIP) and os.path.isfile(path)


def members(path: str) -> list[Member]:
    """The non-empty files in a zip, by name."""
    found = [info for info in _zip(path).infolist() if not info.is_dir() and info.file_size]
    if any(info.flag_bits & _ENCRYPTED for info in found):
        raise ValueError("it needs a password")
    return sorted((Member(info.filename, info.file_size) for info in found), key=lambda member: member.name)


def open_file(path: str) -> Any:
    """Open a file for its bytes, unpacked as its name says."""
    ending = Path(path).suffix.lower()
    within = _place_in_zip(path)
    source: Any = _zip(within[0]).open(within[1]) if within else path
    if ending == XZ:
        return pa.input_stream(lzma.open(source))
    return pa.input_stream(source, compression=CODECS.get(ending, None if within else "detect"))


def is_in_zip(path: str) -> bool:
    """Whether a path is that of a file in a zip."""
    return _place_in_zip(path) is not None


def _place_in_zip(path: str) -> tuple[str, str] | None:
    """Split `data.zip/part.csv` into the zip and the name within; None for a file in a folder."""
    lower, end = path.lower(), 0
    while (at := lower.find(f"{ZIP}/", end)) >= 0:
        end = at + len(ZIP)
        if os.path.isfile(path[:end]):
            return path[:end], path[end + 1 :]
    return None


def _zip(path: str) -> zipfile.ZipFile:
    found = os.stat(path)
    return _opened(os.path.abspath(path), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1)
def _opened(path: str, _mtime_ns: int, _size_bytes: int) -> zipfile.ZipFile:
    """Keep the last zip open, so that its directory is not read again for each of its files."""
    return zipfile.ZipFile(path)
