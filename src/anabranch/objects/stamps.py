"""A file's stamp, which changes when the file is written to."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable

_TICK_NS = 100_000_000


def stamp(found: os.stat_result) -> Hashable | None:
    """A value that changes when the file is written to; None for a file so young that its timestamp might not."""
    if time.time_ns() - found.st_mtime_ns < _TICK_NS:
        return None
    return own_stamp(found)


def own_stamp(found: os.stat_result) -> Hashable:
    """The same for a file just made under a name that nobody else knows yet."""
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
