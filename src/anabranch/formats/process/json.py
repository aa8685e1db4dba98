"""JSON in the process: an object per line, an array of objects, or one object; fast if all is well, else row by row."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from anabranch.arrow.types import arrow_type
from anabranch.errors import InvalidRequest
from anabranch.formats.rules.bad_rows import NO_TEXT
from anabranch.formats.rules.encodings import lines_of, open_utf8
from anabranch.formats.rules.json_shapes import ARRAY, BEYOND, NULL, OBJECT, TEXT, TRUTH, JsonPath, Kinds, number_kind
from anabranch.formats.rules.text import LONG_FROM
from anabranch.model.types import DataType

_BLOCK_BYTES = 16 * 1024 * 1024
_LARGEST_BLOCK_BYTES = 2**31 - 1
_CHUNK_ROWS = 50_000
_LARGEST_OBJECT_BYTES = 16 * 1024 * 1024
"""The size limit for a file that is one object over several lines."""
_OPEN, _CLOSE = b"{}"
_BLANKS = " \t\r\n"
_AS_TEXT = ("date", "timestamp", "timestamp_ntz", "binary")
"""Types that are text in JSON; converted like the text of CSV."""


@dataclass(frozen=True)
class JsonRow:
    """One object of a file: where it begins, its text, and its values or what is wrong with it."""

    line: int
    text: str
    values: Mapping[str, Any] | None
    error: str = ""

    @cached_property
    def written(self) -> Mapping[str, str]:
        """The values as written."""
        found: dict[str, str] = {}
        place = _blank(self.text, 1)
        while self.text[place] != "}":
            key, end = _DECODER.raw_decode(self.text, place)
            start = _blank(self.text, _blank(self.text, end) + 1)
            _, end = _DECODER.raw_decode(self.text, start)
            found[key] = self.text[start:end]
            place = _blank(self.text, end)
            place = _blank(self.text, place + 1) if self.text[place] == "," else place
        return found

    def text_of(self, name: str) -> str | None:
        """The value of a key as text: a string's content, anything else as written."""
        value = (self.values or {}).get(name)
        return value if value is None or isinstance(value, str) else self.written[name]


_DECODER = json.JSONDecoder()


def read_quickly(path: str, types: Mapping[str, DataType], encoding: str) -> pa.Table | None:
    """Read objects on lines of their own; None if that does not work. Times stay text."""
    with open_utf8(path, encoding) as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] in (b"[", b"") or len(content) > _LARGEST_BLOCK_BYTES:
        return None
    known = {name: pa.string() if t.name in _AS_TEXT else arrow_type(t) for name, t in types.items()}
    try:
        found = _parse(content, known)
        texts = {f.name: _without_times(f.type) for f in found.schema}
        times = {f.name: texts[f.name] for f in found.schema if texts[f.name] != f.type}
        found = _parse(content, known | times).select(found.column_names) if times else found
        found.validate(full=True)  # Checks that text is UTF-8.
    except pa.ArrowException:
        return None
    if not _are_on_lines(content, found.num_rows) or any(found.schema.field(n).type != t for n, t in known.items()):
        return None
    if any(_is_long(found.column(name)) for name in found.column_names if name not in types):
        return None
    empty = [name for name in known if found.column(name).null_count == found.num_rows]
    return found.drop_columns([name for name in empty if name not in _keys(content)]) if empty else found


def _without_times(type_: pa.DataType) -> pa.DataType:
    """Replace times by text in a type, nested ones too: Arrow took text for times."""
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(_without_times(f.type)) for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_without_times(type_.value_type)))
    return pa.string() if pa.types.is_timestamp(type_) else type_


def _parse(content: bytes, types: Mapping[str, pa.DataType]) -> pa.Table:
    read = pyarrow.json.ReadOptions(block_size=max(_BLOCK_BYTES, len(content)))
    parse = pyarrow.json.ParseOptions(explicit_schema=pa.schema(dict(types)) if types else None)
    return pyarrow.json.read_json(pa.BufferReader(content), read_options=read, parse_options=parse)


def _are_on_lines(content: bytes, count: int) -> bool:
    """Whether so many objects are on one line each; Arrow also accepts several per line, or one over several."""
    found = 0
    for line in map(bytes.strip, io.BytesIO(content)):
        if line:
            found += 1
            if line[0] != _OPEN or line[-1] != _CLOSE or b"\r" in line:
                return False
    return found == count


def _is_long(column: pa.ChunkedArray) -> bool:
    """Whether a column has doubles, nested ones too, so large that digits may be lost."""
    type_ = column.type
    if pa.types.is_struct(type_):
        return any(_is_long(pc.struct_field(column, [i])) for i in range(type_.num_fields))
    if pa.types.is_list(type_):
        return _is_long(pc.list_flatten(column))
    return pa.types.is_floating(type_) and bool(pc.any(pc.greater_equal(pc.abs(column), LONG_FROM)).as_py())


def _keys(content: bytes) -> set[str]:
    """The keys that occur: a declared column that no row names is absent, not null."""
    return {key for line in content.splitlines() if line.strip() for key in json.loads(line)}


def is_whole(path: str, encoding: str) -> bool:
    """Whether a file is one value, an array or an object, rather than one per line."""
    with lines_of(path, encoding) as lines:
        first = next((line for line in lines if line.strip()), "").strip()
    return first.startswith("[") or (first.startswith("{") and not _is_object(first) and _is_one_object(path, encoding))


def _is_one_object(path: str, encoding: str) -> bool:
    with open_utf8(path, encoding) as stream:
        content = stream.read(_LARGEST_OBJECT_BYTES + 1).removeprefix(b"\xef\xbb\xbf")
    return len(content) <= _LARGEST_OBJECT_BYTES and _is_object(content.decode("latin-1"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def read_carefully(path: str, encoding: str) -> Iterator[list[JsonRow]]:
    """Read row by row; a row that cannot be read says why."""
    rows = _elements(path, encoding) if is_whole(path, encoding) else _lines(path, encoding)
    some: list[JsonRow] = []
    for row in rows:
        some.append(row)
        if len(some) >= _CHUNK_ROWS:
            yield some
            some = []
    if some:
        yield some


def _lines(path: str, encoding: str) -> Iterator[JsonRow]:
    with lines_of(path, encoding) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(number, line.strip().encode("latin-1"))


class Scientific(Decimal):
    """A number written with an exponent."""


def _fraction(text: str) -> Decimal:
    return Scientific(text) if "e" in text or "E" in text else Decimal(text)


class _Objects:
    """Makes objects of pairs, and remembers a repeated key."""

    def __init__(self) -> None:
        self.repeated_key: str | None = None

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            self.repeated_key = next(k for k in keys if keys.count(k) > 1)
        return found


def _row(number: int, content: bytes) -> JsonRow:
    shown = content.decode("utf-8", "surrogateescape")
    objects = _Objects()
    try:
        value = json.loads(content.decode("utf-8"), parse_float=_fraction, object_pairs_hook=objects)
    except UnicodeDecodeError:
        return JsonRow(number, shown, None, NO_TEXT)
    except (ValueError, RecursionError) as error:
        return JsonRow(number, shown, None, f"not JSON: {error}")
    return _checked(number, shown, value, objects.repeated_key)


def _checked(number: int, shown: str, value: Any, duplicate: str | None) -> JsonRow:
    if not isinstance(value, dict):
        return JsonRow(number, shown, None, f"{_KINDS.get(type(value), 'null')}, an object was expected")
    if duplicate is not None:
        return JsonRow(number, shown, None, f"it has the key {duplicate!r} twice")
    if "\\u" in shown and _has_half(value):
        return JsonRow(number, shown, None, "it has half of a character that is two escapes")
    return JsonRow(number, shown, value)


def _has_half(value: Any) -> bool:
    """Whether a text in a value has a lone surrogate: half of a pair of escapes."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


_KINDS: dict[type, str] = {list: "an array", str: "a text", int: "a number", Decimal: "a number", bool: "a boolean"}


def _elements(path: str, encoding: str) -> Iterator[JsonRow]:
    """The elements of one array. A mistake hides the elements after it, so the file is refused."""
    with open_utf8(path, encoding) as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    start = _blank(content, 0)
    line = 1 + content.count("\n", 0, start)
    if content[start] == "{":
        yield _row(line, content.strip(_BLANKS).encode("utf-8"))
        return
    objects = _Objects()
    decoder = json.JSONDecoder(parse_float=_fraction, object_pairs_hook=objects)
    place, counted = _blank(content, start + 1), start
    is_over = content[place : place + 1] == "]"
    try:
        while not is_over:
            line += content.count("\n", counted, place)
            counted = place
            objects.repeated_key = None
            value, end = decoder.raw_decode(content, place)
            yield _checked(line, content[place:end], value, objects.repeated_key)
            place = _blank(content, end)
            if content[place : place + 1] not in (",", "]"):
                raise json.JSONDecodeError("a comma or ] was expected", content, place)
            is_over = content[place] == "]"
            place = place if is_over else _blank(content, place + 1)
        if (rest := _blank(content, place + 1)) < len(content):
            raise json.JSONDecodeError("nothing was expected after the array", content, rest)
    except (json.JSONDecodeError, RecursionError) as error:
        where = getattr(error, "lineno", line)
        message = f"{path}:{where}: the array can't be read as json: {error}"
        raise InvalidRequest(
            message, hint="check the file; objects on lines of their own can be read one by one"
        ) from error


def _blank(content: str, place: int) -> int:
    """Skip blanks, and return the place after them."""
    while place < len(content) and content[place] in _BLANKS:
        place += 1
    return place


_MOST_DIGITS = 38
_BIGINT = range(-(2**63), 2**63)


def kinds_of(value: Any, place: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """The kinds of a value and of everything in it."""
    yield place, _kind(value)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from kinds_of(inner, (*place, name))
    elif isinstance(value, list):
        for inner in value:
            yield from kinds_of(inner, (*place, None))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int):
        return number_kind(value, is_whole=True) if value in _BIGINT else BEYOND
    if isinstance(value, (Decimal, float)):
        return number_kind(float(value), is_exact=isinstance(value, Decimal) and _is_exact(value))
    return _KIND_OF.get(type(value), NULL)


def _is_exact(value: Decimal) -> bool:
    """Whether Spark's variants, which tell the kinds there, would hold a number as a decimal."""
    _, digits, exponent = value.as_tuple()
    return not isinstance(value, Scientific) and len(digits) <= _MOST_DIGITS and -int(exponent) <= _MOST_DIGITS


_KIND_OF: dict[type, str] = {str: TEXT, dict: OBJECT, list: ARRAY}


def column_kinds(column: pa.ChunkedArray, place: JsonPath) -> Kinds:
    """The kinds of values in a column that Arrow read from JSON."""
    type_ = column.type
    if pa.types.is_struct(type_):
        found: Kinds = {(place, OBJECT)}
        for i, inner in enumerate(type_):
            found |= column_kinds(pc.struct_field(column, [i]), (*place, inner.name))
        return found
    if pa.types.is_list(type_):
        return {(place, ARRAY)} | column_kinds(pc.list_flatten(column), (*place, None))
    return {(place, kind) for kind in _plain_kinds(column)}


def _plain_kinds(column: pa.ChunkedArray) -> set[str]:
    if column.null_count == len(column):
        return {NULL}
    if pa.types.is_boolean(column.type):
        return {TRUTH}
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return {TEXT}
    ends = pc.min_max(column).as_py()
    return {number_kind(end, is_whole=pa.types.is_integer(column.type)) for end in ends.values()}
