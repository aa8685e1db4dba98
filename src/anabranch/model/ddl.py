"""Parse types from Spark's DDL text: nested to any sensible depth, with keywords in any case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from anabranch.errors import InvalidRequest
from anabranch.model.types import MONTH_UNITS, PLAIN, TIME_UNITS, DataType, array_of, map_of, struct_of

_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "text": "string",
    "bool": "boolean",
    "timestamp_ltz": "timestamp",
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_CHARS = ("char", "varchar", "character")
_REFUSED = {
    "void": "give it a type, or leave it out: a column of nothing but nulls has none",
    "time": "Spark itself does not store it; keep an interval, a timestamp or text",
    "geometry": "keep its WKB form in a binary column",
    "geography": "keep its WKB form in a binary column",
    "object": "it lives in Spark's memory only",
    "udt": "keep the type that it is made of",
    "interval": "Spark does not store it; choose interval day to second or interval year to month",
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|'(?:[^'\\]|\\.|'')*'|[^\s<>(),:`']+|[<>(),:])")
_STRING = r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*\""""
_PIECE = re.compile(rf"--[^\n]*|{_STRING}|`(?:[^`]|``)*`|\w+|\S", re.DOTALL)
"""A comment, a text, a name in backticks, a word, or any other character."""
_DEEPEST = 50
_HINT = f"supported: {', '.join(PLAIN)}, decimal(p,s), intervals, array<…>, map<…,…>, struct<name:…>"


def parse_type(text: str) -> DataType:
    """Parse a type from Spark's DDL text; the error lists the types that exist."""
    type_, rest = parse_type_before(text)
    if rest.strip():
        raise InvalidRequest(f"{text!r} is not a type that a column can have", hint=_HINT)
    return type_


def parse_type_before(text: str) -> tuple[DataType, str]:
    """Parse the type that a text starts with, and return what comes after it."""
    reader = _TypeReader(text)
    type_ = reader.type(0)
    return type_, text[reader.at :]


@dataclass
class _TypeReader:
    text: str
    at: int = 0

    def type(self, depth: int) -> DataType:
        word = self._word()
        name = _ALIASES.get(word, word)
        if depth > _DEEPEST:
            raise InvalidRequest(f"a type is nested more than {_DEEPEST} deep", hint="make it flatter")
        if name == "decimal":
            return self._decimal()
        if name in _CHARS and self._numbers():
            return DataType("string")
        if name == "interval" and self._peek().lower() in (*MONTH_UNITS, *TIME_UNITS):
            return self._interval()
        if name in ("array", "map", "struct") and self._peek() == "<":
            return self._nested(name, depth)
        if name in _REFUSED:
            raise InvalidRequest(f"a column of type {name} can't be versioned", hint=_REFUSED[name])
        if name in PLAIN:
            return self._plain(name)
        raise self._wrong()

    def _plain(self, name: str) -> DataType:
        if name == "timestamp" and self._take_words("without", "time", "zone"):
            return DataType("timestamp_ntz")
        if name == "timestamp":
            self._take_words("with", "local", "time", "zone")
        if name == "string" and self._take_words("collate"):
            collation = self._word()
            if collation != "utf8_binary":
                hint = "texts are compared byte by byte; cast it to string collate UTF8_BINARY"
                raise InvalidRequest(f"text with the collation {collation} can't be versioned", hint=hint)
        return DataType(name)

    def _nested(self, name: str, depth: int) -> DataType:
        self._expect("<")
        if name == "struct":
            found = struct_of(self._fields(depth))
        elif name == "map":
            key = self.type(depth + 1)
            self._expect(",")
            found = map_of(key, self.type(depth + 1))
        else:
            found = array_of(self.type(depth + 1))
        self._expect(">")
        return found

    def _fields(self, depth: int) -> list[tuple[str, DataType]]:
        fields: list[tuple[str, DataType]] = []
        while self._peek() != ">":
            if fields:
                self._expect(",")
            name = self._name()
            if self._peek() == ":":
                self._next()
            fields.append((name, self.type(depth + 1)))
            if self._take_words("not", "null"):
                hint = "say NOT NULL of the whole column, or leave it out"
                raise InvalidRequest(f"field {name!r} of a struct can't be NOT NULL", hint=hint)
            if self._take_words("comment"):
                self._next()
        return fields

    def _decimal(self) -> DataType:
        precision, scale = (*(self._numbers() or (10,)), 0)[:2]
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            message = f"{self.text[:200]!r} is not a decimal that Spark has"
            raise InvalidRequest(message, hint="precision 1 to 38, scale 0 to precision")
        return DataType("decimal", precision, scale)

    def _interval(self) -> DataType:
        first = self._word()
        units = MONTH_UNITS if first in MONTH_UNITS else TIME_UNITS
        if self._take_words("to"):
            last = self._word()
            if last not in units or units.index(last) <= units.index(first):
                raise self._wrong()
            return DataType(f"interval {first} to {last}")
        return DataType(f"interval {first}")

    def _numbers(self) -> tuple[int, ...]:
        """One or two numbers in brackets, if there are brackets."""
        if self._peek() != "(":
            return ()
        self._next()
        found = [self._number()]
        if self._peek() == ",":
            self._next()
            found.append(self._number())
        self._expect(")")
        return tuple(found)

    def _number(self) -> int:
        digits = self._next()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            raise self._wrong()
        return int(digits)

    def _name(self) -> str:
        token = self._next()
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not token or token[0] in "<>(),:'":
            raise self._wrong()
        return token

    def _word(self) -> str:
        return self._next().lower()

    def _take_words(self, *words: str) -> bool:
        """Step over these words, if they come next."""
        start = self.at
        for word in words:
            if self._word() != word:
                self.at = start
                return False
        return True

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise self._wrong()

    def _peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def _next(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[1]

    def _wrong(self) -> InvalidRequest:
        return InvalidRequest(f"{self.text[:200]!r} is not a type that a column can have", hint=_HINT)


def split_columns(text: str) -> list[str]:
    """Split `id bigint NOT NULL, tags array<string> DEFAULT array('a', 'b')` at its commas."""
    depth, ends = 0, []
    for piece in _PIECE.finditer(text):
        depth += (piece[0] in ("(", "<", "[")) - (piece[0] in (")", ">", "]"))
        if piece[0] == "," and depth == 0:
            ends.append(piece.start())
    return [text[start + 1 : end].strip() for start, end in pairwise([-1, *ends, len(text)])]


def parse_clauses(text: str) -> dict[str, str] | None:
    """Parse what follows a column's type into NOT, DEFAULT and COMMENT; None if it is anything else.

    The clauses may come in any order; a default extends to the next clause outside all brackets.
    """
    pieces = list(_PIECE.finditer(text))
    starts = list(_starts([piece[0].upper() for piece in pieces]))
    if pieces and 0 not in starts:
        return None
    found: dict[str, str] = {}
    for at, end in pairwise([*starts, len(pieces)]):
        word, last = pieces[at][0].upper(), pieces[end].start() if end < len(pieces) else len(text)
        inside = text[pieces[at].end() : last].strip()
        if word in found or (end - at != 2 and word != "DEFAULT"):
            return None
        found[word] = _unquoted(inside) if word == "COMMENT" else inside
    return found


def _starts(words: Sequence[str]) -> Iterator[int]:
    depth = 0
    for at, (before, word, after) in enumerate(zip(["", *words], words, [*words[1:], ""], strict=False)):
        depth += (word in ("(", "[")) - (word in (")", "]"))
        not_null = word == "NOT" and after == "NULL" and before != "IS"
        described = word == "COMMENT" and after[:1] in ("'", '"')
        if depth == 0 and (not_null or described or (word == "DEFAULT" and word not in words[:at])):
            yield at


def _unquoted(text: str) -> str:
    """The content of a quoted text."""
    plain = text[1:-1].replace(text[0] * 2, text[0])
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), plain, flags=re.DOTALL)


def closed(expression: str) -> str:
    """End an expression's line if a comment in it could swallow what comes after."""
    return f"{expression}\n" if "--" in expression else expression
