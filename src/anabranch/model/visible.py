"""Make visible the invisible marks that change how a text looks."""

from __future__ import annotations

from html import escape

_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
TURNS = {code: f"\\u{code:04x}" for code in _TURNING}
"""Marks that turn the direction of text, so that one name looks like another."""
CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
"""Characters that act on a terminal."""


def html_text(text: str) -> str:
    """Escape a text for HTML, so that nothing in it is markup or turns the direction."""
    return escape(text.translate(TURNS))
