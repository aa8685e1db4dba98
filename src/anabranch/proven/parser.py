"""Spark SQL taken apart with every function left under Spark's own name, which is how the table of proofs knows it."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.tokenizer_core import TokenType


class _PlainParser(Spark.Parser):  # type: ignore[misc]
    """Leaves functions as they are written: the table knows them by Spark's names."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: Spark.Parser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY")
    }

    # sqlglot drops a plus before a value, which Spark counts as a function.
    UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **Spark.Parser.UNARY_PARSERS,
        TokenType.PLUS: lambda self: exp.Anonymous(this="positive", expressions=[self._parse_unary()]),
    }

    def _parse_primary(self) -> Any:
        """Join texts that stand beside each other, as Spark does."""
        found = super()._parse_primary()
        if isinstance(found, exp.Concat) and all(part.is_string for part in found.expressions):
            return exp.Literal.string("".join(part.this for part in found.expressions))
        return found


class _PlainTokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Reads a quote that is written twice in a text as one."""

    STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']


class _Plain(Spark):  # type: ignore[misc]
    Parser = _PlainParser
    Tokenizer = _PlainTokenizer


PLAIN = _Plain()


def has_escapes(text: str) -> bool:
    """Tell whether a text has backslashes, which parsers read differently, but for those in names in backticks."""
    if "\\" not in text:
        return False
    names = [t for t in PLAIN.tokenize(text) if t.token_type == TokenType.IDENTIFIER]
    return text.count("\\") > sum(text.count("\\", t.start, t.end + 1) for t in names)


WORDS = frozenset(("current_date", "current_timestamp", "current_user", "current_catalog", "current_database", "user"))
"""Functions that Spark takes without brackets."""
TAKE_UNITS = frozenset(("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff"))
"""Functions whose first argument of three is a unit of time."""
