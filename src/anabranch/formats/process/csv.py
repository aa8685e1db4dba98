"""CSV in the process: fast if all is well; otherwise record by record, with line numbers."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from anabranch.errors import InvalidRequest
from anabranch.formats.process.csv_quotes import doubled, is_plain
from anabranch.formats.process.values import misfits
from anabranch.formats.rules.bad_rows import NO_TEXT, BadRow
from anabranch.formats.rules.encodings import CheckedStream, ExtendedStream, lines_of, open_utf8
from anabranch.formats.rules.guesses import delimiter_guess
from anabranch.formats.rules.text import TextOptions

_BLOCK_BYTES = 4 * 1024 * 1024
_LARGEST_BLOCK_BYTES = 2**31 - 1
_CHUNK_BYTES = 8 * 1024 * 1024
_OPEN_QUOTE = "a quote is not closed"
_AFTER_QUOTE = "text follows a quote that closes a field"


@dataclass(frozen=True)
class Head:
    """What the first lines of a file tell: its columns, and where its rows begin."""

    names: tuple[str, ...]
    line_count: int
    unnamed: tuple[int, ...] = ()
    """The places of columns that the header gives no name."""


@dataclass(frozen=True)
class Chunk:
    """Some records of a file: their columns as text, where each began, its own text; and those that cannot be read."""

    columns: pa.Table
    lines: Sequence[int]
    texts: Sequence[str]
    bad: Sequence[BadRow]


class Record(NamedTuple):
    """One record: where it begins, its text, and whether its quotes are closed, which only the last's may not be."""

    line: int
    text: str
    is_closed: bool


def read_head(path: str, options: TextOptions) -> Head:
    """Read the names of the columns: from the header, or c0, c1 … without one."""
    with lines_of(path, options.encoding) as lines:
        records = records_of(lines, options)
        first = next(records, None)
        if first is None:
            raise InvalidRequest(f"{path!r} can't be read as csv: it is empty", hint="check the file and its format")
    if options.header and not first.is_closed:
        raise InvalidRequest(f"{path}:{first.line}: {_OPEN_QUOTE}", hint="check the header", file=path)
    text = doubled(first.text, options) if first.is_closed else first.text + options.quote
    if options.header and text is None:
        raise InvalidRequest(f"{path}:{first.line}: {_AFTER_QUOTE}", hint="check the header", file=path)
    fields = _fields(text or first.text, options)
    if not options.header:
        return Head(tuple(f"c{i}" for i in range(len(fields))), options.skip)
    names = tuple(name.strip() or f"c{i}" for i, name in enumerate(fields))
    _refuse_repeated_names(names, path)
    unnamed = tuple(i for i, name in enumerate(fields) if not name.strip())
    return Head(names, first.line - 1 + len(first.text.splitlines()), unnamed)


def read_quickly(path: str, names: Sequence[str], line_count: int, options: TextOptions) -> pa.Table | None:
    """Read all rows as text; None if some cannot be read, and must be searched for."""
    if not is_plain(path, options):
        return None
    # A sentinel row with one field too many is reported as invalid, unless an unclosed quote swallows it.
    last = options.delimiter * len(names)
    odd: list[str] = []

    def note(row: pyarrow.csv.InvalidRow) -> str:
        odd.append(row.text)
        return "skip"

    parse = _parse_options(options, note)
    size = _BLOCK_BYTES
    while True:
        read = pyarrow.csv.ReadOptions(column_names=list(names), skip_rows=line_count, block_size=size)
        try:
            with open_utf8(path, options.encoding) as stream:
                # Arrow can't hand an invalid row to `note` unless it is UTF-8.
                followed = ExtendedStream(CheckedStream(stream), f"\n{last}".encode())
                found = pyarrow.csv.read_csv(followed, read, parse, _as_bytes(names))
            return _null_texts(_decoded(found), options) if odd == [last] else None
        except UnicodeDecodeError:
            return None
        except pa.ArrowInvalid:
            # A record may exceed the block, so retry with a larger one; other faults are searched for.
            if odd or size >= _LARGEST_BLOCK_BYTES:
                return None
            size = min(size * 16, _LARGEST_BLOCK_BYTES)


def read_carefully(path: str, names: Sequence[str], line_count: int, options: TextOptions) -> Iterator[Chunk]:
    """Read record by record; each chunk knows the lines of its rows."""
    with lines_of(path, options.encoding) as lines:
        records = (record for record in records_of(lines, options) if record.line > line_count)
        while some := _take(records, _CHUNK_BYTES):
            yield _chunk(path, some, names, options)


def _quote_error(record: Record, options: TextOptions) -> str | None:
    if not record.is_closed:
        return _OPEN_QUOTE
    return _AFTER_QUOTE if doubled(record.text, options) is None else None


def _chunk(path: str, taken: Sequence[Record], names: Sequence[str], options: TextOptions) -> Chunk:
    errors = [_quote_error(record, options) for record in taken]
    records = [record for record, error in zip(taken, errors, strict=True) if not error]
    left = [BadRow(path, r.line, error, _shown(r.text)) for r, error in zip(taken, errors, strict=True) if error]
    if not records:
        return Chunk(pa.table({name: pa.array([], pa.string()) for name in names}), [], [], left)
    found, odd = _parsed(records, names, options)
    if found.num_rows + len(odd) != len(records):
        raise InvalidRequest(f"{path!r} can't be read as csv: its quotes do not match", hint="check quote and escape")
    kept = [i for i in range(len(records)) if i not in odd]
    undecodable = _undecodable(found)
    odd |= {kept[i]: error for i, error in undecodable.items()}
    columns = _null_texts(_decoded(without(found, undecodable)), options)
    guess = delimiter_guess(names[0], options) if len(names) == 1 else None
    advice = f"the file seems to need {guess}" if guess else None
    bad = [
        BadRow(path, records[i].line, error, _shown(records[i].text), advice=advice) for i, error in sorted(odd.items())
    ]
    whole = [records[i] for i in range(len(records)) if i not in odd]
    return Chunk(columns, [record.line for record in whole], [_shown(record.text) for record in whole], [*bad, *left])


def _parsed(records: Sequence[Record], names: Sequence[str], options: TextOptions) -> tuple[pa.Table, dict[int, str]]:
    """The fields of records as bytes, without the records whose number of fields is wrong; and those, by place."""
    odd: dict[int, str] = {}

    def note(row: pyarrow.csv.InvalidRow) -> str:
        place = row.number - 1
        error = f"it has {row.actual_columns} of {row.expected_columns} fields"
        odd[place] = error if _is_utf8(records[place].text) else f"{error}, and is {NO_TEXT}"
        return "skip"

    text = "".join(doubled(record.text, options) or "" for record in records)
    # Arrow can't hand an invalid row to `note` unless it is UTF-8; as characters, all bytes are.
    as_characters = not _is_utf8(text)
    content = text.encode("utf-8" if as_characters else "latin-1")
    read = pyarrow.csv.ReadOptions(column_names=list(names), use_threads=False, block_size=len(content) + 1)
    found = pyarrow.csv.read_csv(pa.BufferReader(content), read, _parse_options(options, note), _as_bytes(names))
    return _as_bytes_again(found) if as_characters else found, odd


def _is_utf8(text: str) -> bool:
    """Whether text that has a character for each byte is UTF-8."""
    try:
        text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _as_bytes_again(found: pa.Table) -> pa.Table:
    """Each character of each field as one byte."""
    columns = {
        name: pa.array([v and v.decode("utf-8").encode("latin-1") for v in found.column(name).to_pylist()], pa.binary())
        for name in found.column_names
    }
    return pa.table(columns)


def without(rows: pa.Table, places: Collection[int]) -> pa.Table:
    """The rows other than those at these places."""
    kept = [i for i in range(rows.num_rows) if i not in places]
    return rows.take(pa.array(kept, pa.int64())) if places else rows


def _undecodable(found: pa.Table) -> dict[int, str]:
    bad: dict[int, str] = {}
    for name in found.column_names:
        for place in misfits(found.column(name), lambda part: part.cast(pa.string())):
            bad.setdefault(place, f"column {name!r} is {NO_TEXT}")
    return bad


def _shown(text: str) -> str:
    """A record's text, decoded; bytes that are not text are kept."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape").rstrip("\r\n")


def records_of(lines: Iterable[str], options: TextOptions) -> Iterator[Record]:
    """Join lines into records, since a quoted field may contain line ends. Empty lines are skipped."""
    numbered = enumerate(lines, 1)
    for number, line in itertools.islice(numbered, options.skip, None):
        quoted, parts = _ends_quoted(line, options), [line]
        while quoted:
            following = next(numbered, None)
            if following is None:
                break
            parts.append(following[1])
            quoted = _ends_quoted(following[1], options, quoted=True)
        text = "".join(parts)
        if text.strip("\r\n"):
            yield Record(number, text, not quoted)


def _ends_quoted(line: str, options: TextOptions, quoted: bool = False) -> bool:
    """Whether a quoted field is still open at the end of a line."""
    quote, delimiter, escape = options.quote, options.delimiter, options.escape
    if not quote or (not quoted and quote not in line):
        return False
    at_start, i = not quoted, 0
    while i < len(line):
        ch = line[i]
        if quoted and ch == escape:
            i += line[i + 1 : i + 2] in (quote, escape)
        elif quoted and ch == quote:
            quoted = line[i + 1 : i + 2] == quote and not escape
            i += quoted
        elif not quoted:
            quoted = at_start and ch == quote
        at_start = ch == delimiter and not quoted
        i += 1
    return quoted


def _take(records: Iterator[Record], size: int) -> list[Record]:
    taken, length = [], 0
    for record in records:
        taken.append(record)
        length += len(record.text)
        if length >= size:
            break
    return taken


def _fields(text: str, options: TextOptions) -> list[str]:
    """The fields of one record."""
    read = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    content = io.BytesIO(text.encode("latin-1") + b"\n")
    found = pyarrow.csv.read_csv(content, read, _parse_options(options))
    names = found.column_names
    again = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[])
    content.seek(0)
    row = pyarrow.csv.read_csv(content, read, _parse_options(options), again).to_pylist()[0]
    return [row[name] or "" for name in names]


def _parse_options(
    options: TextOptions, handler: Callable[[pyarrow.csv.InvalidRow], str] | None = None
) -> pyarrow.csv.ParseOptions:
    return pyarrow.csv.ParseOptions(
        delimiter=options.delimiter,
        quote_char=options.quote or False,
        double_quote=bool(options.quote),
        newlines_in_values=True,
        invalid_row_handler=handler,
    )


def _as_bytes(names: Sequence[str]) -> pyarrow.csv.ConvertOptions:
    return pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.binary()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        check_utf8=False,
    )


def _decoded(found: pa.Table) -> pa.Table:
    return found.cast(pa.schema([(name, pa.string()) for name in found.column_names]))


def _null_texts(found: pa.Table, options: TextOptions) -> pa.Table:
    """Make the given texts null, quoted or not."""
    if not options.nulls:
        return found
    nulls = pa.array(options.nulls, pa.string())
    arrays = [pc.if_else(pc.is_in(column, nulls), None, column) for column in found.columns]
    return pa.table(dict(zip(found.column_names, arrays, strict=True)))


def _refuse_repeated_names(names: Sequence[str], path: str) -> None:
    for i, name in enumerate(names):
        if name.lower() in (other.lower() for other in names[:i]):
            raise InvalidRequest(f"{path!r} has two columns {name!r}", hint="rename one in its header", file=path)
