"""Walk over the tokens of a text; errors show the place and what was expected there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.errors import InvalidRequest
from anabranch.model.texts import shortened
from anabranch.sql.grammar.tokens import Token, syntax_error

T = TypeVar("T")
Passage = tuple[int, int, str]
"""A range of tokens (start, end), and the rule of Spark's grammar that they must follow."""
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


@dataclass
class Cursor:
    """A place among tokens."""

    source: str
    tokens: Sequence[Token]
    at: int = 0
    _expected: list[str] = field(default_factory=list)
    """What was looked for here and not found."""
    passages: list[Passage] = field(default_factory=list)
    """What was taken verbatim."""

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def done(self) -> bool:
        return self.token.kind == "end"

    def look(self, ahead: int = 1) -> Token:
        """The token after this one."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def step(self) -> Token:
        """Take the token."""
        taken = self.token
        self.at += not self.done
        self._expected.clear()
        return taken

    def sees(self, *words: str) -> bool:
        """Tell whether these words come next."""
        return all(self.look(i).word == word for i, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Take these words if they come next."""
        if self.sees(*words):
            for _ in words:
                self.step()
            return True
        self._expected.append(" ".join(words))
        return False

    def accept_symbol(self, symbol: str) -> bool:
        if self.token.is_symbol(symbol):
            self.step()
            return True
        self._expected.append(symbol)
        return False

    def accept_any(self, *words: str) -> str | None:
        """Take one of these words if it comes next."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.error()

    def expect_symbol(self, symbol: str) -> None:
        if not self.accept_symbol(symbol):
            raise self.error()

    def expect_any(self, *words: str) -> str:
        found = self.accept_any(*words)
        if found is None:
            raise self.error()
        return found

    def expect_end(self) -> None:
        if not self.done:
            self._expected.append("the end")
            raise self.error()

    def name(self, what: str = "a name") -> str:
        """Take one part of a name."""
        if not self.token.is_name:
            raise self.error(what)
        return self.step().name

    def path(self, what: str = "a name") -> str:
        """Take a name with dots."""
        parts = [self.name(what)]
        while self.token.is_symbol(".") and self.look().is_name:
            self.step()
            parts.append(self.name(what))
        return ".".join(parts)

    def string(self, what: str = "a text in quotes") -> str:
        """Take a quoted text; as in Spark, adjacent ones are joined, and a doubled quote is a quote."""
        if self.token.kind != "string":
            raise self.error(what)
        last = self.step()
        text = last.value
        while self.token.kind == "string":
            doubled = self.token.start == last.end and self.token.text[0] == last.text[-1]
            last = self.step()
            text += f"{last.text[0] if doubled else ''}{last.value}"
        return text

    def number(self, what: str) -> int:
        """Take a whole number of at most 18 digits."""
        digits = self.token.text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
            raise self.error(what)
        return int(self.step().text)

    def listed(self, item: Callable[[], T]) -> list[T]:
        """Take a comma-separated list."""
        found = [item()]
        while self.accept_symbol(","):
            found.append(item())
        return found

    def in_brackets(self, item: Callable[[], T]) -> list[T]:
        """Take a list in brackets."""
        self.expect_symbol("(")
        found = self.listed(item)
        self.expect_symbol(")")
        return found

    def text_until(
        self, *words: str, comma: bool = False, what: str = "an expression", rule: str = "expression"
    ) -> str:
        """Take text verbatim, up to one of these words, a closing bracket, or (if asked) a comma."""
        start, first, depth, cases = self.at, self.token, 0, 0
        last = first
        while not self.done:
            token = self.token
            if depth == 0 and cases == 0 and self._ends(token, words, comma):
                break
            depth += (token.text in _OPEN) - (token.text in _CLOSE) if token.kind == "symbol" else 0
            cases += (token.word == "CASE") - (token.word == "END" and cases > 0)
            last = self.step()
        if last is first and self.token is first:
            raise self.error(what)
        self.passages.append((start, self.at, rule))
        return self.source[first.start : last.end]

    def _ends(self, token: Token, words: Sequence[str], comma: bool) -> bool:
        return token.word in words or token.is_symbol(")", ";") or (comma and token.is_symbol(","))

    def in_brackets_text(self, what: str = "an expression") -> str:
        """Take a text in brackets, without them."""
        self.expect_symbol("(")
        text = self.text_until(what=what)
        self.expect_symbol(")")
        return text

    def skip_brackets(self) -> None:
        """Skip a pair of brackets and what is between them."""
        depth = 0
        while not self.done:
            depth += self.token.is_symbol("(") - self.token.is_symbol(")")
            self.step()
            if depth == 0:
                return

    def rest(self, what: str, rule: str = "query") -> str:
        """Take the rest verbatim."""
        if self.done:
            raise self.error(what)
        self.passages.append((self.at, len(self.tokens) - 1, rule))
        start, end = self.token.start, self.tokens[-2].end
        self.at = len(self.tokens) - 1
        return self.source[start:end]

    def error(self, *expected: str) -> InvalidRequest:
        """The error for this place."""
        wanted = list(dict.fromkeys((*self._expected, *expected)))
        found = f"found {shortened(self.token.text)!r}" if self.token.text else "the text ends"
        described = f", expected {' or '.join(wanted)}" if wanted else ""
        return syntax_error(self.source, self.token.start, f"{found}{described}")
