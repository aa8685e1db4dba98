"""Field ids of Parquet: numbers by which Iceberg and others know a column whatever it is called in a file.

Two branches may add columns at the same time, so numbers that count up would meet; they are made of column ids."""

from __future__ import annotations

import hashlib
from functools import lru_cache

_RESERVED_FROM = 2_147_483_447
"""Iceberg keeps the greatest 200 numbers of 32 bits for itself."""


@lru_cache(maxsize=65_536)
def field_id(path: str) -> int:
    """The number of a column of an object, or of what lies inside it: its names in the file, joined by dots."""
    digest = hashlib.sha256(path.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (_RESERVED_FROM - 1)
