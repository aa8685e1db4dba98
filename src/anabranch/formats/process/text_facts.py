"""Which types the text of a column fits, found where the text is; and the type that follows for all of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.formats.process.values import Misfit, convert, demand, with_point
from anabranch.formats.rules import text as rules
from anabranch.model.types import DataType

_SAMPLE_ROWS = 1000
_BIGINT, _DOUBLE, _TEXT = DataType("bigint"), DataType("double"), DataType("string")
Digits = tuple[int, int]
"""How many digits numbers have before and after the point."""


class UnknownFacts(Exception):
    """What was reported does not tell whether columns fit the types they are tried as: survey again."""

    def __init__(self, columns: Mapping[str, tuple[DataType, ...]]) -> None:
        super().__init__(", ".join(columns))
        self.columns = columns


class ColumnFacts(Protocol):
    """What is known of a column's text in one part of the files."""

    @property
    def has_values(self) -> bool:
        """Whether there is any text."""

    @property
    def digits(self) -> Digits:
        """The number of digits, for text that fits a decimal."""

    def seems(self, type_: DataType) -> bool:
        """Whether it may fit a type, by a cheap test."""

    def fits(self, type_: DataType) -> bool:
        """Whether all of it fits a type."""


def choose_type(facts: Sequence[ColumnFacts], candidates: Sequence[DataType]) -> DataType:
    """Find the first type that a column's text fits in all parts; text itself always fits."""
    if not any(part.has_values for part in facts):
        return _TEXT
    for type_ in candidates:
        if all(part.seems(type_) for part in facts) and all(part.fits(type_) for part in facts):
            sized = _with_digits(type_, facts) if type_.name == "decimal" else type_
            if sized:
                return sized
    return _TEXT


def _with_digits(type_: DataType, facts: Sequence[ColumnFacts]) -> DataType | None:
    """The decimal with room for all digits of all texts, if there is one."""
    before, after = (max(part.digits[i] for part in facts) for i in (0, 1))
    return rules.decimal_of(before, 0 if type_.precision else after)


class TextFacts:
    """Text of a column in memory, examined on demand."""

    def __init__(self, texts: pa.ChunkedArray, options: rules.TextOptions) -> None:
        self.texts, self.options = texts, options
        self.has_values = texts.null_count < len(texts)
        self._known: dict[DataType, bool] = {}
        self._newest: tuple[DataType, pa.ChunkedArray] | None = None

    def values(self, type_: DataType) -> pa.ChunkedArray:
        """The text as values of a type that it fits."""
        if self._newest and self._newest[0] == type_:
            return self._newest[1]
        return convert(self.texts, type_, self.options)

    def seems(self, type_: DataType) -> bool:
        """Look only at the first values, to spare whole columns conversions that must fail."""
        if self.options.decimal_comma or self.options.date_format or self.options.timestamp_format:
            return True
        return all(rules.looks_like(text, type_) for text in self._sample)

    def fits(self, type_: DataType) -> bool:
        if type_ not in self._known:
            self._known[type_] = self.seems(type_) and self._converts(type_)
        return self._known[type_]

    @cached_property
    def _sample(self) -> list[str]:
        return list({text for text in self.texts.slice(0, _SAMPLE_ROWS).to_pylist() if text is not None})

    def _converts(self, type_: DataType) -> bool:
        """Convert for inference: only plain words are booleans, and a time without a zone never counts as one with."""
        pattern = rules.value_pattern(type_, inferring=True)
        given = self.options.timestamp_format if type_.name.startswith("timestamp") else None
        try:
            if type_.name == "decimal":
                if not self._known.get(_BIGINT):
                    demand(self._numbers, pattern or "")
                return True
            if type_.name in ("boolean", "timestamp_ntz", "timestamp") and pattern and not given:
                demand(self._plain, pattern)
            if type_ == _DOUBLE:
                _demand_kept(self._numbers)
            self._newest = type_, convert(self.texts, type_, self.options)
        except Misfit:
            return False
        return True

    @property
    def _plain(self) -> pa.ChunkedArray:
        return pc.ascii_trim(self.texts, " \t")

    @property
    def _numbers(self) -> pa.ChunkedArray:
        return with_point(self._plain, self.options)

    @cached_property
    def digits(self) -> Digits:
        """The number of digits, for text that fits a decimal."""
        if self._known.get(_BIGINT):
            return _whole_digits(self.values(_BIGINT)), 0
        numbers = self._numbers
        return _longest(numbers, r"^[+-]?0*([0-9]*).*$"), _longest(numbers, r"^[^.]*\.?(.*?)0*$")


def _longest(texts: pa.ChunkedArray, pattern: str) -> int:
    """The greatest length of what a pattern extracts from texts."""
    return pc.max(pc.binary_length(pc.replace_substring_regex(texts, pattern, r"\1"))).as_py() or 0


def _whole_digits(numbers: pa.ChunkedArray) -> int:
    ends = [end for end in pc.min_max(numbers).as_py().values() if end]
    return max((len(str(abs(end))) for end in ends), default=0)


def _demand_kept(texts: pa.ChunkedArray) -> None:
    """Refuse long numbers that a double would round."""
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > 15:
        long = texts.filter(pc.match_substring_regex(texts, rules.LONG))
        if not all(_is_kept(text) for text in long.unique().to_pylist()):
            raise ValueError("a number has more digits than a double")


def _is_kept(text: str) -> bool:
    whole, _, places = text.partition(".")
    short = len(whole.lstrip("+-0")) <= 38 and not places.strip("0")
    return short and Decimal(repr(float(whole))) == Decimal(whole)


@dataclass(frozen=True)
class KnownFacts:
    """Facts about a column that were found elsewhere."""

    has_values: bool
    known: Mapping[DataType, bool] = field(default_factory=dict)
    digits: Digits = (0, 0)

    def seems(self, type_: DataType) -> bool:
        return self.known.get(type_, True)

    def fits(self, type_: DataType) -> bool:
        if type_ not in self.known and self.has_values:
            raise UnknownFacts({})
        return self.known.get(type_, True)


def find_facts(
    column: pa.ChunkedArray, candidates: Collection[DataType], options: rules.TextOptions, *, all_: bool = False
) -> KnownFacts:
    """Find which types a column fits: its text or, for JSON, its numbers.

    Without `all_`, facts that are slow to find and rarely needed are left out.
    """
    if not pa.types.is_string(column.type):
        return _number_facts(column, options)
    facts = TextFacts(column, options)
    if not facts.has_values:
        return KnownFacts(False)
    known: dict[DataType, bool] = {}
    for type_ in candidates:
        if all_ or type_ != rules.EXACT or not known.get(_DOUBLE) or known.get(_BIGINT):
            known[type_] = facts.fits(type_)
    return KnownFacts(True, known, facts.digits if known.get(rules.WHOLE) or known.get(rules.EXACT) else (0, 0))


def _number_facts(column: pa.ChunkedArray, options: rules.TextOptions) -> KnownFacts:
    """The facts that the text of JSON numbers would give, which Arrow has read; none for other values."""
    if column.null_count == len(column):
        return KnownFacts(False)
    if pa.types.is_floating(column.type):  # Some have a point or an exponent, and none is long.
        return KnownFacts(True, {_BIGINT: False, rules.WHOLE: False, _DOUBLE: True})
    if not pa.types.is_integer(column.type):
        return KnownFacts(True)
    ends = pc.min_max(column).as_py().values()
    if max(map(abs, ends)) >= rules.LONG_FROM:
        return find_facts(column.cast(pa.string()), rules.NUMBERS, options, all_=True)
    return KnownFacts(True, dict.fromkeys(rules.NUMBERS, True), (_whole_digits(column), 0))
