"""A store as a stranger leaves it: its catalogue was edited by hand."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import anabranch as ab

FILES = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
"""Every object is a file."""


def edited(store: Path, statement: str, *values: Any) -> int:
    """Change the catalogue of a store behind its back; returns how many rows were changed."""
    with sqlite3.connect(store / ".anabranch" / "catalog.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        found = connection.execute(statement, values).rowcount
    connection.close()
    return found


def asked(store: Path, question: str, *values: Any) -> list[Any]:
    """Ask the catalogue of a store behind its back; returns the first column."""
    with sqlite3.connect(store / ".anabranch" / "catalog.db") as connection:
        found = [row[0] for row in connection.execute(question, values)]
    connection.close()
    return found


def opened(store: Path, **options: Any) -> ab.Repository:
    """Open it as anybody would."""
    return ab.open(store, **{"engine": "duck", "author": "ann", **options})
