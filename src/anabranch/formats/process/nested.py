"""Nested values from JSON, held to their declared types as strictly as Spark does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from anabranch.formats.rules.text import DATE, looks_like
from anabranch.model.types import DataType

_TEXTS = ("string", "binary", "date", "timestamp", "timestamp_ntz")
"""Types that are text in JSON."""
_NOT_FINITE = ("NaN", "INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity")


def conformed(value: Any, type_: DataType) -> Any:
    """Return a value in the form of its type; raise a ValueError if something in it does not fit."""
    if value is None:
        return value
    if type_.name == "variant":
        return json.dumps(value, ensure_ascii=False, default=_exact)
    if type_.name == "struct":
        return _struct(_demanded(value, dict, type_), type_)
    if type_.name == "array":
        return [conformed(element, type_.parts[0]) for element in _demanded(value, list, type_)]
    if type_.name == "map" and isinstance(value, list):
        return [_pair(pair, type_) for pair in value]  # The form for keys that are not text.
    if type_.name == "map":
        return {_key(k, type_): conformed(v, type_.parts[1]) for k, v in _demanded(value, dict, type_).items()}
    return _plain(value, type_)


def _pair(pair: Any, type_: DataType) -> list[Any]:
    """An entry of a map: a list of its key and its value."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError(f"{pair!r} is no pair of a key and a value")
    return [conformed(part, inner) for part, inner in zip(pair, type_.parts, strict=True)]


def _key(text: str, type_: DataType) -> Any:
    """The key of an object, which is text whatever its type."""
    return conformed(text, type_.parts[0]) if type_.parts[0].name in _TEXTS else text


def _struct(value: Mapping[str, Any], type_: DataType) -> dict[str, Any]:
    fields = {f.name: f.type for f in type_.fields}
    for name in value:
        if name not in fields:
            raise ValueError(f"there is no field {name!r} in {type_}")
    return {name: conformed(inner, fields[name]) for name, inner in value.items()}


def _plain(value: Any, type_: DataType) -> Any:
    if type_.name == "string":
        return value if isinstance(value, str) else _text(value)
    if type_.is_integer:
        return _demanded(value, int, type_)
    if type_.name == "boolean":
        return _demanded(value, bool, type_)
    if type_.name in ("float", "double"):
        return float(value if value in _NOT_FINITE else _demanded(value, (int, float, Decimal), type_))
    if type_.name == "decimal" and not isinstance(value, str):
        return str(_demanded(value, (int, float, Decimal), type_))
    text = _demanded(value, str, type_)
    if type_.name == "binary":
        return bytes.fromhex(_formed(text, type_))
    return _time(text, type_) if type_.name in ("date", "timestamp", "timestamp_ntz") else text


def _time(text: str, type_: DataType) -> str:
    """A date or time in the form that Arrow reads: a date means its midnight, a missing zone UTC."""
    text = text.strip(" \t")
    if type_.name != "date" and re.search(DATE, text):
        text = f"{text} 00:00:00"
    if type_.name == "timestamp" and looks_like(text, DataType("timestamp_ntz")):
        text = f"{text}Z"
    return _formed(text, type_)


def _formed(text: str, type_: DataType) -> str:
    if not looks_like(text, type_):
        raise ValueError(f"{text!r} does not fit {type_}")
    return text.strip(" \t")


def _exact(value: Decimal) -> float:
    """A JSON number as a float; refused if it would be rounded."""
    if Decimal(repr(float(value))) != value:
        raise ValueError(f"{value} would be rounded")
    return float(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)


def _demanded(value: Any, kinds: type | tuple[type, ...], type_: DataType) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError(f"{value!r} does not fit {type_}")
    return value
