"""Garbage: what gc looks for, and what it reports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from anabranch.errors import InvalidRequest
from anabranch.model.clock import Position
from anabranch.model.ids import LineId, ObjectId, ThingId, ViewId
from anabranch.model.objects import StoredObject, ViewKind

Kind = Literal["commits", "views", "objects", "files", "copies"]


@dataclass(frozen=True)
class Garbage:
    """How much garbage of one kind there was."""

    kind: Kind
    """`commits` that nothing reaches, `views` that are superseded or go with their commit, `objects` that already had
    no link, `files` that the catalogue does not know, `copies` that killed readers left."""
    count: int
    """How many were removed."""
    size_bytes: int
    """Bytes that this freed."""
    later_bytes: int = 0
    """Bytes that will be freed after the time of grace, when nobody can be reading them."""


@dataclass(frozen=True)
class Collected:
    """What gc removed, or would remove."""

    garbage: tuple[Garbage, ...]
    dry_run: bool
    notes: tuple[str, ...] = ()
    """What it left alone, and why."""

    @property
    def size_bytes(self) -> int:
        return sum(g.size_bytes for g in self.garbage)

    @property
    def later_bytes(self) -> int:
        return sum(g.later_bytes for g in self.garbage)

    @property
    def is_anything(self) -> bool:
        """Whether anything was removed."""
        return any(g.count or g.size_bytes for g in self.garbage)

    def __getitem__(self, kind: str) -> Garbage:
        return next(g for g in self.garbage if g.kind == kind)


def added_up(parts: Sequence[Collected]) -> Collected:
    """What several passes removed, the last of which looked at everything."""
    last = parts[-1]
    all_ = [g for part in parts for g in part.garbage]
    garbage = [
        Garbage(
            kind=g.kind,
            count=sum(x.count for x in all_ if x.kind == g.kind),
            size_bytes=sum(x.size_bytes for x in all_ if x.kind == g.kind),
            later_bytes=g.later_bytes,
        )
        for g in last.garbage
    ]
    return Collected(tuple(garbage), last.dry_run, last.notes)


@dataclass(frozen=True)
class Ages:
    """How long things that nothing needs are kept."""

    grace: timedelta
    """For files and objects that nothing names or links: somebody may still be reading or writing them."""
    reflog: timedelta
    """For commits, since a branch moved away from them."""
    views: timedelta | int
    """For views that no ref reads: an age, or how many to keep per table and line."""


@dataclass(frozen=True)
class ViewRecord:
    """A view as the catalogue keeps it."""

    id: ViewId
    thing_id: ThingId
    kind: ViewKind
    at: Position
    since: Position | None
    created_at: int
    is_first: bool
    """Whether it was published with its commit: reads can start there, and its objects are the commit's change."""


@dataclass(frozen=True)
class Doomed:
    """The rows that gc takes out of the catalogue."""

    commits: Mapping[LineId, range] = field(default_factory=dict)
    """The part at the end of each line that nothing reaches."""
    views: frozenset[ViewId] = frozenset()
    objects: frozenset[ObjectId] = frozenset()

    @property
    def commit_count(self) -> int:
        return sum(len(gone) for gone in self.commits.values())


@dataclass(frozen=True)
class Loose:
    """An object that nothing links, or that nothing will link when the doomed rows are gone."""

    object: StoredObject
    kind: Kind
    """Why: its commit goes, its view goes, or it was loose before."""
    since: int
    """When it was linked last, as far as is known."""


_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_FORM = re.compile(f"([0-9]{{1,6}})([{''.join(_UNITS)}])")


def duration_of(given: object, what: str) -> timedelta:
    """Read a duration: a timedelta, 0, or text such as `7d`."""
    found = _FORM.fullmatch(given.strip()) if isinstance(given, str) else None
    if found:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    if isinstance(given, timedelta) and given >= timedelta(0):
        return given
    if given in ("0", 0) and not isinstance(given, bool):
        return timedelta(0)
    hint = "say how long, such as 7d, 12h or 0; there are w, d, h, m and s"
    raise InvalidRequest(f"{what} is {given!r}, which is no duration", hint=hint)


def count_or_duration(given: object, what: str) -> int | timedelta:
    """Read a count such as 3, or a duration."""
    is_count = isinstance(given, int) or (isinstance(given, str) and re.fullmatch("[0-9]{1,9}", given))
    if is_count and not isinstance(given, bool) and int(str(given)) >= 0:
        return int(str(given))
    return duration_of(given, what)
