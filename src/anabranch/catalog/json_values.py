"""JSON as the catalogue's columns hold it.

SQLite gives a column that is declared JSON numeric affinity: text that is a number is kept as a number, and of a whole
number beyond 64 bits only the first digits. So such a number is written as bytes, which SQLite keeps as they are.
"""

from __future__ import annotations

import json
from typing import Any

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class RoundedNumber(int):
    """A whole number of which SQLite kept only the first digits."""


def decode(found: Any) -> Any:
    """Read a value from what the driver returns: text, bytes, or a number that was text."""
    if isinstance(found, float):
        return RoundedNumber(found)
    return found if isinstance(found, int) else json.loads(found)


def encode_for_file(value: Any) -> str | bytes:
    """Write a value for a catalogue in a file."""
    text = json.dumps(value)
    is_long = type(value) is int and not _LEAST <= value <= _GREATEST
    return text.encode() if is_long else text
