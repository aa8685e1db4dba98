"""Refs on the command line: HEAD is the current branch, and a time without a zone is local."""

from __future__ import annotations

import re
from datetime import datetime

from anabranch.model.refs import with_head

_TIME = re.compile(r"@\{([^}]+)\}")


def translate(text: str | None, branch: str) -> str:
    """Replace HEAD, `@` and a missing ref by the current branch, in both ends of a range; localize times."""
    if text is None:
        return branch
    return _TIME.sub(lambda found: f"@{{{with_zone(found[1])}}}", with_head(text, branch))


def with_zone(text: str) -> str:
    """Give a time without a zone the local one; anything that is no time passes unchanged."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if text.strip().isdigit() or moment.tzinfo:
        return text
    return moment.astimezone().isoformat()
