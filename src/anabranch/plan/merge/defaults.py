"""Which defaults are equal although they are written differently: `1.0` and `1.00` of a decimal column."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from anabranch.model.schema import Column
from anabranch.model.types import DataType

_NUMBER = re.compile(r"([+-]?)\s*(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?", re.IGNORECASE)
_TYPED_TEXT = re.compile(r"(?:([a-z_]+)\s*)?(?:'([^'\\]*)'|\"([^\"\\]*)\")", re.IGNORECASE)
_WORDS = frozenset({"true", "false", "null"})
_KINDS = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz", "x"})


def have_equal_defaults(one: Column, other: Column) -> bool:
    """Tell whether new rows surely get equal values: the texts are equal, or literals of one value."""
    if one.default is None or other.default is None or one.default == other.default:
        return one.default == other.default
    literals = [_literal(c.default or "", c.type) for c in (one, other)]
    return literals[0] is not None and bool(literals[0] == literals[1])


def show_equal_values(one: Column, other: Column) -> bool:
    """Tell whether rows that are older than either column surely show equal values."""
    first, second = one.initial_default, other.initial_default
    if first is None or second is None or first == second or one.type != other.type:
        return first == second
    return bool(_comparable_text(first, one.type) == _comparable_text(second, other.type))


def _literal(text: str, type_: DataType) -> Any:
    """The value of a literal in a comparable form; None if the text is no such literal."""
    text = text.strip()
    if text.lower() in _WORDS:
        return text.lower()
    number = _NUMBER.fullmatch(text)
    if number is not None:
        return Decimal("".join(part or "" for part in number.groups())) if type_.is_number else None
    typed = _TYPED_TEXT.fullmatch(text)
    if typed is None:
        return None
    kind = (typed[1] or "").lower()
    return (kind, typed[2] if typed[3] is None else typed[3]) if not kind or kind in _KINDS else None


def _comparable_text(text: str, type_: DataType) -> Any:
    """An initial default, which is text, in a form in which equal values are equal."""
    return _comparable(json.loads(text), type_) if type_.is_nested else _comparable_leaf(text, type_)


def _comparable(document: Any, type_: DataType) -> Any:
    """A part of a nested initial default, whose leaves are texts."""
    if document is None:
        return None
    if type_.name == "array":
        return [_comparable(element, type_.parts[0]) for element in document]
    if type_.name == "map":
        return [[_comparable(part, t) for part, t in zip(pair, type_.parts, strict=True)] for pair in document]
    if type_.name == "struct":
        return [_comparable(document[f.name], f.type) for f in type_.fields]
    return _comparable_leaf(document, type_)


def _comparable_leaf(text: str, type_: DataType) -> Any:
    return Decimal(text) if type_.name == "decimal" else text
