"""Cuts files into pieces that can be read independently, and large pieces into blocks that fit into memory.

A piece is a file, or the lines of one that begin in a range of its bytes. Text is cut only where a record ends."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.formats.process import json as json_files
from anabranch.formats.process.csv import Head, records_of
from anabranch.formats.process.csv_quotes import is_line_by_line, is_plain
from anabranch.formats.process.inference import again_of, renamed
from anabranch.formats.process.parts import FilePart, Reading, read_part
from anabranch.formats.rules.bad_rows import BadRows
from anabranch.formats.rules.encodings import open_utf8, refuse_utf16, translated
from anabranch.formats.rules.found_files import DataFile
from anabranch.formats.rules.packed import is_in_zip
from anabranch.formats.rules.text import TextOptions

PIECE_BYTES = 64 * 1024 * 1024
"""The size of pieces and blocks."""
_LEAST_WORK_BYTES = 4 * 1024 * 1024
_WORK_SHARES = 64
_CUT_ANYWHERE = ("utf-8", "latin-1", "cp1252")
"""Encodings in which a byte that looks like a line end is one."""


class NotSeparable(Exception):
    """A file's lines are not records, or something is wrong with it; it must be read as a whole."""


@dataclass(frozen=True)
class FilePiece:
    """A file, or the lines of one that begin in a range of its bytes."""

    file: DataFile
    start: int = 0
    end: int | None = None

    @property
    def place(self) -> tuple[str, int, int | None]:
        """What identifies the piece."""
        return self.file.path, self.start, self.end

    @property
    def size_bytes(self) -> int:
        """Roughly how much there is to read."""
        return self.file.size_bytes if self.end is None else self.end - self.start


@dataclass(frozen=True)
class TextBlock:
    """A part of a file's text that ends with a record: its bytes, and how many lines of the piece precede it."""

    content: bytes
    lines_before: int
    is_first: bool
    """Whether it begins at the start of the file."""
    encoding: str
    """The encoding of the bytes."""


@dataclass(frozen=True)
class PiecePart:
    """Rows of a piece, and how to read them again with all columns as written."""

    part: FilePart
    own_names: tuple[str, ...]
    """Its columns under the file's names."""
    again: Callable[[], FilePart]


def cut(files: Sequence[DataFile], options: TextOptions, size: int = PIECE_BYTES) -> list[FilePiece]:
    """Cut text files into pieces: large ones by ranges of bytes, if their format allows it."""
    pieces = []
    for file in files:
        whole = file.size_bytes
        if whole < 2 * size or not _can_be_cut(file, options):
            pieces.append(FilePiece(file))
            continue
        starts = range(0, whole, size)
        pieces += [FilePiece(file, start, min(start + size, whole)) for start in starts]
    return pieces


def _can_be_cut(file: DataFile, options: TextOptions) -> bool:
    if file.is_compressed or is_in_zip(file.path) or options.encoding not in _CUT_ANYWHERE:
        return False
    if file.format == "csv":
        return not options.escape
    with translated(file.path, file.format):
        return not json_files.is_whole(file.path, options.encoding)


def dealt(pieces: Sequence[FilePiece]) -> list[list[FilePiece]]:
    """Group neighbouring pieces into works of similar size."""
    sizes = [piece.size_bytes for piece in pieces]
    wanted = min(max(_LEAST_WORK_BYTES, sum(sizes) // _WORK_SHARES), PIECE_BYTES)
    works: list[list[FilePiece]] = []
    filled = 0
    for piece, size in zip(pieces, sizes, strict=True):
        if not works or filled + size / 2 > wanted:
            works.append([])
            filled = 0
        works[-1].append(piece)
        filled += size
    return works


def read_piece(piece: FilePiece, reading: Reading, bad: BadRows) -> Iterator[PiecePart]:
    """Read a piece part by part, under the new column names. A part is valid only until the next.

    Lines of bad rows are counted from the start of the piece.
    """
    file = piece.file
    if piece.end is None and (file.size_bytes <= PIECE_BYTES or _is_one_value(file, reading.options)):
        part = read_part(file, reading, bad)
        yield PiecePart(renamed(part, reading), tuple(part.rows.column_names), again_of(part, reading))
        return
    with translated(file.path, file.format):
        refuse_utf16(file.path, reading.options.encoding)
        head = reading.head(file.path) if file.format == "csv" else None
    for block in _blocks(file, reading.options) if piece.end is None else _range(piece, reading.options, head):
        found = BadRows(kept=None)
        with _kept(block, file) as kept:
            within = _within(reading, block, head)
            with _called(file, kept):
                part = read_part(kept, within, found)
                new = replace(renamed(part, within), file=file)
            yield PiecePart(new, tuple(part.rows.column_names), again_of(part, within))
        bad.add([replace(row, file=file.path, line=row.line + block.lines_before) for row in found.first])


def _within(reading: Reading, block: TextBlock, head: Head | None) -> Reading:
    """How to read a block: only the first one has lines to skip, and a header."""
    skip = reading.options.skip if block.is_first else 0
    known = head if head is None or block.is_first else replace(head, line_count=0)
    return replace(reading, options=replace(reading.options, encoding=block.encoding, skip=skip), block_head=known)


@contextmanager
def _called(file: DataFile, kept: DataFile) -> Iterator[None]:
    """Make errors name the file, not the temporary copy of a block."""
    try:
        yield
    except AnabranchError as error:
        error.message = error.message.replace(kept.path, file.path)
        error.facts["file"] = file.path
        raise


def _is_one_value(file: DataFile, options: TextOptions) -> bool:
    if file.format != "json":
        return False
    with translated(file.path, file.format):
        return json_files.is_whole(file.path, options.encoding)


@contextmanager
def _kept(block: TextBlock, file: DataFile) -> Iterator[DataFile]:
    """Write a block to a temporary file while it is read."""
    with tempfile.NamedTemporaryFile(prefix="anabranch-", suffix=f".{file.format}") as made:
        made.write(block.content)
        made.flush()
        yield replace(file, path=made.name, unpacked_bytes=None)


def count_lines(content: bytes) -> int:
    """Count lines as an editor does."""
    return content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")


def _range(piece: FilePiece, options: TextOptions, head: Head | None) -> Iterator[TextBlock]:
    """The lines that begin in a range, if lines are records; the first range must contain the whole head."""
    block = TextBlock(range_content(piece), 0, piece.start == 0, options.encoding)
    if head:
        skip = options.skip if block.is_first else 0
        with _kept(block, piece.file) as kept:
            is_apart = is_line_by_line(kept.path, replace(options, skip=skip))
        if not is_apart or (block.is_first and count_lines(block.content) < head.line_count):
            raise NotSeparable(piece.file.path)
    if block.content:
        yield block


def range_content(piece: FilePiece) -> bytes:
    """The bytes of the lines that begin in a range."""
    assert piece.end is not None
    with translated(piece.file.path, piece.file.format), open(piece.file.path, "rb") as stream:
        if piece.start:
            stream.seek(piece.start - 1)
            stream.readline()
        begin = stream.tell()
        if begin >= piece.end:
            return b""
        content = stream.read(piece.end - begin)
        return content if content.endswith(b"\n") else content + stream.readline()


def _blocks(file: DataFile, options: TextOptions) -> Iterator[TextBlock]:
    """The text of a file that is one piece, block by block."""
    lines, left = 0, b""
    with translated(file.path, file.format), open_utf8(file.path, options.encoding) as stream:
        while more := _read_fully(stream, PIECE_BYTES):
            content = left + more
            end = _last_end(content, file, replace(options, skip=0 if lines else options.skip, encoding="utf-8"))
            if end:
                yield TextBlock(content[:end], lines, lines == 0, "utf-8")
            lines, left = lines + count_lines(content[:end]), content[end:]
        if left:
            yield TextBlock(left, lines, lines == 0, "utf-8")


def _read_fully(stream: Any, size: int) -> bytes:
    found = []
    while size and (more := stream.read(size)):
        found.append(more)
        size -= len(more)
    return b"".join(found)


def _last_end(content: bytes, file: DataFile, options: TextOptions) -> int:
    """The end of the last record that is certainly complete; 0 if there is none."""
    end, quote = content.rfind(b"\n") + 1, options.quote.encode()
    if file.format == "json" or not quote or quote not in content:
        return end
    if options.escape or options.skip:
        return _end_of_records(content, options)
    odd = content.count(quote, 0, end) % 2
    while end and odd:
        before = content.rfind(b"\n", 0, end - 1) + 1
        odd = (odd + content.count(quote, before, end)) % 2
        end = before
    with _kept(TextBlock(content[:end], 0, True, "utf-8"), file) as kept:
        return end if end and is_plain(kept.path, options) else _end_of_records(content, options)


def _end_of_records(content: bytes, options: TextOptions) -> int:
    """The same, record by record, which is slower; the last record may be incomplete."""
    lines = list(io.TextIOWrapper(io.BytesIO(content), encoding="latin-1", newline=""))
    last = 0
    for record in records_of(lines, options):
        last = record.line - 1
    return sum(map(len, lines[:last]))
