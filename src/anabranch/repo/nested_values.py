"""Nested values from JSON held to their declared types, as strictly as Spark holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from anabranch.model.types import DataType

_NOT_FINITE = ("NaN", "INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity")


def conformed(value: Any, type_: DataType) -> Any:
    """A value with nothing in it that its type does not have; raises a ValueError if there is."""
    if value is None or type_.name == "variant":
        return value
    if type_.name == "struct":
        return _struct(_demanded(value, dict, type_), type_)
    if type_.name == "array":
        return [conformed(element, type_.parts[0]) for element in _demanded(value, list, type_)]
    if type_.name == "map" and isinstance(value, list):
        return value  # of pairs, which keys that are no text need
    if type_.name == "map":
        return {k: conformed(v, type_.parts[1]) for k, v in _demanded(value, dict, type_).items()}
    return _plain(value, type_)


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
    return _demanded(value, str, type_)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)


def _demanded(value: Any, kinds: type | tuple[type, ...], type_: DataType) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError(f"{value!r} does not fit {type_}")
    return value
