"""Simple times for time travel: now, today, plus or minus intervals; an engine computes all others."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_NOW = re.compile(r"(?P<what>now\(\)|current_timestamp(?:\(\))?|current_date(?:\(\))?)(?P<rest>.*)", re.I | re.S)
_STEP = re.compile(r"\s*(?P<sign>[+-])\s*interval\s+'?(?P<count>\d+)'?\s+(?P<unit>[a-z]+?)s?\b", re.I)
_UNITS = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}


def plain_time(text: str, now: datetime) -> datetime | None:
    """The time that a text such as `now() - INTERVAL 3 DAYS` means; None if it has another form."""
    found = _NOW.fullmatch(text.strip())
    if found is None:
        return None
    moment = now.astimezone(UTC)
    if found["what"].lower().startswith("current_date"):
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    rest = found["rest"]
    while rest.strip():
        step = _STEP.match(rest)
        if step is None or step["unit"].lower() not in _UNITS:
            return None
        seconds = int(step["count"]) * _UNITS[step["unit"].lower()]
        try:
            moment += timedelta(seconds=seconds if step["sign"] == "+" else -seconds)
        except OverflowError:
            return None
        rest = rest[step.end() :]
    return moment
