"""Ids: random, globally unique, never names. The first letter says what an id belongs to."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from typing import NewType

RepositoryId = NewType("RepositoryId", str)
BranchId = NewType("BranchId", str)
LineId = NewType("LineId", str)
CommitId = NewType("CommitId", str)
ThingId = NewType("ThingId", str)
ColumnId = NewType("ColumnId", str)
SchemaId = NewType("SchemaId", str)
ObjectId = NewType("ObjectId", str)
ViewId = NewType("ViewId", str)

ROOT_NAMESPACE = ThingId("")
"""The parent of top-level names; it always exists and has no entry."""


def new_id(prefix: str) -> str:
    """Make a random id of 80 bits: lower-case base32, safe in file and column names."""
    return prefix + base64.b32encode(secrets.token_bytes(10)).decode().lower()


def derived_id(prefix: str, *made_of: str) -> str:
    """Make an id of the same form that is always the same for the same texts."""
    digest = hashlib.sha256("\n".join(made_of).encode()).digest()
    return prefix + base64.b32encode(digest[:10]).decode().lower()


def commit_id_of(open_id: str) -> CommitId:
    """The id of the commit that an open one becomes: by it one finds out later whether it was finished."""
    return CommitId(f"k{open_id[1:]}")


def new_column_id() -> ColumnId:
    """Make the id of a column; it is also the column's name inside Parquet files."""
    return ColumnId(new_id("c"))


def new_write_id() -> str:
    """Make the id of a write into a table without a key: unique, and later ones sort after earlier ones."""
    return f"{time.time_ns() // 1000:014x}{secrets.token_hex(8)}"
