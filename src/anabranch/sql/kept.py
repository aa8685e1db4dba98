"""Check expressions stored in a catalogue: only words known to compute without side effects are allowed.

Whoever makes a store writes its catalogue, and Spark runs what it says; so the text is checked against a list before
Spark sees it. It is read token by token, as Spark reads it; anything that could be read in two ways is refused."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from anabranch.sql.grammar.tokens import Token, tokenize

_WORDS = """
    and or not in between like ilike rlike regexp any some all case when then else is from for escape distinct div
    leading trailing both decimal numeric dec char varchar character try_cast timestampadd timestampdiff
"""
_BEFORE_BRACKETS = frozenset(_WORDS.split())
"""Words other than functions that may come before an opening bracket."""
_SIGNS = "( ) [ ] , . + - * / % = == < > <= >= <> != <=> ! & | ^ ~ : :: -> => || << >> >>>"
_SYMBOLS = frozenset(_SIGNS.split())
_QUERIES = frozenset(("SELECT", "VALUES", "TABLE", "WITH", "USING", "LATERAL"))
"""Every query has one of these words, except those that begin with FROM, MAP or REDUCE."""
_SCRIPTS = frozenset(("MAP", "REDUCE"))
"""Words that begin a script unless they are functions or types."""
_HEXADECIMAL = re.compile(r"[xX]'[0-9a-fA-F]*'")
_SPACE = re.compile(r"[ \t\r\n]*")
_START, _END = Token("symbol", "(", 0, 0), Token("end", "", 0, 0)


@lru_cache(4096)
def problem_in(text: str, functions: frozenset[str]) -> str | None:
    """Say what is forbidden in a stored expression, or None; `functions` are those that it may call."""
    if "${" in text:
        return "${, which Spark fills in from its settings and the environment"
    tokens = [t for t in tokenize(text) if t.kind != "end"]
    if any(not _SPACE.fullmatch(text, one.end, other.start) for one, other in pairwise([_START, *tokens, _last(text)])):
        return "a comment"
    for before, token, after in zip([_START, *tokens], tokens, [*tokens[1:], _END], strict=False):
        found = _problem_of(before, token, after)
        if found is None and after.is_symbol("("):
            found = _problem_of_call(before, token, functions)
        if found is not None:
            return found
    return None


def _last(text: str) -> Token:
    return Token("end", "", len(text), len(text))


def _problem_of(before: Token, token: Token, after: Token) -> str | None:
    """What is wrong with a token in its place, if anything."""
    if token.kind in ("parameter", "frame"):
        return f"{token.text}, which nobody gives a value"
    if token.kind == "symbol" and token.text not in _SYMBOLS:
        return f"the sign {token.text}"
    if token.kind == "string" and token.text[0] in "xX" and not _HEXADECIMAL.fullmatch(token.text):
        return f"{token.text}, which has other than hexadecimal digits"
    is_query = token.word in _QUERIES or (token.word == "FROM" and before.is_symbol("("))
    if is_query or (token.word in _SCRIPTS and not after.is_symbol("(", "<")):
        return f"a query ({token.word}; a column of that name goes in backticks)"
    return None


def _problem_of_call(before: Token, token: Token, functions: frozenset[str]) -> str | None:
    """What is wrong with an opening bracket after a token, if anything."""
    if token.kind == "symbol":
        return "a call of a result" if token.is_symbol(")", "]") else None
    name = token.text.lower()
    if token.kind != "word" or before.is_symbol("."):
        return f"a call of {token.text}, which is not one of Spark's own functions by its plain name"
    if name not in functions and name not in _BEFORE_BRACKETS:
        return f"a call of {name}, which is not on the list"
    return None
