"""How deep and how long texts of SQL may be, and how a message shows a long one."""

from __future__ import annotations

from anabranch.errors import InvalidRequest

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
