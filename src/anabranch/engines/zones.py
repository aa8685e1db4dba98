"""The time zone that a Spark session would have if it were started now: that of the system."""

from __future__ import annotations

import os
from pathlib import Path

_LOCAL = Path("/etc/localtime")
_FROM_ELSEWHERE = ("SPARK_REMOTE", "SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PYSPARK_SUBMIT_ARGS")


def system_zone() -> str | None:
    """The system's time zone as Java finds it; None if a session may have another."""
    if any(name in os.environ for name in _FROM_ELSEWHERE):
        return None
    given = os.environ.get("TZ")
    if given is not None:
        return given or "UTC"
    if not _LOCAL.exists():
        return "UTC"
    _, found, name = str(_LOCAL.resolve()).partition("/zoneinfo/")
    return name if found else None
