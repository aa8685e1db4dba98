"""Rules of a grammar, parsed from text: how each may begin, and what may come after it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

Keys = frozenset[str]
END = "<end>"
_WORD = re.compile(r"'[^']+'|<\w+>|\w+|[()|?*+#]|\S")


@dataclass(frozen=True)
class RulePart:
    """A part of a rule: a kind of token, another rule's name, or parts in sequence, to choose from, or to repeat."""

    kind: str
    """`token`, `rule`, `row`, `choice`, `maybe` or `many` (none or more)."""
    name: str = ""
    parts: tuple[RulePart, ...] = ()


def read_rules(text: str) -> dict[str, RulePart]:
    """Parse rules; indented lines continue a rule."""
    rules: dict[str, RulePart] = {}
    for rule in re.split(r"\n(?=\S)", text.strip()):
        name, _, body = rule.partition(":")
        words = _WORD.findall(body)
        rules[name.strip()] = _choice(words)
        if words:
            raise ValueError(f"rule {name.strip()}: {' '.join(words)} is left over")
    return rules


def _choice(words: list[str]) -> RulePart:
    rows = [_row(words)]
    while words and words[0] == "|":
        words.pop(0)
        rows.append(_row(words))
    return rows[0] if len(rows) == 1 else RulePart("choice", parts=tuple(rows))


def _row(words: list[str]) -> RulePart:
    parts: list[RulePart] = []
    while words and words[0] not in ("|", ")"):
        parts.append(_repeated(_item(words), words))
    return parts[0] if len(parts) == 1 else RulePart("row", parts=tuple(parts))


def _item(words: list[str]) -> RulePart:
    word = words.pop(0)
    if word == "(":
        inner = _choice(words)
        words.remove(")")
        return inner
    if word[0] in "'<" or word.isupper():
        return RulePart("token", word.strip("'"))
    return RulePart("rule", word)


def _repeated(part: RulePart, words: list[str]) -> RulePart:
    while words and words[0] in ("?", "*", "+", "#"):
        sign = words.pop(0)
        rest = RulePart("row", parts=(RulePart("token", ","), part)) if sign == "#" else part
        again = RulePart("many", parts=(rest,))
        part = RulePart("maybe", parts=(part,)) if sign == "?" else again
        if sign in "+#":
            part = RulePart("row", parts=(rest.parts[-1] if sign == "#" else rest, again))
    return part


class Facts:
    """What follows from the rules alone: which may be empty, how each begins, and what may come after it."""

    def __init__(self, rules: Mapping[str, RulePart], entries: Sequence[str]) -> None:
        self.rules = rules
        self._empty: set[str] = set()
        self._first: dict[str, Keys] = dict.fromkeys(rules, frozenset())
        self._settle(rules)
        self.after: dict[str, Keys] = {name: frozenset((END,) if name in entries else ()) for name in rules}
        """What may come after each rule; after an entry, the end."""
        self._last: dict[str, set[str]] = {name: set() for name in rules}
        """The rules that may come last in each rule."""
        for name, body in rules.items():
            self._note(body, frozenset(), name)
        self._carry()

    def may_be_empty(self, part: RulePart) -> bool:
        """Tell whether a part of a rule may match no tokens at all."""
        if part.kind == "rule":
            return part.name in self._empty
        if part.kind == "choice":
            return any(map(self.may_be_empty, part.parts))
        return part.kind in ("maybe", "many") or (part.kind == "row" and all(map(self.may_be_empty, part.parts)))

    def firsts(self, part: RulePart) -> Keys:
        """The kinds of tokens that a part may begin with."""
        if part.kind == "token":
            return frozenset((part.name,))
        if part.kind == "rule":
            return self._first[part.name]
        if part.kind != "row":
            return frozenset(chain.from_iterable(map(self.firsts, part.parts)))
        found: Keys = frozenset()
        for inner in part.parts:
            found |= self.firsts(inner)
            if not self.may_be_empty(inner):
                break
        return found

    def _settle(self, rules: Mapping[str, RulePart]) -> None:
        """Find out how rules begin, repeating until nothing new is found."""
        size = -1
        while size != (size := len(self._empty) + sum(map(len, self._first.values()))):
            for name, body in reversed(list(rules.items())):
                self._first[name] = self.firsts(body)
                if self.may_be_empty(body):
                    self._empty.add(name)

    def _note(self, part: RulePart, after: Keys, whole: str | None) -> None:
        """Note what comes after each rule that a part names; `whole` is the rule that ends with this part."""
        if part.kind == "rule":
            self.after[part.name] |= after
            if whole is not None:
                self._last[whole].add(part.name)
        if part.kind == "many":
            after |= self.firsts(part)
        for inner in reversed(part.parts):
            self._note(inner, after, whole)
            if part.kind == "row":
                empty = self.may_be_empty(inner)
                after = self.firsts(inner) | (after if empty else frozenset())
                whole = whole if empty else None

    def _carry(self) -> None:
        """Let what comes after a rule also come after the rules that end it."""
        size = -1
        while size != (size := sum(map(len, self.after.values()))):
            for name, last in self._last.items():
                for inner in last:
                    self.after[inner] |= self.after[name]
