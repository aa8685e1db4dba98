"""The tokens of Spark SQL with their places in the text; strings, quoted names and comments stay whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from anabranch.errors import InvalidRequest
from anabranch.model.names import is_unicode
from anabranch.model.texts import refuse_depth, refuse_long_number

Kind = Literal["word", "quoted", "string", "number", "parameter", "frame", "symbol", "end"]

_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | --(?:\\\n|[^\n])*)
  | (?P<comment>/\*)
  | (?P<string>[rR]'[^']*' | [rR]"[^"]*" | [xX]'[^']*' | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LSYFDlsyfd])?(?!\w))
  | (?P<parameter>:(?!:)[^\W\d]\w*)
  | (?P<frame>\{[^\W\d]\w*\})
  | (?P<word>\w+)
  | (?P<symbol>\|>|<=>|<=|>=|<>|!=|==|->|=>|\|\||::|<<|>>>|>>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(r"/\*|\*/")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_PARAMETER_AFTER = frozenset(")]}")


@dataclass(frozen=True)
class Token:
    """A token: its text, and its place."""

    kind: Kind
    text: str
    """The original text."""
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in capitals; empty for other tokens, so that a quoted name is never a keyword."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """The name that a word or a quoted name stands for."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")

    @property
    def value(self) -> str:
        """The content of a string."""
        if self.text[0] in "rR":
            return self.text[2:-1]
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), self.text[1:-1], flags=re.DOTALL)

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind == "symbol" and self.text in symbols


def tokenize(text: str, what: str = "SQL") -> list[Token]:
    """Split a text into tokens, with one for its end; refuse a string or comment that never ends."""
    if not is_unicode(text):
        raise InvalidRequest(f"{what} {text[:60]!r} is not valid Unicode", hint="leave lone surrogates out")
    tokens, depth = list(_tokens(text, what)), 0
    for token in tokens:
        if token.kind in ("symbol", "word"):
            depth = max(0, depth + _DEEPER.get(token.word or token.text, 0))
            refuse_depth(depth, what)
        elif token.kind == "number":
            refuse_long_number(token.end - token.start, what)
    return tokens


_DEEPER = {"(": 1, "[": 1, "{": 1, "CASE": 1, ")": -1, "]": -1, "}": -1, "END": -1}


def find_qualified(text: str, name: str) -> Iterator[tuple[Token, Token]]:
    """Find where a name qualifies a column: before a dot and not after one; yields it and the token after the dot."""
    tokens = tokenize(text)
    for i, (token, dot, after) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        is_first = i == 0 or not tokens[i - 1].is_symbol(".")
        if token.is_name and dot.is_symbol(".") and is_first and token.name.lower() == name.lower():
            yield token, after


def _tokens(text: str, what: str) -> Iterator[Token]:
    at, last = 0, None
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None
        kind, end = str(found.lastgroup), found.end()
        if kind == "comment":
            end = _end_of_comment(text, at, what)
        elif kind == "parameter" and last is not None and _reaches_in(last, at):
            # `v:a` reaches into a variant; a parameter never follows a value directly.
            last = Token("symbol", ":", at, at + 1)
            yield last
            end = at + 1
        elif kind != "space":
            last = Token(kind, found[0], at, end)  # type: ignore[arg-type]
            if last.is_symbol("'", '"', "`"):
                raise syntax_error(text, at, f"{found[0]} opens what nothing closes", what=what)
            yield last
        at = end
    yield Token("end", "", len(text), len(text))


def _reaches_in(before: Token, at: int) -> bool:
    return before.end == at and (before.is_name or before.text in _PARAMETER_AFTER)


def _end_of_comment(text: str, start: int, what: str) -> int:
    """The end of a comment, which may hold nested ones."""
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise syntax_error(text, start, "/* opens a comment that nothing closes", what=what)


def syntax_error(text: str, at: int, problem: str, hint: str | None = None, what: str = "SQL") -> InvalidRequest:
    """The error for a text that can't be read, showing the place."""
    before = text[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
    shown = text.split("\n")[line - 1]
    left = max(0, column - 61)
    cut = shown[left : left + 100]
    message = f"{what}, line {line}, column {column}: {problem}\n  {cut}\n  {' ' * (column - 1 - left)}^"
    return InvalidRequest(message, hint=hint, line=line, column=column)
