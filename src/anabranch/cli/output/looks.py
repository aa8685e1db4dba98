"""How this run's output looks, as the user prefers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Looks:
    """Whether to use colours, and the pager for long texts."""

    colour: str = "auto"
    pager: str | None = None
    """A command, or `never`; None for the environment's choice."""


looks = Looks()
"""The looks of this run; set by the session when it finds the store."""
