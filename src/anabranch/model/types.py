"""Spark SQL's types as values: parsed from DDL text, compared, widened."""

from __future__ import annotations

import re
from dataclasses import dataclass

from anabranch.errors import InvalidRequest

INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_PLAIN = (*INTEGERS, *_FLOATS, "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary")
_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "text": "string",
    "bool": "boolean",
    "timestamp_ltz": "timestamp",
}
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_DECIMAL = re.compile(r"^decimal(?:\(\s*([0-9]{1,9})\s*(?:,\s*([0-9]{1,9})\s*)?\))?$")
_CHARS = re.compile(r"^(?:char|varchar|character)\(\s*\d+\s*\)$")


@dataclass(frozen=True)
class DataType:
    """A Spark SQL type; `str()` gives Spark's DDL text."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS

    @property
    def is_number(self) -> bool:
        return self.is_integer or self.name in ("decimal", *_FLOATS)

    @property
    def can_be_key(self) -> bool:
        """Floats have no equality that two engines agree on."""
        return self.name not in _FLOATS

    @property
    def is_ordered(self) -> bool:
        """Whether rows can be sorted by values of this type."""
        return self.name not in ("map", "variant", "array", "struct")

    @property
    def has_text(self) -> bool:
        """Whether a value can be told as text that a cast reads back."""
        return self.name in _PLAIN or self.name == "decimal"

    @property
    def digits(self) -> int:
        """How many decimal digits an integer or decimal of this type can have before the point."""
        return self.precision - self.scale if self.name == "decimal" else _INTEGER_DIGITS.get(self.name, 0)


def parse_type(text: str) -> DataType:
    """Parse Spark's DDL text for a type, or say which types there are."""
    plain = " ".join(text.strip().lower().split())
    plain = _ALIASES.get(plain, plain)
    if plain in _PLAIN:
        return DataType(plain)
    if _CHARS.match(plain):
        return DataType("string")
    head, bracket, rest = plain.partition("(")
    found = _DECIMAL.match(_ALIASES.get(head.strip(), head.strip()) + bracket + rest)
    if found:
        return _decimal(int(found[1] or 10), int(found[2] or 0), text)
    hint = f"supported: {', '.join(_PLAIN)}, decimal(p,s)"
    raise InvalidRequest(f"{text!r} is not a type that a column can have", hint=hint)


def _decimal(precision: int, scale: int, text: str) -> DataType:
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise InvalidRequest(
            f"{text!r} is not a decimal that Spark has", hint="precision 1 to 38, scale 0 to precision"
        )
    return DataType("decimal", precision, scale)


def can_store(source: DataType, target: DataType) -> bool:
    """Tell whether values of one type may be written to a column of another; values out of range are refused later."""
    if source.name == target.name:
        return True
    if source.is_number and target.is_number:
        # Integers take whole numbers only: a fraction would be lost silently.
        return not target.is_integer or source.is_integer
    return (source.name, target.name) == ("date", "timestamp_ntz")


def can_widen(old: DataType, new: DataType) -> bool:
    """Tell whether every value of one type is exactly a value of the other, so that a column may change to it."""
    if old.is_integer and new.is_integer:
        return INTEGERS.index(old.name) <= INTEGERS.index(new.name)
    if new.name == "decimal" and (old.is_integer or old.name == "decimal"):
        return old.digits <= new.digits and old.scale <= new.scale
    if new.name == "double":
        return old.name in ("tinyint", "smallint", "int", "float", "double")
    return old == new or (old.name, new.name) == ("date", "timestamp_ntz")
