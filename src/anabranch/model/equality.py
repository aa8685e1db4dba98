"""Equality of values as rows hold them."""

from __future__ import annotations


def are_equal(one: object, other: object) -> bool:
    """Whether two values are the same; NaN equals itself, even nested."""
    return bool(one == other) or repr(one) == repr(other)
