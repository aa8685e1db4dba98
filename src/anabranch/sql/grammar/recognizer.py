"""Tell whether tokens follow rules in any reading; if not, where they stop, and what was expected there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.sql.grammar.rules import END, Facts, Keys, RulePart

Ends = tuple[int, ...]


@dataclass
class TextReading:
    """One attempt to read a text: the kinds of its tokens, and what is known so far."""

    keys: Sequence[str]
    known: dict[tuple[str, int], Ends] = field(default_factory=dict)
    far: int = 0
    """The furthest token that did not fit."""
    missing: list[Keys] = field(default_factory=list)

    @property
    def expected(self) -> Keys:
        """What was expected there."""
        return frozenset().union(*self.missing)

    def missed(self, at: int, keys: Keys) -> None:
        """Note what was expected at a place."""
        if at > self.far:
            self.far = at
            self.missing.clear()
        if at == self.far:
            self.missing.append(keys)


_RuleReader = Callable[[TextReading, int], Ends]
"""Returns all places where a part that begins at a token may end."""


class Grammar:
    """Rules compiled to readers, for a given meaning of each kind of token."""

    def __init__(self, facts: Facts, kinds: Mapping[str, Keys]) -> None:
        self._facts, self._kinds = facts, kinds
        self._sets: dict[Keys, Keys] = {}
        self._bodies: dict[str, _RuleReader] = {}
        self._readers = {name: self._rule(name) for name in facts.rules}
        for name, body in facts.rules.items():
            self._bodies[name] = self._reader(body)

    def read(self, rule: str, keys: Sequence[str]) -> TextReading | None:
        """Read tokens by a rule; None if all of them follow it, else the attempt, which says where they stop."""
        run = TextReading([*keys, END])
        return None if len(keys) in self._readers[rule](run, 0) else run

    def _keys(self, kinds: Keys) -> Keys:
        """The tokens that are of some kinds."""
        if kinds not in self._sets:
            self._sets[kinds] = frozenset().union(*(self._kinds.get(kind, (kind,)) for kind in kinds))
        return self._sets[kinds]

    def _rule(self, name: str) -> _RuleReader:
        after, bodies = self._keys(self._facts.after[name]), self._bodies

        def read(run: TextReading, at: int) -> Ends:
            known = run.known.get((name, at))
            if known is None:
                known = run.known[name, at] = _that_go_on(run, bodies[name](run, at), after)
            return known

        return read

    def _reader(self, part: RulePart) -> _RuleReader:
        if part.kind == "rule":
            return self._readers[part.name]
        if part.kind == "token":
            return _token(self._keys(frozenset((part.name,))))
        if part.kind == "row":
            return _row([self._reader(p) for p in part.parts])
        firsts = self._keys(self._facts.firsts(part))
        if part.kind == "choice":
            return self._choice(part, firsts)
        return (_maybe if part.kind == "maybe" else _many)(self._reader(part.parts[0]), firsts)

    def _choice(self, part: RulePart, firsts: Keys) -> _RuleReader:
        every = [(self._keys(self._facts.firsts(p)), self._reader(p)) for p in part.parts]
        anyway = [reader for p, (_, reader) in zip(part.parts, every, strict=True) if self._facts.may_be_empty(p)]
        by_key: dict[str, list[_RuleReader]] = {}

        def read(run: TextReading, at: int) -> Ends:
            key = run.keys[at]
            chosen = by_key.get(key)
            if chosen is None:
                chosen = by_key[key] = [r for keys, r in every if key in keys or r in anyway]
            if len(chosen) == 1:
                return chosen[0](run, at)
            if not chosen:
                run.missed(at, firsts)
            return _joined([reader(run, at) for reader in chosen])

        return read


def _token(keys: Keys) -> _RuleReader:
    def read(run: TextReading, at: int) -> Ends:
        if run.keys[at] in keys:
            return (at + 1,)
        run.missed(at, keys)
        return ()

    return read


def _row(readers: Sequence[_RuleReader]) -> _RuleReader:
    def read(run: TextReading, at: int) -> Ends:
        starts: Ends = (at,)
        for reader in readers:
            starts = reader(run, starts[0]) if len(starts) == 1 else _joined([reader(run, at) for at in starts])
        return starts

    return read


def _maybe(reader: _RuleReader, firsts: Keys) -> _RuleReader:
    def read(run: TextReading, at: int) -> Ends:
        if run.keys[at] in firsts:
            return _joined([reader(run, at), (at,)])
        run.missed(at, firsts)
        return (at,)

    return read


def _many(reader: _RuleReader, firsts: Keys) -> _RuleReader:
    def read(run: TextReading, at: int) -> Ends:
        found, new = {at}, [at]
        while new:
            start = new.pop()
            if run.keys[start] in firsts:
                fresh = [end for end in reader(run, start) if end not in found]
                found.update(fresh)
                new += fresh
            else:
                run.missed(start, firsts)
        return tuple(found)

    return read


def _that_go_on(run: TextReading, ends: Ends, after: Keys) -> Ends:
    """Leave out ends that no valid token follows."""
    kept = [end for end in ends if run.keys[end] in after]
    if len(kept) == len(ends):
        return ends
    furthest = max(ends)
    if run.keys[furthest] not in after:
        run.missed(furthest, after)
    return tuple(kept)


def _joined(every: Sequence[Ends]) -> Ends:
    filled = [ends for ends in every if ends]
    if len(filled) < 2:
        return filled[0] if filled else ()
    return tuple(set().union(*filled))
