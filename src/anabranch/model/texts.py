"""How deep and how long texts of SQL may be, and how a text is shown so that nothing in it acts on a reader."""

from __future__ import annotations

from html import escape

from anabranch.errors import InvalidRequest

_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
TURNS = {code: f"\\u{code:04x}" for code in _TURNING}
"""Marks that turn the direction of text, so that one name looks like another."""
CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
"""Characters that act on a terminal."""


def html_text(text: str) -> str:
    """Escape a text for HTML, so that nothing in it is markup or turns the direction."""
    return escape(text.translate(TURNS))


DEEPEST = 500
"""The deepest nesting of brackets or CASE … END that engines take."""
LONGEST_NUMBER = 1000
"""The most digits of a number: no type holds more than 38, but zeros may lead."""
_SHOWN = 200
FLATTER = "make it flatter: IN (…) for many comparisons, WITH for queries in queries"


def refuse_depth(depth: int, what: str) -> None:
    """Refuse brackets or CASE … END that are nested too deep."""
    if depth > DEEPEST:
        raise InvalidRequest(f"{what} has more than {DEEPEST} brackets or CASEs inside each other", hint=FLATTER)


def refuse_long_number(digits: int, what: str) -> None:
    """Refuse a number that nothing could hold."""
    if digits > LONGEST_NUMBER:
        raise InvalidRequest(f"{what} has a number of {digits} digits", hint="38 digits are the most that a type holds")


def shown_value(value: object) -> str:
    """A value as a message shows it; the longest numbers Python refuses to print."""
    try:
        return shortened(repr(value))
    except ValueError:
        return "a number of thousands of digits"


def shortened(text: str) -> str:
    """The start of a long text."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
