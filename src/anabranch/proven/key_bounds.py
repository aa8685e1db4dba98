"""Bounds on the first key column that conditions plainly imply: `id = 7`, `id IN (…)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from sqlglot import exp

from anabranch.model.layers import Bounds
from anabranch.model.objects import KeyValue
from anabranch.model.schema import Column, Schema


def key_bounds(parts: Iterable[exp.Expr], args: Mapping[str, Any], schema: Schema) -> Bounds | None:
    """The bounds implied by conditions that must all hold; None if there are none."""
    if not schema.has_key:
        return None
    key = schema.key_columns[0]
    if not (key.type.is_integer or key.type.name in ("string", "date")):
        return None
    found = [b for part in parts if (b := _bounds(part, key, args)) is not None]
    lows = [b.low for b in found if b.low is not None]
    highs = [b.high for b in found if b.high is not None]
    return Bounds(max(lows, default=None), min(highs, default=None)) if lows or highs else None


def constant(node: exp.Expr, args: Mapping[str, Any]) -> Any:
    """The value of a plain literal or an argument."""
    if isinstance(node, exp.Placeholder):
        return args.get(node.name)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else int(node.this) if str(node.this).isdecimal() else None
    return None


def _bounds(part: exp.Expr, key: Column, args: Mapping[str, Any]) -> Bounds | None:
    """The bounds that one comparison sets; < and > count as <= and >=."""
    if isinstance(part, exp.Paren):
        return _bounds(part.this, key, args)
    if isinstance(part, exp.Between) and _is_column(part.this, key):
        low, high = (_key_constant(part.args[end], key, args) for end in ("low", "high"))
        return None if low is None or high is None or part.args.get("symmetric") else Bounds(low, high)
    if isinstance(part, exp.In):
        listed = [_key_constant(x, key, args) for x in part.args.get("expressions") or []]
        known = [v for v in listed if v is not None]
        is_plain = _is_column(part.this, key) and known and len(known) == len(listed) and not part.args.get("query")
        return Bounds(min(known), max(known)) if is_plain else None
    kind = type(part)
    if kind not in _COMPARISONS:
        return None
    value, turned = _key_constant(part.args["expression"], key, args), False
    if not _is_column(part.this, key) or value is None:
        value, turned = _key_constant(part.this, key, args), True
        if not _is_column(part.args["expression"], key) or value is None:
            return None
    below, above = _COMPARISONS[kind][::-1] if turned else _COMPARISONS[kind]
    return Bounds(value if below else None, value if above else None)


_COMPARISONS = {
    exp.EQ: (True, True),
    exp.GT: (True, False),
    exp.GTE: (True, False),
    exp.LT: (False, True),
    exp.LTE: (False, True),
}
"""Whether a comparison of the key with a value bounds it from below, and whether from above."""


def _key_constant(node: exp.Expr, key: Column, args: Mapping[str, Any]) -> KeyValue | None:
    """A literal or an argument as a value of the key column, if it has the right kind."""
    if isinstance(node, exp.Neg):
        value = constant(node.this, args)
        return -value if type(value) is int and key.type.is_integer else None
    value = constant(node, args)
    if key.type.name == "date":
        return (value - date(1970, 1, 1)).days if type(value) is date else None
    return value if type(value) is (int if key.type.is_integer else str) else None


def _is_column(node: exp.Expr, key: Column) -> bool:
    return isinstance(node, exp.Column) and not node.args.get("table") and node.name.lower() == key.name.lower()
