"""What users write to name a commit: text in, meaning out. The catalogue finds the commit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from anabranch.errors import InvalidRequest
from anabranch.model.names import is_clean

_SUFFIX = re.compile(r"~(?P<back>[0-9]*)|\^(?P<parent>[0-9]*)|@\{(?P<when>[^}]*)\}")
_HEAD = re.compile(r"^(?:HEAD|@(?!\{))?(?=$|[~^]|@\{|(?<=[D@])/[0-9])")
_RANGE = re.compile(r"(\.{2,3})")
_POSITION = re.compile(r"^(?P<line>.+)/(?P<index>[0-9]{1,18})$")
_HASH = re.compile(r"^[0-9a-f]{6,64}$", re.IGNORECASE)


@dataclass(frozen=True)
class Back:
    """`~n`: n first parents back."""

    steps: int


@dataclass(frozen=True)
class Parent:
    """`^n`: the n-th parent."""

    number: int


@dataclass(frozen=True)
class Shown:
    """`@{time}` or `@{n}`: what the branch showed then, or n moves ago; `@{now}` is `@{0}`."""

    at: datetime | None
    moves: int | None = None


@dataclass(frozen=True)
class Ref:
    """A parsed ref: a name and the steps that lead on from it."""

    text: str
    name: str
    steps: tuple[Back | Parent | Shown, ...]

    @property
    def position(self) -> tuple[str, int] | None:
        """The line's name and index, if the name has the form `main/7`."""
        found = _POSITION.match(self.name)
        return (found["line"], int(found["index"])) if found else None

    @property
    def hash_prefix(self) -> str | None:
        """The name in lower case, if it can be a hash or a prefix of one."""
        return self.name.lower() if _HASH.match(self.name) else None


def parse_ref(text: str) -> Ref:
    """Parse a ref, or say what is wrong with it."""
    if not isinstance(text, str) or not text.strip(" \t\r\n\v\f") or not is_clean(text):
        raise InvalidRequest(f"{text!r} is not a ref", hint="name a branch, a tag, a hash, or a commit such as main/7")
    if ".." in text:
        raise InvalidRequest(f"{text!r} is a range, one commit was expected", hint="give one of its ends")
    start = min((i for i in (text.find("~"), text.find("^"), text.find("@{")) if i >= 0), default=len(text))
    name, rest = text[:start], text[start:]
    steps: list[Back | Parent | Shown] = []
    while rest:
        found = _SUFFIX.match(rest)
        if not found:
            raise InvalidRequest(
                f"ref {text!r} has {rest!r} where ~n, ^n or @{{time}} was expected", hint="see `ana log`"
            )
        steps.append(_step(found, text))
        rest = rest[found.end() :]
    return Ref(text, name or "HEAD", tuple(steps))


def with_head(text: str, branch: str) -> str:
    """Replace HEAD, `@` and an empty name with a branch, at both ends of a range."""
    return each_end(text, lambda end: _HEAD.sub(lambda _: branch, end, count=1))


def each_end(text: str, change: Callable[[str], str]) -> str:
    """Change a ref, or both ends of a range."""
    return "".join(part if _RANGE.fullmatch(part) else change(part) for part in _RANGE.split(text))


def _step(found: re.Match[str], text: str) -> Back | Parent | Shown:
    if found["back"] is not None:
        return Back(_count(found["back"] or "1", text))
    if found["parent"] is not None:
        return Parent(_count(found["parent"] or "1", text))
    when = found["when"].strip()
    if when == "now":
        return Shown(None, 0)
    if re.fullmatch(r"[0-9]+", when):
        return Shown(None, _count(when, text))
    return Shown(parse_time(when, f"ref {text!r}"))


def _count(digits: str, text: str) -> int:
    """Read a number of steps; more than any history has is refused."""
    if len(digits) > 18:
        raise InvalidRequest(f"ref {text[:40]!r} counts further than any history goes", hint="see `ana log`")
    return int(digits)


def parse_time(text: str | datetime, where: str) -> datetime:
    """Parse an ISO 8601 time; a time without a zone is UTC."""
    try:
        moment = text if isinstance(text, datetime) else datetime.fromisoformat(text)
    except (ValueError, TypeError):
        hint = "write an ISO 8601 time such as 2026-11-01T00:00:00Z"
        raise InvalidRequest(f"{where}: {text!r} is not a time", hint=hint) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
