"""What JSON values look like, and the types that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from anabranch.formats.rules.text import LONG_FROM, NUMBERS
from anabranch.model.types import DataType, array_of, struct_of

NULL, TEXT, TRUTH, OBJECT, ARRAY = "null", "text", "truth", "object", "array"
WHOLE, LONG, FRACTION, BEYOND = "whole", "long", "fraction", "beyond"
"""Numbers: whole ones; those that fit a bigint but a double may round; others; and those that both may round."""
BEYOND_FROM = 1e38
"""Numbers from here on count as whole ones with more digits than a decimal holds, even with an exponent."""
_NUMERIC = {WHOLE, LONG, FRACTION, BEYOND}

JsonPath = tuple[str | None, ...]
"""Where a value is: a column, the names of fields below it, and None for the elements of an array."""
Kinds = set[tuple[JsonPath, str]]
"""Which kinds of values occur where."""


@dataclass
class JsonShape:
    """What occurs in one place, and below it."""

    kinds: set[str] = field(default_factory=set)
    inside: dict[str | None, JsonShape] = field(default_factory=dict)

    @property
    def something(self) -> set[str]:
        """The kinds other than null."""
        return self.kinds - {NULL}

    @property
    def is_number(self) -> bool:
        return bool(self.something) and self.something <= _NUMERIC

    @property
    def type(self) -> DataType | None:
        """The type that holds all of it unchanged; None if only text does.

        Fields are in order of name, so that the type does not depend on which row is read first.
        """
        if self.something == {OBJECT}:
            return _struct([(str(name), self.inside[name].type) for name in sorted(map(str, self.inside))])
        if self.something == {ARRAY}:
            element = self.inside.get(None, JsonShape()).type
            return array_of(element) if element else None
        return _plain_type(self.something)

    def tried(self, times: Sequence[DataType]) -> tuple[DataType, ...]:
        """The types that the text of a column is tried as; none if its type is known already."""
        if self.is_number:
            return NUMBERS
        return () if not self.something or self.column_type else tuple(times)

    @property
    def column_type(self) -> DataType | None:
        """The type of a column that does not depend on its text: booleans, arrays and structs."""
        return self.type if self.something in ({TRUTH}, {OBJECT}, {ARRAY}) else None


def shapes_of(kinds: Iterable[tuple[JsonPath, str]]) -> dict[str, JsonShape]:
    """The shape of each column."""
    whole = JsonShape()
    for place, kind in kinds:
        found = whole
        for step in place:
            found = found.inside.setdefault(step, JsonShape())
        found.kinds.add(kind)
    return {str(name): shape for name, shape in whole.inside.items()}


def number_kind(value: float, *, is_whole: bool = False, is_exact: bool = True) -> str:
    """The kind of a number; `is_whole` means that it fits a bigint.

    A number that is not exact has an exponent, or more digits than a decimal holds.
    """
    if is_whole:
        return LONG if abs(value) >= LONG_FROM else WHOLE
    return BEYOND if abs(value) >= (LONG_FROM if is_exact else BEYOND_FROM) else FRACTION


def _plain_type(kinds: set[str]) -> DataType | None:
    if kinds <= {TEXT}:
        return DataType("string")
    if kinds == {TRUTH}:
        return DataType("boolean")
    if kinds <= {WHOLE, LONG}:
        return DataType("bigint")
    return DataType("double") if kinds <= {WHOLE, FRACTION} else None


def _struct(fields: Sequence[tuple[str, DataType | None]]) -> DataType | None:
    """A struct; None without fields, or if a field has no type."""
    known = [(name, type_) for name, type_ in fields if type_ is not None]
    return struct_of(known) if known and len(known) == len(fields) else None
