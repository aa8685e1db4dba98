"""How an expectation of a pipeline was met, in one word."""

from __future__ import annotations

MET = "met"
_BROKEN = {"count": "counted", "drop": "dropped", "fail": "failed"}


def verdict_of(action: str, broken: int) -> str:
    """Return `met` if no row breaks it, else what its action made of those that do."""
    return _BROKEN[action] if broken else MET
