"""Verbs implemented in rooms above the façade: the front door registers where each is, the façade calls it by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def bring(**places: str) -> None:
    """Register the module of a verb; it is imported on the first call."""
    _PLACES.update(places)


def verb(name: str) -> Any:
    """Find a verb of a room above."""
    return getattr(import_module(_PLACES[name]), name)
