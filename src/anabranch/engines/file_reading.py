"""Reads versioned files on Spark's executors; sent by value, so it imports nothing of ours.

A task is a list of files, each with the stretches of objects that hold its bytes; everything read is compared with its
hash. The driver uses the same functions, so both return the same rows.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

Stretch = tuple[str, int, int, bytes, bytes]
"""A file, an offset in it, a size, the bytes themselves if there is no file, and their sha256."""
Read = Callable[[str, Any], bytes]
"""Returns the bytes of a stretch of the file at a path."""
FileStretches = tuple[str, int, int, int | None, Sequence[Stretch]]
"""A path, the offset in that file and the number of the first stretch, the file's mode, and the stretches."""
BATCH_BYTES = 8 * 1024 * 1024
CONTENT = "path string, size bigint, mode int, content binary"
LINES = "path string, line string"
BLOCKS = "path string, number bigint, start bigint, size bigint, sha256 string, content binary"


class NoLines(ValueError):
    """A file whose lines were asked for has none: it is no text, or no gzip as its name says."""


def packed(files: Sequence[FileStretches]) -> bytes:
    """A task, serialised to be sent."""
    return zlib.compress(pickle.dumps(files), 1)


def run_tasks(tasks: Sequence[bytes], form: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Read the tasks whose numbers come in as rows."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from read_task(pickle.loads(zlib.decompress(tasks[number])), form)


def read_task(files: Iterable[FileStretches], form: str, read: Read | None = None) -> Iterator[Any]:
    """Read files as rows: `content`, `lines` or `blocks`; a process with a catalogue may pass its own `read`."""
    return {"content": _contents, "lines": _lines, "blocks": _blocks}[form](files, read or _StretchReader())


def _contents(files: Iterable[FileStretches], read: Read) -> Iterator[Any]:
    rows: list[tuple[Any, ...]] = []
    for path, _, _, mode, stretches in files:
        content = b"".join(read(path, stretch) for stretch in stretches)
        rows.append((path, len(content), mode, content))
        if sum(row[1] for row in rows) > BATCH_BYTES or len(rows) >= 10_000:
            yield _batch(rows, CONTENT)
            rows = []
    if rows:
        yield _batch(rows, CONTENT)


def _blocks(files: Iterable[FileStretches], read: Read) -> Iterator[Any]:
    for path, start, first, _, stretches in files:
        for number, stretch in enumerate(stretches, first):
            content = read(path, stretch)
            yield _batch([(path, number, start, len(content), stretch[-1].hex(), content)], BLOCKS)
            start += len(content)


def arrow_schema(form: str) -> Any:
    """The Arrow schema of a form."""
    import pyarrow as pa

    types = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "binary": pa.binary()}
    return pa.schema([(name, types[type_]) for name, type_ in (c.split(" ") for c in form.split(", "))])


def _batch(rows: Sequence[tuple[Any, ...]], form: str) -> Any:
    import pyarrow as pa

    schema = arrow_schema(form)
    columns = zip(zip(*rows, strict=True), schema, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, field.type) for values, field in columns], schema=schema)


# --- lines ---


def _lines(files: Iterable[FileStretches], read: Read) -> Iterator[Any]:
    import pyarrow as pa

    for path, _, _, _, stretches in files:
        for content in _whole_lines(_pieces(path, stretches, read)):
            lines = _split(content, path)
            yield pa.RecordBatch.from_arrays([pa.repeat(path, len(lines)), lines], schema=arrow_schema(LINES))


def _pieces(path: str, stretches: Sequence[Stretch], read: Read) -> Iterator[bytes]:
    found = (read(path, stretch) for stretch in stretches)
    return _unpacked(found, path) if path.lower().endswith(".gz") else found


def _unpacked(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Unpack gzip in bounded memory, whatever its size says."""
    try:
        with gzip.GzipFile(fileobj=io.BufferedReader(_Joined(pieces))) as file:
            while found := file.read(BATCH_BYTES):
                yield found
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise NoLines(f"{path!r} can't be unpacked as gzip: {error}") from error


class _Joined(io.RawIOBase):
    """Pieces of bytes as one stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces into batches that end at a line end."""
    kept: list[bytes] = []
    for piece in pieces:
        kept.append(piece)
        if sum(map(len, kept)) >= BATCH_BYTES:
            content = b"".join(kept)
            end = content.rfind(b"\n") + 1
            if end:
                yield content[:end]
            kept = [content[end:]]
    if any(kept):
        yield b"".join(kept)


def _split(content: bytes, path: str) -> Any:
    """The lines of some bytes as Arrow strings; a line ends with LF, CR LF or CR."""
    import pyarrow as pa

    if b"\r" in content or not content.endswith(b"\n"):
        found = pa.array(content.splitlines(), pa.binary())
    else:
        found = _at_line_feeds(content)
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise NoLines(f"{path!r} is no UTF-8, so it has no lines") from error


def _at_line_feeds(content: bytes) -> Any:
    import numpy as np
    import pyarrow as pa

    ends = np.flatnonzero(np.frombuffer(content, dtype="uint8") == 10)
    offsets = np.zeros(len(ends) + 1, dtype="int32")
    offsets[1:] = ends - np.arange(len(ends))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content.replace(b"\n", b""))]
    return pa.Array.from_buffers(pa.binary(), len(ends), buffers)


# --- bytes ---


class _StretchReader:
    """Reads stretches from their objects; keeps the last one open, since most neighbours lie in one."""

    def __init__(self) -> None:
        self._file = ""
        self._stream: BinaryIO = io.BytesIO()

    def __call__(self, path: str, stretch: Stretch) -> bytes:
        file, start, size, content, sha256 = stretch
        if file:
            self._open(file)
            self._stream.seek(start)
            content = self._stream.read(size)
        if len(content) != size or hashlib.sha256(content).digest() != sha256:
            raise ValueError(f"{path!r} is not what was written: its bytes in {file or 'the catalogue'} are others")
        return content

    def _open(self, file: str) -> None:
        if file != self._file:
            self._stream.close()
            self._stream = open(file, "rb")  # noqa: SIM115, closed before the next is opened
            self._file = file
