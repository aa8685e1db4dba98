"""How deep and how long texts of SQL may be, and how a message shows a long one."""

from __future__ import annotations

from anabranch.errors import InvalidRequest

DEEPEST = 500
"""Brackets, or CASE … END, inside each other: more than that, no engine takes."""
LONGEST_NUMBER = 1000
"""Digits of a number: no type holds more than 38, but zeros may stand before them."""
_SHOWN = 200
FLATTER = "make it flatter: IN (…) for many comparisons, WITH for queries in queries"


def refuse_depth(depth: int, what: str) -> None:
    """Refuse brackets, or CASE … END, that are too deep inside each other."""
    if depth > DEEPEST:
        raise InvalidRequest(f"{what} has more than {DEEPEST} brackets or CASEs inside each other", hint=FLATTER)


def refuse_long_number(digits: int, what: str) -> None:
    """Refuse a number that nothing could hold."""
    if digits > LONGEST_NUMBER:
        raise InvalidRequest(f"{what} has a number of {digits} digits", hint="38 digits are the most that a type holds")


def shown_value(value: object) -> str:
    """A value as a message shows it; Python does not even write the longest numbers."""
    try:
        return shortened(repr(value))
    except ValueError:
        return "a number of thousands of digits"


def shortened(text: str) -> str:
    """The start of a long text."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
