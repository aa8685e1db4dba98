"""Marks in a text that nobody sees and that change how the rest of it looks, made visible."""

from __future__ import annotations

from html import escape

_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
TURNS = {code: f"\\u{code:04x}" for code in _TURNING}
"""Marks that turn the direction of the text after them: with one, a name reads as another."""
CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
"""Characters that act on a terminal."""


def html_text(text: str) -> str:
    """A text as HTML shows it: none of it is markup, and none of it turns the rest around."""
    return escape(text.translate(TURNS))
