"""How the output of this run looks, as the user prefers it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Looks:
    """Whether there are colours, and which pager shows long texts."""

    colour: str = "auto"
    pager: str | None = None
    """A command, or `never`; None for what the environment says."""


looks = Looks()
"""Of this run; the session sets it when it finds the store."""
