"""Parses Spark SQL with every function left under Spark's own name, the one that the table of proofs knows it by."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.tokenizer_core import TokenType

from anabranch.proven.table.row import Unproven
from anabranch.sql.grammar.tokens import tokenize


class _PlainParser(Spark.Parser):  # type: ignore[misc]
    """Leaves functions as written: the table knows them by Spark's names."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: Spark.Parser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY")
    }

    # sqlglot drops a unary plus, which Spark counts as a function.
    UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **Spark.Parser.UNARY_PARSERS,
        TokenType.PLUS: lambda self: exp.Anonymous(this="positive", expressions=[self._parse_unary()]),
    }

    def _parse_primary(self) -> Any:
        """Concatenate adjacent string literals, as Spark does."""
        found = super()._parse_primary()
        if isinstance(found, exp.Concat) and all(part.is_string for part in found.expressions):
            return exp.Literal.string("".join(part.this for part in found.expressions))
        return found


class _PlainTokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Reads a doubled quote in a literal as one quote."""

    STRING_ESCAPES: ClassVar[list[str]] = ["'", '"']


class _Plain(Spark):  # type: ignore[misc]
    Parser = _PlainParser
    Tokenizer = _PlainTokenizer


PLAIN = _Plain()


def parse(text: str) -> list[exp.Expr]:
    """Parse a text."""
    return [node for node in PLAIN.parse(without_escapes(text)) if node is not None]


def without_escapes(text: str) -> str:
    """The text with literals rewritten without backslashes, for PLAIN to read."""
    if "\\" not in text:
        return text
    whole, at = [], 0
    for token in tokenize(text):
        if token.kind == "string" and "\\" in token.text:
            value = token.value if token.text[0] in "rR" else _ESCAPED.sub(_unescaped, token.text[1:-1])
            whole += [text[at : token.start], "'", value.replace("'", "''"), "'"]
            at = token.end
    return "".join((*whole, text[at:]))


_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|.)", re.DOTALL)
_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _unescaped(found: re.Match[str]) -> str:
    """What Spark reads a backslash escape as."""
    text = found[1]
    if len(text) == 1:
        return _LETTERS.get(text, text)
    code = int(text, 8) if text[0] in "01" else int(text[1:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise Unproven("half a character")
    return chr(code)


def has_escapes(text: str) -> bool:
    """Tell whether a text has backslashes outside of literals and quoted names; parsers differ on those."""
    if "\\" not in text:
        return False
    clear = [t for t in tokenize(text) if t.kind in ("quoted", "string")]
    return text.count("\\") > sum(t.text.count("\\") for t in clear)


WORDS = frozenset(("current_date", "current_timestamp", "current_user", "current_catalog", "current_database", "user"))
"""Functions that Spark lets be called without brackets."""
TAKE_UNITS = frozenset(("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff"))
"""Functions whose first argument of three is a unit of time."""
