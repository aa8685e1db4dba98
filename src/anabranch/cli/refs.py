"""Refs as the command line takes them: HEAD is the current branch, and a time without a zone is local."""

from __future__ import annotations

import re
from datetime import datetime

_HEAD = re.compile(r"^(?:HEAD|@(?!\{))?(?=$|[~^]|@\{)")
_TIME = re.compile(r"@\{([^}]+)\}")


def translate(text: str | None, branch: str) -> str:
    """Put the current branch for HEAD, `@` and for nothing; in both ends of a range."""
    if text is None:
        return branch
    return "".join(x if x in ("..", "...") else _one(x, branch) for x in re.split(r"(\.{2,3})", text))


def _one(text: str, branch: str) -> str:
    named = _HEAD.sub(lambda _: branch, text, count=1)
    return _TIME.sub(lambda found: f"@{{{with_zone(found[1])}}}", named)


def with_zone(text: str) -> str:
    """Give a time without a zone the local one; what is no time is left for others to refuse."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if text.strip().isdigit() or moment.tzinfo:
        return text
    return moment.astimezone().isoformat()
