"""The commits of one writer on a branch, such as those of a job: what it made there, without what was reverted."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from anabranch.catalog import history, paths, provenance
from anabranch.catalog.store import Connection
from anabranch.model.clock import Clock, Position
from anabranch.model.facts import OwnFact
from anabranch.model.ids import LineId, ThingId
from anabranch.plan.history import is_ancestor
from anabranch.plan.path import Stretch
from anabranch.repo.context.context import Context


@dataclass(frozen=True)
class OwnCommit:
    """A commit that a writer made, and the value of the fact that says so."""

    position: Position
    hash: str
    said: Mapping[str, Any]
    writes: frozenset[str] | None = None
    """The writes by which files of the commit are the writer's; None if the commit does not say."""


@dataclass(frozen=True)
class Mark:
    """How commits of a writer are told: by one of our facts, and its value."""

    fact: OwnFact
    is_own: Callable[[Any], bool]
    writes: Callable[[Any], Collection[str]] | None = None
    """The writes that are the writer's, by the fact's value, where a commit has those of others, too."""


@dataclass(frozen=True)
class OwnStep:
    """One commit of the writer, or commits of others that follow one another on a branch."""

    before: Position | None
    """The commit before them; None where they begin with the first commit."""
    last: Position
    own: OwnCommit | None
    """The writer's commit; None for commits of others."""

    @property
    def is_own(self) -> bool:
        return self.own is not None


def find_own_commits(ctx: Context, cx: Connection, head: Position, marks: Sequence[Mark]) -> list[OwnCommit]:
    """Find the writer's commits among the first parents of a commit, oldest first; reverted ones are left out.

    What a merge brought in from another branch is not among the first parents, so it is not the writer's here: only
    the files, where the writer's commits there name the writes of theirs.
    """
    clock = history.clock(cx, head)
    marked = [c for mark in marks for c in _marked(ctx, cx, mark)]
    here = [c for c in marked if clock.holds(c.position)]
    beside = [c for c in marked if c.writes and not clock.holds(c.position)]
    gone = find_reverted(ctx, cx, head, [c.hash for c in (*here, *beside)])
    merges = list(_brought_in(cx, clock, [c for c in beside if c.hash not in gone]))
    gone |= find_reverted(ctx, cx, head, [c.hash for c in merges])
    kept = [c for c in (*here, *merges) if c.hash not in gone]
    return sorted(kept, key=lambda c: place_on(clock, c.position))


def _brought_in(cx: Connection, clock: Clock, marked: Sequence[OwnCommit]) -> Iterator[OwnCommit]:
    """The merges among the first parents that brought in commits of the writer, with the writes of these."""
    lines, path = history.Lines(cx), _FirstParents(clock)
    writes: dict[Position, set[str]] = {}
    for own in marked:
        if is_ancestor(lines, own.position, clock.head):
            at = bisect_left(path, True, key=partial(is_ancestor, lines, own.position))
            writes.setdefault(path[at], set()).update(own.writes or ())
    for position, named in writes.items():
        yield OwnCommit(position, history.known_head(cx, position).hash, {}, frozenset(named))


class _FirstParents(Sequence[Position]):
    """The commits on a path of first parents, oldest first."""

    def __init__(self, clock: Clock) -> None:
        self._ends = list(reversed(clock.positions))
        self._counts = list(accumulate(p.index + 1 for p in self._ends))

    def __len__(self) -> int:
        return self._counts[-1]

    def __getitem__(self, number: Any) -> Any:
        line = bisect_right(self._counts, number)
        before = self._counts[line - 1] if line else 0
        return Position(self._ends[line].line, number - before)


def _marked(ctx: Context, cx: Connection, mark: Mark) -> Iterator[OwnCommit]:
    for position, hash_, said in provenance.commits_with(cx, ctx.record.id, mark.fact):
        if mark.is_own(said):
            writes = mark.writes(said) if mark.writes else said.get("writes")
            yield OwnCommit(position, hash_, said, None if writes is None else frozenset(writes))


def find_reverted(ctx: Context, cx: Connection, head: Position, hashes: Collection[str]) -> set[str]:
    """Find which of these commits are reverted at a commit; a revert that was itself reverted does not count."""
    if not hashes:
        return set()
    lines = history.Lines(cx)
    links = provenance.reverts_of(cx, ctx.record.id, hashes)
    reached = [link for link in links if is_ancestor(lines, link.position, head)]
    undone = find_reverted(ctx, cx, head, {link.by for link in reached})
    return {link.reverted for link in reached if link.by not in undone}


def place_on(clock: Clock, position: Position) -> tuple[int, int]:
    """Sort key for commits on a path of first parents, oldest first."""
    lines = [p.line for p in clock.positions]
    return -lines.index(position.line), position.index


def whole_path(clock: Clock) -> tuple[tuple[LineId, int, int], ...]:
    """The commits from the first to a commit, along first parents."""
    return tuple((p.line, 0, p.index) for p in reversed(clock.positions))


def steps_of(
    cx: Connection, head: Position, own: Sequence[OwnCommit], thing: ThingId, since: Position | None = None
) -> list[OwnStep]:
    """Cut the commits that touched a thing, along the first parents, into those of the writer and those of others.

    With `since`, only commits after that one; if it is not among the first parents, they count as others' together.
    """
    clock = history.clock(cx, head)
    if since is not None and not clock.holds(since):
        return [OwnStep(since, head, None)]
    ranges = whole_path(clock) if since is None else clock.since(since)
    legs = (Stretch(ranges),) if ranges else ()
    touching = {position for position, _ in paths.entries_along(cx, legs, [thing])}
    mine = {c.position: c for c in own}
    found: list[OwnStep] = []
    for position in sorted(touching, key=lambda p: place_on(clock, p)):
        if found and not found[-1].is_own and position not in mine:
            found[-1] = OwnStep(found[-1].before, position, None)
        else:
            found.append(OwnStep(history.parent(cx, position, 1), position, mine.get(position)))
    return found
