"""Parse which state of a table is meant: a version, a time, or the changes between two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from anabranch.sql.cursor import Cursor
from anabranch.sql.grammar.tokens import Token


@dataclass(frozen=True)
class Moment:
    """A state of a table: a version or a time, as a text, a number, a parameter or an expression."""

    kind: Literal["version", "timestamp"]
    value: str
    form: Literal["text", "number", "parameter", "expression"] = "text"


@dataclass(frozen=True)
class Span:
    """`CHANGES FROM … [TO …]`."""

    start: Moment
    end: Moment | None
    from_inclusive: bool = True
    to_inclusive: bool = True


def at_sign(cursor: Cursor) -> Moment:
    """`t@v3`, `t@v'main~2'`, `t@20261101000000000`, `t@dev`."""
    cursor.step()
    token = cursor.token
    if token.kind == "word" and token.text[:1] in "vV" and token.text[1:].isdigit():
        return Moment("version", cursor.step().text[1:], "number")
    if token.word == "V" and cursor.look().kind in ("string", "quoted") and cursor.look().start == token.end:
        cursor.step()
        text = cursor.step()
        return Moment("version", text.value if text.kind == "string" else text.name)
    if token.kind == "number" and token.text.isdigit() and len(token.text) == 17:
        cursor.step()
        t = token.text
        return Moment("timestamp", f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}.{t[14:]}")
    if token.is_name:
        return Moment("version", glued(cursor))
    raise cursor.error("v and a version, such as t@v'main~2'")


def moment(cursor: Cursor, kind: Literal["version", "timestamp"]) -> Moment:
    """Read what follows `VERSION AS OF`, or `TIMESTAMP AS OF`."""
    token = cursor.token
    if token.kind == "parameter":
        return Moment(kind, cursor.step().text[1:], "parameter")
    if token.kind == "string":
        return Moment(kind, cursor.step().value)
    if kind == "version":
        if token.kind == "number":
            return Moment(kind, cursor.step().text, "number")
        if token.is_name:
            return Moment(kind, glued(cursor))
        raise cursor.error("a version: a ref in quotes, such as 'main~2'")
    if token.word in ("TIMESTAMP", "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ") and cursor.look().kind == "string":
        cursor.step()
        return Moment(kind, cursor.step().value)
    return Moment(kind, _expression(cursor), "expression")


def _expression(cursor: Cursor) -> str:
    """The text of an expression for a time: it ends after a value that no operator follows."""
    first, last = cursor.token, None
    while not cursor.done:
        last = _operand(cursor)
        if not (cursor.token.is_symbol("+", "-", "*", "/", "::", "||", ".")):
            break
        cursor.step()
    if last is None:
        raise cursor.error("a time")
    return cursor.source[first.start : last.end]


def _operand(cursor: Cursor) -> Token:
    if cursor.token.word == "INTERVAL":
        cursor.step()
        last = cursor.step()
        while cursor.token.kind == "word" and cursor.token.word.rstrip("S") in _UNITS:
            last = cursor.step()
        return last
    last = cursor.step()
    if cursor.token.is_symbol("(") or last.is_symbol("("):
        depth = 1 if last.is_symbol("(") else 0
        while not cursor.done:
            depth += cursor.token.is_symbol("(") - cursor.token.is_symbol(")")
            last = cursor.step()
            if depth == 0:
                break
    return last


def changes(cursor: Cursor) -> Span:
    """Read `CHANGES FROM … [TO …]`."""
    cursor.expect("CHANGES", "FROM")
    start, from_inclusive = _bound(cursor)
    end, to_inclusive = _bound(cursor) if cursor.accept("TO") else (None, True)
    return Span(start, end, from_inclusive, to_inclusive)


def _bound(cursor: Cursor) -> tuple[Moment, bool]:
    kind = MOMENTS[cursor.expect_any("VERSION", "TIMESTAMP")]
    found = moment(cursor, kind)
    return found, cursor.accept_any("INCLUSIVE", "EXCLUSIVE") != "EXCLUSIVE"


MOMENTS: dict[str, Literal["version", "timestamp"]] = {
    "VERSION": "version",
    "SYSTEM_VERSION": "version",
    "TIMESTAMP": "timestamp",
    "SYSTEM_TIME": "timestamp",
}
_UNITS = frozenset(("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "TO"))


def glued(cursor: Cursor) -> str:
    """Take a name and all that follows it without a gap: `main~2`, `feature/x`, `main@{…}`."""
    first = last = cursor.step()
    if first.kind == "quoted":
        return first.name
    while cursor.token.start == last.end and not cursor.token.is_symbol(",", ";", "(", ")") and not cursor.done:
        last = cursor.step()
    return cursor.source[first.start : last.end]


_NOW = re.compile(r"(?P<what>now\(\)|current_timestamp(?:\(\))?|current_date(?:\(\))?)(?P<rest>.*)", re.I | re.S)
_STEP = re.compile(r"\s*(?P<sign>[+-])\s*interval\s+'?(?P<count>\d+)'?\s+(?P<unit>[a-z]+?)s?\b", re.I)
_STEP_SECONDS = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}


def plain_time(text: str, now: datetime) -> datetime | None:
    """The time that a text such as `now() - INTERVAL 3 DAYS` means; None if it has another form."""
    found = _NOW.fullmatch(text.strip())
    if found is None:
        return None
    moment = now.astimezone(UTC)
    if found["what"].lower().startswith("current_date"):
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    rest = found["rest"]
    while rest.strip():
        step = _STEP.match(rest)
        if step is None or step["unit"].lower() not in _STEP_SECONDS:
            return None
        seconds = int(step["count"]) * _STEP_SECONDS[step["unit"].lower()]
        try:
            moment += timedelta(seconds=seconds if step["sign"] == "+" else -seconds)
        except OverflowError:
            return None
        rest = rest[step.end() :]
    return moment
