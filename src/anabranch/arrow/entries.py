"""Maps as Arrow takes them from Python: lists of entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.model.types import DataType


def with_entries(value: Any, type_: DataType) -> Any:
    """Turn the dicts that stand for maps into lists of entries: Arrow takes a dict for a struct."""
    if value is None or isinstance(value, str):
        return value
    if type_.name == "map":
        pairs = value.items() if isinstance(value, Mapping) else [_pair(entry) for entry in value]
        return [{"key": with_entries(k, type_.parts[0]), "value": with_entries(v, type_.parts[1])} for k, v in pairs]
    if type_.name == "array" and isinstance(value, Iterable):
        return [with_entries(element, type_.parts[0]) for element in value]
    if type_.name == "struct" and isinstance(value, Mapping):
        found = {name: type_.find(str(name)) for name in value}
        return {name: with_entries(v, f.type) if (f := found[name]) else v for name, v in value.items()}
    return value


def _pair(entry: Any) -> tuple[Any, Any]:
    """An entry of a map: a pair, or a dict of key and value as Arrow and Polars have it."""
    key, value = (entry["key"], entry["value"]) if isinstance(entry, Mapping) else entry
    return key, value
