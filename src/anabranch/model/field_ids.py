"""Parquet field ids: numbers by which Iceberg and others identify a column, whatever a file calls it.

They are hashes of column ids: counters would collide where two branches add columns at the same time."""

from __future__ import annotations

import hashlib
from functools import lru_cache

_RESERVED_FROM = 2_147_483_447
"""Iceberg keeps the greatest 200 numbers of 32 bits for itself."""


@lru_cache(maxsize=65_536)
def field_id(path: str) -> int:
    """The number of a column, or of a field inside it; `path` is the names in the file, joined by dots."""
    digest = hashlib.sha256(path.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (_RESERVED_FROM - 1)
