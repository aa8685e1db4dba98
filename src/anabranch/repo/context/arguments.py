"""Checks of users' arguments, made before anything is read or written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from anabranch.catalog.history import to_datetime, to_micros
from anabranch.errors import InvalidRequest
from anabranch.model.facts import DEEPEST, LONGEST_NUMBER_BITS, OWN, USER_NAME, OwnFacts
from anabranch.model.names import is_clean
from anabranch.model.refs import parse_time
from anabranch.model.texts import shown_value


def check_words(message: str, author: str | None) -> None:
    """Check that a message and an author are text that every catalogue can hold."""
    if not isinstance(message, str) or not message.strip():
        raise InvalidRequest("a commit needs a message", hint="say what it does and why")
    check_text(message, "the message")
    check_author(author)


def check_author(author: str | None) -> None:
    """Check that an author, if one is given, is a name that every catalogue can hold."""
    if author is not None and (not isinstance(author, str) or not author.strip()):
        raise InvalidRequest(f"{author!r} is not an author", hint="give a name")
    check_text(author or "", "the author")


def check_text(text: str, what: str) -> str:
    """Refuse text that cannot be stored: with NUL or lone surrogates."""
    if not isinstance(text, str) or not is_clean(text):
        raise InvalidRequest(
            f"{what} is {text!r}, text without NUL or lone surrogates was expected", hint="leave it out"
        )
    return text


def check_date(date: str | datetime, today: int) -> int:
    """Return when a commit's work was done, in the catalogue's unit; refuse a time in the future."""
    moment = to_micros(parse_time(date, "date="))
    if moment > today:
        hint = f"give a time up to now, {to_datetime(today):%FT%TZ}, or leave it out"
        raise InvalidRequest(f"date= is {shown_value(str(date))}, which is still to come", hint=hint)
    return moment


def check_limit(limit: Any) -> int | None:
    """Check that a limit is a number from 0 up, or None for all."""
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and 0 <= limit < 1 << 63):
        return limit
    raise InvalidRequest(
        f"limit= is {shown_value(limit)}, a number from 0 up was expected", hint="leave it out for all"
    )


def check_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Check that facts are JSON by key. Only whole numbers: others have no unique text for the hash to cover.

    Names with our own prefix are only taken from our own rooms.
    """
    hint = "such as facts={'source': {'file': 'a.csv', 'rows': 3}}"
    if not isinstance(facts, Mapping):
        raise InvalidRequest(f"facts= is {shown_value(facts)}, values by key were expected", hint=hint)
    for key, value in facts.items():
        if not (isinstance(facts, OwnFacts) and key in OWN):
            _check_fact_name(key)
        if problem := _fact_problem(value, DEEPEST):
            raise InvalidRequest(f"facts[{key!r}] is {shown_value(value)}, {problem}", hint=hint)
    return {key: json.loads(json.dumps(_as_json(value))) for key, value in facts.items()}


def _check_fact_name(key: object) -> None:
    if not isinstance(key, str) or not USER_NAME.fullmatch(key):
        hint = "begin with a lower-case letter, and use lower-case letters, digits and _ . - (64 characters at most)"
        raise InvalidRequest(f"facts= has the key {shown_value(key)}", hint=hint)


def _fact_problem(value: object, depth: int) -> str | None:
    """Say why a value can be no fact."""
    if not depth:
        return f"which is nested more than {DEEPEST} deep"
    if isinstance(value, Mapping):
        names = [None if isinstance(k, str) else "which has keys that are not text" for k in value]
        inside = [*value, *value.values()]
        return next((p for p in (*names, *(_fact_problem(x, depth - 1) for x in inside)) if p), None)
    if isinstance(value, list | tuple):
        return next((p for p in (_fact_problem(x, depth - 1) for x in value) if p), None)
    if isinstance(value, str):
        return None if is_clean(value) else "which has text with NUL or lone surrogates"
    if isinstance(value, int):
        is_short = int(value).bit_length() <= LONGEST_NUMBER_BITS
        return None if is_short else f"which has a number of more than {LONGEST_NUMBER_BITS} bits"
    return None if value is None else "which is not made of text, whole numbers, true, false, null, lists and objects"


def _as_json(value: Any) -> Any:
    """A fact with plain dicts, which are what JSON can be written from."""
    if isinstance(value, Mapping):
        return {name: _as_json(part) for name, part in value.items()}
    return [_as_json(part) for part in value] if isinstance(value, list | tuple) else value
