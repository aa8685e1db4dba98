"""Check whether a text is Spark SQL without asking Spark; the error shows where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import chain, pairwise

from anabranch.errors import InvalidRequest
from anabranch.sql.grammar.expression_rules import EXPRESSION_RULES
from anabranch.sql.grammar.query_rules import QUERY_RULES
from anabranch.sql.grammar.recognizer import Grammar
from anabranch.sql.grammar.rules import END, Facts, Keys, RulePart, read_rules
from anabranch.sql.grammar.tokens import Token, syntax_error

_ENTRIES = ("query", "ctes", "relation", "expression")
_NO_ALIAS = frozenset(
    (
        *("ANTI", "CROSS", "EXCEPT", "FULL", "INNER", "INTERSECT", "JOIN", "LATERAL", "LEFT", "MINUS", "NATURAL"),
        *("ON", "RIGHT", "SEMI", "UNION", "USING"),
    )
)
"""Words that Spark never takes as a table's alias; it takes any other word as a name where nothing else fits."""
_IN_EXPRESSIONS = frozenset(("DISTINCT", "AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE", "IN", "IS", "BETWEEN"))
_RESERVED = _NO_ALIAS.union(
    _IN_EXPRESSIONS, ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "WITH", "AS")
)
"""Words that hardly anybody means as names, except after a dot; they are read as names only if nothing else fits."""


@dataclass(frozen=True)
class Verdict:
    """The result for a text: whether it can be read at all, and without taking a word such as FROM for a name."""

    plain: bool = True
    far: int | None = None
    """The token that does not fit, if any."""
    expected: Keys = frozenset()
    """What would fit there."""


def check_syntax(text: str, tokens: Sequence[Token], rule: str, what: str = "SQL") -> None:
    """Refuse tokens that Spark's parser would refuse; the last one is the end."""
    if is_syntax(tokens, rule):
        return
    found = _verdict(rule, tuple(_keys(tokens)))
    if found.far is not None:
        raise _error(text, tokens, rule, found.far, found.expected, what)


def is_syntax(tokens: Sequence[Token], rule: str) -> bool:
    """Tell whether Spark's parser would accept the tokens."""
    return _verdict(rule, _squeezed(tuple(_keys(tokens)))).far is None


def reads_plainly(tokens: Sequence[Token], rule: str) -> bool:
    """Tell whether a text can be read without taking a word such as FROM for a name."""
    return _verdict(rule, _squeezed(tuple(_keys(tokens)))).plain


@cache
def _facts() -> Facts:
    return Facts(read_rules(f"{QUERY_RULES}\n{EXPRESSION_RULES}"), _ENTRIES)


@cache
def _words() -> Keys:
    """The words that occur in rules."""

    def named(part: RulePart) -> Iterator[str]:
        yield from chain.from_iterable(named(p) for p in part.parts)
        if part.kind == "token" and part.name.isupper():
            yield part.name

    return frozenset(word for rule in _facts().rules.values() for word in named(rule))


@cache
def _grammar(plain: bool) -> Grammar:
    names = frozenset(("<name>", "<quoted>")) | _words()
    identifiers = names - _RESERVED if plain else names
    kinds = {"<identifier>": identifiers, "<alias>": identifiers - _NO_ALIAS}
    return Grammar(_facts(), kinds)


@lru_cache(1024)
def _judged(rule: str, keys: tuple[str, ...]) -> Verdict:
    try:
        run = _grammar(True).read(rule, keys)
        if run is None:
            return Verdict()
        if not _is_trap(keys, run.far) and _grammar(False).read(rule, keys) is None:
            return Verdict(plain=False)
    except RecursionError:
        return Verdict()  # Too deep for us: leave it to Spark.
    return Verdict(False, run.far, run.expected)


def _verdict(rule: str, keys: tuple[str, ...]) -> Verdict:
    """Read keys by a rule; unless long, texts that differ only in names and values are read once."""
    return (_judged if len(keys) < _MANY_KEYS else _judged.__wrapped__)(rule, keys)


def _is_trap(keys: Sequence[str], at: int) -> bool:
    """Detect `a, FROM t`, `* FROM` and `DISTINCT ON (a)`: Spark would look for columns, or a function `on`, in vain."""
    if keys[at - 1 :] == ("FROM",):
        return keys[at - 2] in ("*", "<name>", "<quoted>")
    if keys[at - 1 : at + 1] == (",", "FROM"):
        return "FROM" not in _same_level(keys[at + 1 :])
    return keys[at - 1 : at + 2] == ("DISTINCT", "ON", "(")


def _same_level(keys: Sequence[str]) -> Iterator[str]:
    """The keys up to the end of the current brackets, without those in inner brackets."""
    depth = 0
    for key in keys:
        depth += (key == "(") - (key == ")")
        if depth < 0:
            return
        if depth == 0:
            yield key


_LITERAL = r"(?:- )?(?:<(?:integer|decimal|number|string|hex|parameter)>|NULL|TRUE|FALSE|(?:DATE|TIMESTAMP) <string>)"
_ROW = rf"\( {_LITERAL}(?: , {_LITERAL})* \)"
_LONG = re.compile(rf"(?:, {_LITERAL} ){{20,}}|(?:, {_ROW} ){{20,}}")
_MANY_KEYS = 200


def _squeezed(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Replace long lists of literals, or of rows of literals, by one."""
    if len(keys) < _MANY_KEYS:
        return keys
    short = _LONG.sub(", <integer> ", " ".join(keys) + " ")
    return tuple(_LONG.sub(", <integer> ", short).split())


_INTEGER, _DECIMAL = re.compile(r"\d+"), re.compile(r"\d+\.\d*|\.\d+")
_NUMBER = re.compile(r"\d+[LSY]|(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?(?:BD|[FD])?", re.IGNORECASE)


def _keys(tokens: Sequence[Token]) -> Iterator[str]:
    """The kind of each token, as named in the rules."""
    words, types, before = _words(), 0, Token("end", "", 0, 0)
    for token, after in pairwise(tokens):
        if token.kind == "word":
            types += token.word in ("ARRAY", "MAP", "STRUCT") and after.is_symbol("<")
            yield token.word if token.word in words and not _is_plain_name(before, token, after) else "<name>"
        elif token.kind == "symbol":
            # `>>` closes two types, unless it is a shift.
            closing = min(types, len(token.text)) if token.text in (">", ">>", ">>>") else 0
            types -= closing
            yield from ">" * closing if closing == len(token.text) else (token.text,)
        elif token.kind == "string":
            yield "<hex>" if token.text[0] in "xX" else "<string>"
        elif token.kind == "number":
            yield _number(token.text)
        else:
            yield f"<{token.kind}>"
        before = token


def _is_plain_name(before: Token, token: Token, after: Token) -> bool:
    """Tell whether a reserved word can only be a name: after a dot, or after AS where a list goes on or ends."""
    if before.is_symbol(".") or token.word not in _RESERVED:
        return token.word in _RESERVED
    ends = after.is_symbol(",", ")") or after.kind == "end" or after.word == "FROM"
    return before.word == "AS" and (token.word in _IN_EXPRESSIONS or (token.word in _NO_ALIAS and ends))


def _number(text: str) -> str:
    if _INTEGER.fullmatch(text):
        return "<integer>"
    if _DECIMAL.fullmatch(text):
        return "<decimal>"
    return "<number>" if _NUMBER.fullmatch(text) else "<no number>"


_HINTS = {
    "EXCLUDE": "Spark says * EXCEPT (…)",
    "REPLACE": "Spark has no * REPLACE; name the columns",
    "[": "write array(…)",
    "{": "write named_struct(…) or map(…)",
    "/": "write a DIV b",
    "*": "write power(a, b)",
}


def _error(text: str, tokens: Sequence[Token], rule: str, at: int, expected: Keys, what: str) -> InvalidRequest:
    keys = tuple(_keys(tokens))
    if len(keys) != len(tokens) - 1:
        at = min(at, len(tokens) - 1)  # After a `>>` that closed two types, places are inexact.
    meant = _meant(tokens, keys, rule, at)
    if meant is not None:
        at, word = meant
        return syntax_error(text, tokens[at].start, f"found {tokens[at].text!r}", f"did you mean {word}?", what)
    token, before = tokens[at], tokens[at - 1] if at else None
    found = f"found {token.text!r}" if token.kind != "end" else "the text ends"
    wanted = _expected_text(expected)
    problem = f"{found}, expected {wanted}" if wanted else found
    after_comma = before is not None and before.is_symbol(",")
    guess = _elsewhere(tokens, at, rule) or _hint(tokens, at)
    hint = "leave the comma before it out" if after_comma and wanted else guess
    return syntax_error(text, token.start, problem, hint, what)


def _expected_text(expected: Keys) -> str:
    """What would have fit, in a few words."""
    if END in expected:
        return ""
    if "<integer>" in expected and "<string>" in expected:
        return "a value"
    if "<name>" in expected:
        return "a name"
    listed = sorted(k for k in expected if not k.startswith("<"))
    return " or ".join(listed) if 0 < len(listed) < 4 else ""


_UPDATE = "MERGE INTO t USING … ON … WHEN MATCHED THEN UPDATE SET …"
_UPSERT = f"Spark says {_UPDATE} WHEN NOT MATCHED THEN INSERT …"


def _elsewhere(tokens: Sequence[Token], at: int, rule: str) -> str | None:
    """What Spark says for a clause of other databases whose words stand around a place; None if there is none."""
    first, before = (tokens[at - back].word if at >= back else "" for back in (2, 1))
    word, after = (tokens[min(at + ahead, len(tokens) - 1)].word for ahead in (0, 1))
    count = next((t.text for t in tokens[max(at - 1, 0) : at + 3] if t.kind == "number"), "n")
    if before == "TOP" or "FETCH" in (before, word):
        return f"Spark says LIMIT {count} at the end"
    if first == "OFFSET" and word in ("ROW", "ROWS"):
        return f"Spark says OFFSET {count}, and LIMIT before it"
    if (first, before) == ("AS", "OF"):
        return "Spark says VERSION AS OF 'main', or TIMESTAMP AS OF '2026-11-02'"
    if word == "FROM" and rule == "expression":
        return f"for values of another table, Spark says {_UPDATE}"
    if rule == "expression" and get_close_matches(word, ("WHERE",), cutoff=0.7):
        return "did you mean WHERE?"
    return _UPSERT if word == "ON" and after in ("CONFLICT", "DUPLICATE") else None


def _hint(tokens: Sequence[Token], at: int) -> str | None:
    token, before = tokens[at], tokens[at - 1] if at else tokens[at]
    if token.kind == "string" and token.text[0] == '"':
        return f"double quotes make a text in Spark; a name is written `{token.text[1:-1]}`"
    if before.text == token.text == "/" or (at > 1 and before.text == tokens[at - 2].text == "*"):
        return _HINTS[before.text]
    return _HINTS.get(token.text if token.is_symbol("[", "{") else before.word)


def _meant(tokens: Sequence[Token], keys: tuple[str, ...], rule: str, at: int) -> tuple[int, str] | None:
    """The place of a misspelt word and its spelling, if the text can be read further with that."""
    for place in (at, at - 1):
        if not 0 <= place < len(keys) or keys[place] != "<name>":
            continue
        for word in get_close_matches(tokens[place].text.upper(), _words(), n=3, cutoff=0.7):
            run = _grammar(True).read(rule, (*keys[:place], word, *keys[place + 1 :]))
            if run is None or run.far > at + (place == at):
                return place, word
    return None
