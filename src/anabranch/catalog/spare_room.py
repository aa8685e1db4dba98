"""A file beside a catalogue that only takes room: gc gives it back first, and can begin on a disk that is full.

SQLite needs room for its log to remove anything, and even to open a catalogue.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from anabranch.settings import SPARE_ROOM_BYTES

NAME = "spare-room"
_ROOM_SHARE = 16
"""It is made where so many times its size is free."""


def free_bytes(catalogue: str) -> int:
    """The bytes that are free where a catalogue is."""
    found = os.statvfs(os.path.dirname(catalogue))
    return found.f_bavail * found.f_frsize


def keep(catalogue: str) -> None:
    """Make the file if it is missing and there is plenty of room; without it, gc needs some."""
    place = Path(catalogue).with_name(NAME)
    draft = place.with_name(f"{NAME}.{os.getpid()}")
    with suppress(OSError):
        if place.exists() or free_bytes(catalogue) < _ROOM_SHARE * SPARE_ROOM_BYTES:
            return
        try:
            draft.write_bytes(os.urandom(SPARE_ROOM_BYTES))  # zeros might take no room
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


def give_back(catalogue: str) -> bool:
    """Remove the file; tells whether there was one."""
    place = Path(catalogue).with_name(NAME)
    try:
        place.unlink()
    except OSError:
        return False
    return True
