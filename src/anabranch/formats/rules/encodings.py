"""Opens text files, compressed or not by their names, in one of the known encodings, as streams of UTF-8."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from anabranch.errors import InvalidRequest, NotFound, Unavailable
from anabranch.formats.rules.packed import UNPACKING_ERRORS, open_file

_BLOCK_BYTES = 1024 * 1024


@contextmanager
def open_utf8(path: str, encoding: str) -> Iterator[Any]:
    """Open a file as a stream of UTF-8 bytes, without a byte order mark."""
    with open_file(path) as stream:
        if encoding != "utf-8":
            stream = io.BufferedReader(_Transcoded(stream, encoding), _BLOCK_BYTES)
        yield stream


def refuse_utf16(path: str, encoding: str) -> None:
    """Refuse a file that starts with a UTF-16 mark, unless that encoding was expected."""
    with open_file(path) as stream:
        if encoding != "utf-16" and stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            message = f"{path!r} is in utf-16, {encoding} was expected"
            raise InvalidRequest(message, hint="say so (--encoding utf-16, encoding=)", file=path)


@contextmanager
def lines_of(path: str, encoding: str) -> Iterator[Iterator[str]]:
    """Yield the lines of a file with their ends, each byte of its UTF-8 as one character."""
    with open_utf8(path, encoding) as stream:
        raw = stream if encoding != "utf-8" else io.BufferedReader(_PythonStream(stream), _BLOCK_BYTES)
        yield _without_mark(io.TextIOWrapper(raw, encoding="latin-1", newline=""))


def _without_mark(lines: Iterator[str]) -> Iterator[str]:
    mark = codecs.BOM_UTF8.decode("latin-1")
    for number, line in enumerate(lines):
        yield line.removeprefix(mark) if number == 0 else line


class _PythonStream(io.RawIOBase):
    """Makes a stream of Arrow's readable for Python."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class CheckedStream:
    """A stream that fails at bytes that are not UTF-8."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder("utf-8")()

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._stream.read(size)
        is_inside = bool(self._decoder.getstate()[0])
        if is_inside or not content.isascii():
            self._decoder.decode(content, not content)
        return content


class ExtendedStream(io.RawIOBase):
    """A stream with more bytes after its end."""

    def __init__(self, stream: Any, more: bytes) -> None:
        self._stream, self._more = stream, more

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._stream.read(size)
        if not content:
            content, self._more = self._more, b""
        return content


class _Transcoded(io.RawIOBase):
    """A stream in another encoding, as UTF-8; bytes invalid in that encoding pass unchanged."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream, self._left = stream, b""
        errors = "strict" if encoding.startswith("utf-16") else "surrogateescape"
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            content = self._stream.read(_BLOCK_BYTES)
            self._left = self._decoder.decode(content, not content).encode("utf-8", "surrogateescape")
            if not content:
                break
        given, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)


@contextmanager
def translated(path: str, format: str) -> Iterator[None]:
    """Translate errors about a file into ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path!r}", hint="check the path", file=path) from error
    except (pa.ArrowException, ValueError, EOFError, *UNPACKING_ERRORS) as error:
        message = f"{path!r} can't be read as {format}: {first_line(error)}"
        raise InvalidRequest(message, hint="check the file and its format", file=path) from error
    except OSError as error:
        message = f"{path!r} can't be read: {error.strerror or first_line(error)}"
        raise Unavailable(message, hint="check the file and its permissions", file=path) from error


def first_line(error: Exception) -> str:
    """An error's message, cut to one line."""
    return str(error).strip().split("\n", 1)[0]
