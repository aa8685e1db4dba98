"""Which text stands for which value in files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType

WHOLE = DataType("decimal", 38)
"""Tried for whole numbers beyond bigint: a decimal with as many digits as they have."""
EXACT = DataType("decimal")
"""Tried for numbers that a double would round: a decimal with as many digits and places as they have."""
NUMBERS = (DataType("bigint"), WHOLE, DataType("double"), EXACT)
"""What numbers are tried as, in this order."""
_MOST_DIGITS = 38
_TIMES = tuple(DataType(name) for name in ("date", "timestamp_ntz", "timestamp"))

TRUE_WORDS = ("true", "t", "yes", "y", "1")
FALSE_WORDS = ("false", "f", "no", "n", "0")
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"
LONG = r"^[+-]?0*[1-9][0-9]{15,}(\.[0-9]*)?$"
"""Numbers with more digits before the point than a double is sure to keep."""
LONG_FROM = 10**15
"""The least of them."""
LONG_DIGITS = 16
"""How many digits the least of them has."""
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PATTERNS = {
    "float": rf"^({_NUMBER}([eE][+-]?[0-9]+)?|(?i:[+-]?(inf|infinity)|nan))$",
    "boolean": "^(?i:true|false)$",
    "date": DATE,
    "timestamp_ntz": f"^{_TIME}$",
    "timestamp": f"^{_TIME}{ZONE}$",
    "binary": "^([0-9a-fA-F]{2})*$",
    "decimal": f"^{_NUMBER}$",
}
ENCODINGS = {"utf-8": "utf-8", "latin-1": "latin-1", "cp1252": "cp1252", "utf-16": "utf-16"}
_ENCODING_ALIASES = {
    "utf8": "utf-8",
    "utf-8-sig": "utf-8",
    "latin1": "latin-1",
    "iso-8859-1": "latin-1",
    "windows-1252": "cp1252",
    "utf16": "utf-16",
}


@dataclass(frozen=True)
class TextOptions:
    """How values are written in the text of files."""

    delimiter: str = ","
    header: bool = True
    quote: str = '"'
    escape: str | None = None
    nulls: tuple[str, ...] = ()
    """Texts that stand for null; an empty unquoted field always does."""
    encoding: str = "utf-8"
    skip: int = 0
    """How many lines to skip before the header."""
    decimal_comma: bool = False
    date_format: str | None = None
    timestamp_format: str | None = None


def check_options(options: TextOptions) -> TextOptions:
    """Normalize the values of options, and refuse those that no reader supports."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(options.delimiter, options.delimiter)
    quote = "" if options.quote == "none" else options.quote
    _single(delimiter, "delimiter", "such as ';', '|' or tab")
    if quote:
        _single(quote, "quote", 'such as "\'", or none')
    if options.escape is not None:
        _single(options.escape, "escape", "such as '\\'")
    if quote == delimiter:
        raise InvalidRequest(f"the delimiter and the quote are both {quote!r}", hint="choose two different characters")
    for pattern in (options.date_format, options.timestamp_format):
        if pattern is not None:
            _check_format(pattern)
    # A quote as the escape is the same as doubling quotes.
    escape = None if options.escape == quote or not quote else options.escape
    changed = {"delimiter": delimiter, "quote": quote, "escape": escape, "encoding": _encoding(options.encoding)}
    return TextOptions(**{**vars(options), **changed})


def inferred(options: TextOptions, *, times_only: bool = False) -> tuple[DataType, ...]:
    """The types that the text of an undeclared column is tried as, in order; what fits none stays text.

    With `times_only`, as for JSON, whose numbers are not text, only times. Types with a given format go first.
    """
    given = {
        "date": options.date_format,
        "timestamp_ntz": options.timestamp_format,
        "timestamp": options.timestamp_format,
    }
    first = tuple(t for t in _TIMES if given[t.name])
    return (*first, *(() if times_only else (*NUMBERS, DataType("boolean"))), *(t for t in _TIMES if t not in first))


def value_pattern(type_: DataType, *, inferring: bool = False) -> str | None:
    """A regular expression for the texts that are values of a type; None if any text is."""
    if type_.is_integer:
        return "^[+-]?[0-9]{1,19}$"
    if type_.name == "boolean" and not inferring:
        return f"^(?i:{'|'.join((*TRUE_WORDS, *FALSE_WORDS))})$"
    if type_.name == "double":
        return _PATTERNS["float"]
    if type_ == WHOLE and inferring:
        return "^[+-]?[0-9]+$"
    return _PATTERNS.get(type_.name)


def decimal_of(digits: int, places: int) -> DataType | None:
    """The decimal with so many digits before and after the point, if there is one."""
    precision = max(digits + places, 1)
    return DataType("decimal", precision, places) if precision <= _MOST_DIGITS else None


def looks_like(text: str, type_: DataType) -> bool:
    """Whether a text could be a value of an inferred type; the cast has the last word."""
    pattern = value_pattern(type_, inferring=True)
    return pattern is None or re.search(pattern, text.strip(" \t"), re.ASCII) is not None


_LETTERS = tuple("YmdHIMSfpbBz")
"""The directives of strptime that a format may use."""


def _check_format(pattern: str) -> None:
    known = ", ".join(f"%{letter}" for letter in _LETTERS)
    for letter in re.findall(r"%(.?)", pattern, re.DOTALL):
        if letter not in _LETTERS:
            hint = f"known are {known}"
            raise InvalidRequest(f"the format {pattern!r} has %{letter}, which is not known", hint=hint)
    if "%" not in pattern:
        raise InvalidRequest(f"the format {pattern!r} has no % in it", hint=f"such as %d/%m/%Y; known are {known}")


def _single(text: str, what: str, hint: str) -> None:
    if len(text) != 1 or not text.isascii() or text in "\r\n":
        raise InvalidRequest(f"the {what} is {text!r}, one plain character was expected", hint=hint)


def _encoding(name: str) -> str:
    plain = name.strip().lower().replace("_", "-")
    found = ENCODINGS.get(_ENCODING_ALIASES.get(plain, plain))
    if found is None:
        raise InvalidRequest(f"there is no encoding {name!r}", hint=f"known are {', '.join(ENCODINGS)}")
    return found
