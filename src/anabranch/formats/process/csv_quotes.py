"""Quotes in CSV: whether they are where they should be, and escaped quotes rewritten as doubled ones."""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator
from functools import cache

from anabranch.formats.rules.encodings import lines_of, open_utf8
from anabranch.formats.rules.text import TextOptions

_BLOCK_BYTES = 1024 * 1024
_BLOCK_LINES = 20_000


def is_plain(path: str, options: TextOptions) -> bool:
    """Whether each quote of a file begins a field, ends one, or is doubled inside one, and nothing is escaped.

    A file that is not plain may still be well-formed, since unquoted fields may contain quotes.
    """
    if not options.quote:
        return True
    quote, misplaced = options.quote, _misplaced(options)
    for pieces in _between(path, options):
        different = set(pieces)
        doubles = bool(options.escape) and "" in different
        if doubles or misplaced.search(f"{quote}{quote.join(different)}{quote}"):
            return False
    return not options.escape or not _has(path, options, options.escape)


@cache
def _misplaced(options: TextOptions) -> re.Pattern[str]:
    """Matches a quote next to anything but a field boundary or another quote."""
    other = f"[^{re.escape(options.delimiter)}{re.escape(options.quote)}\r\n]"
    quote = re.escape(options.quote)
    return re.compile(f"{quote}(?:{other}|(?<={other}{quote}))")


def is_line_by_line(path: str, options: TextOptions) -> bool:
    """Whether a file is plain, its quotes are closed, and none of them contains a line end."""
    if not options.quote:
        return True
    is_outside = True
    for block in _blocks(path, options):
        pieces = block.split(options.quote)
        if any("\n" in piece for piece in pieces[1 if is_outside else 0 :: 2]):
            return False
        is_outside = is_outside == (len(pieces) % 2 == 1)
    return is_outside and is_plain(path, options)


def _between(path: str, options: TextOptions) -> Iterator[list[str]]:
    """The pieces between quoted fields, empty for a doubled quote; as if the file began and ended with a delimiter."""
    is_outside, left = True, options.delimiter
    for block in _blocks(path, options):
        pieces = (left + block).split(options.quote)
        left = pieces.pop()
        yield pieces[0 if is_outside else 1 :: 2]
        is_outside = is_outside == (len(pieces) % 2 == 0)
    if is_outside and left:
        yield [left + options.delimiter]


def _blocks(path: str, options: TextOptions) -> Iterator[str]:
    """The text of a file after the lines to skip, escapes masked, each byte as one character."""
    if not options.skip and not options.escape:
        with open_utf8(path, options.encoding) as stream:
            yield stream.read(_BLOCK_BYTES).removeprefix(codecs.BOM_UTF8).decode("latin-1")
            while block := stream.read(_BLOCK_BYTES):
                yield block.decode("latin-1")
        return
    with lines_of(path, options.encoding) as lines:
        wanted = itertools.islice(lines, options.skip, None)
        while some := "".join(itertools.islice(wanted, _BLOCK_LINES)):
            yield _escapes(options).sub("__", some) if options.escape else some


def _has(path: str, options: TextOptions, character: str) -> bool:
    with lines_of(path, options.encoding) as lines:
        return any(character in line for line in lines)


def doubled(record: str, options: TextOptions) -> str | None:
    """A record with quotes doubled instead of escaped; None if text follows a closing quote."""
    if not options.quote or options.quote not in record:
        return record
    fields = list(_field(options).finditer(record))
    is_whole = "".join(field[0] for field in fields) == record
    if not is_whole or any((field["plain"] or "").startswith(options.quote) for field in fields):
        return None
    return "".join(_doubled_field(field, options) for field in fields) if options.escape else record


def _doubled_field(field: re.Match[str], options: TextOptions) -> str:
    if field["quoted"] is None:
        return field[0]
    inner = _escapes(options).sub(r"\1", field["quoted"]).replace(options.quote, options.quote * 2)
    return f"{options.quote}{inner}{options.quote}{field['end']}"


@cache
def _escapes(options: TextOptions) -> re.Pattern[str]:
    """Matches an escape before a quote or before itself; elsewhere it is plain text."""
    quote, escape = re.escape(options.quote), re.escape(options.escape or "")
    return re.compile(f"{escape}([{quote}{escape}])")


@cache
def _field(options: TextOptions) -> re.Pattern[str]:
    """Matches a field and what ends it."""
    quote, delimiter = re.escape(options.quote), re.escape(options.delimiter)
    escape = re.escape(options.escape or options.quote)
    alone = f"|{escape}" if options.escape else ""
    quoted = f"{quote}(?P<quoted>(?:[^{quote}{escape}]++|{escape}[{quote}{escape}]{alone})*+){quote}"
    return re.compile(rf"(?:{quoted}|(?P<plain>[^{delimiter}\r\n]*+))(?P<end>{delimiter}|[\r\n]+\Z|\Z)")
