"""Durations as users write them: `7d`, `12h`, `90m`."""

from __future__ import annotations

import re
from datetime import timedelta

from anabranch.errors import InvalidRequest

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_FORM = re.compile(f"([0-9]{{1,6}})([{''.join(_UNITS)}])")


def duration_of(given: object, what: str) -> timedelta:
    """Read a duration: a timedelta, 0, or text such as `7d`."""
    found = _FORM.fullmatch(given.strip()) if isinstance(given, str) else None
    if found:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    if isinstance(given, timedelta) and given >= timedelta(0):
        return given
    if given in ("0", 0) and not isinstance(given, bool):
        return timedelta(0)
    hint = "say how long, such as 7d, 12h or 0; there are w, d, h, m and s"
    raise InvalidRequest(f"{what} is {given!r}, which is no duration", hint=hint)


def count_or_duration(given: object, what: str) -> int | timedelta:
    """Read a count such as 3, or a duration."""
    is_count = isinstance(given, int) or (isinstance(given, str) and re.fullmatch("[0-9]{1,9}", given))
    if is_count and not isinstance(given, bool) and int(str(given)) >= 0:
        return int(str(given))
    return duration_of(given, what)
