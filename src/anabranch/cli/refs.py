"""Refs as the command line takes them: HEAD is the current branch, and a time without a zone is local."""

from __future__ import annotations

import re
from datetime import datetime

from anabranch.model.refs import with_head

_TIME = re.compile(r"@\{([^}]+)\}")


def translate(text: str | None, branch: str) -> str:
    """Put the current branch for HEAD, `@` and for nothing; in both ends of a range."""
    if text is None:
        return branch
    return _TIME.sub(lambda found: f"@{{{with_zone(found[1])}}}", with_head(text, branch))


def with_zone(text: str) -> str:
    """Give a time without a zone the local one; what is no time is left for others to refuse."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if text.strip().isdigit() or moment.tzinfo:
        return text
    return moment.astimezone().isoformat()
