"""Verbs that rooms above the façade bring: the front door says where each is, and the façade calls it by its name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def bring(**places: str) -> None:
    """Say in which module a verb is; it is imported when it is first called."""
    _PLACES.update(places)


def verb(name: str) -> Any:
    """Find a verb of a room above."""
    return getattr(import_module(_PLACES[name]), name)
