"""Cuts content into blocks at places that depend on the content, so that an inserted line moves few of them.

The only module that knows pyfastcdc; another cutter would lose shared blocks, never data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal, get_args

from pyfastcdc import FastCDC

from anabranch.errors import InvalidRequest

Chunking = Literal["content", "lines", "fixed", "whole"]

KB, MB = 1024, 1024 * 1024
MIN_BYTES, MEAN_BYTES, MAX_BYTES = 16 * KB, 64 * KB, 256 * KB
FAR_BYTES = 256 * MB
"""Beyond this many bytes of a file, blocks are larger."""
FAR_FACTOR = 16
_PACKED_NAMES = """
parquet orc avro feather arrow h5 npz safetensors sqlite db gz bz2 xz zst lz4 zip 7z jar whl
jpg jpeg png gif webp mp3 mp4 mkv webm mov avi flac ogg pdf docx xlsx pptx
"""
PACKED = frozenset(f".{name}" for name in _PACKED_NAMES.split())
"""Compressed formats: versions of them share nothing, and readers want them whole."""
WHOLE_BYTES = 8 * MB
"""Files from this size on have objects of their own."""


def check_chunking(chunking: str) -> None:
    """Refuse an unknown way of cutting."""
    if chunking not in get_args(Chunking):
        raise InvalidRequest(f"chunking={chunking!r} is unknown", hint=f"choose {', '.join(get_args(Chunking))}")


def is_packed(name: str) -> bool:
    """Tell by its name whether a file is compressed."""
    return f".{name.rpartition('.')[2].lower()}" in PACKED


def cut(pieces: Iterable[bytes], chunking: Chunking = "content") -> Iterator[bytes]:
    """Cut content into blocks; holds no more than a few pieces in memory."""
    kept, taken = b"", 0
    for more in chain(pieces, [b""]):
        at_end = not more
        kept += more
        factor = FAR_FACTOR if taken >= FAR_BYTES else 1
        done = 0
        for end in _cuts(kept, chunking, factor, at_end=at_end):
            yield kept[done:end]
            done = end
        taken += done
        kept = kept[done:]


def _cuts(content: bytes, chunking: Chunking, factor: int, *, at_end: bool) -> Iterator[int]:
    """Where blocks end; before the end of the stream, only cuts that further bytes can't change."""
    room = 0 if at_end else 2 * MAX_BYTES * factor
    start, size = 0, len(content)
    while start < size and (at_end or size - start >= room):
        end = _next_cut(content, start, chunking, factor)
        yield end
        start = end


def _next_cut(content: bytes, start: int, chunking: Chunking, factor: int) -> int:
    if chunking == "fixed":
        return min(len(content), start + MEAN_BYTES * factor)
    if chunking == "lines":
        return _line_end(content, min(len(content), start + MEAN_BYTES * factor), MAX_BYTES * factor)
    if len(content) - start <= MIN_BYTES * factor:
        return len(content)
    window = memoryview(content)[start : start + MAX_BYTES * factor]
    return _line_end(content, start + next(iter(_cutter(factor).cut_buf(window))).length, MAX_BYTES * factor)


def _line_end(content: bytes, end: int, reach: int) -> int:
    """Move a cut to the next line end, if one is near, so that blocks of text are whole lines."""
    if content[end - 1 : end] == b"\n":
        return end
    found = content.find(b"\n", end, end + reach)
    return found + 1 if found >= 0 else end


_CUTTERS: dict[int, FastCDC] = {}


def _cutter(factor: int) -> FastCDC:
    if factor not in _CUTTERS:
        least, mean, most = (size * factor for size in (MIN_BYTES, MEAN_BYTES, MAX_BYTES))
        _CUTTERS[factor] = FastCDC(min_size=least, avg_size=mean, max_size=most)
    return _CUTTERS[factor]
