"""Search ancestry over lines and merge edges, newest generation first, never commit by commit.

A line is a chain of first parents, so reaching one of its commits reaches all below it. Only its merge
commits and its first commit lead elsewhere: these are the steps that the search asks for.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId


@dataclass(frozen=True)
class Step:
    """From the commit at `index` of a line to a parent on another line."""

    index: int
    generation: int
    """The commit's own generation, or less; always more than the parent's."""
    parent: Position
    parent_generation: int


class LineReader(Protocol):
    """What the search needs to know about lines."""

    def generation(self, position: Position) -> int:
        """Return the generation number of a commit."""

    def below(self, position: Position) -> Iterator[Step]:
        """Yield the steps to other lines from this commit and those below it on its line, highest first."""


class Edge(NamedTuple):
    """From a merge commit to a further parent."""

    merge: Position
    number: int
    parent: Position


class ForkReader(LineReader, Protocol):
    """What finding a path or a fork needs to know."""

    def clock(self, position: Position) -> Clock:
        """Return the clock of a commit."""

    def edges(self, clock: Clock, above: int) -> Iterator[Edge]:
        """Yield the edges to further parents from commits on a clock with generations above `above`, oldest first."""


class _ReachedCommit(NamedTuple):
    """A commit to visit: one that was just reached, or one that leads to another line."""

    order: tuple[int, int]
    position: Position
    step: Step | None
    rest: Iterator[Step]


class _Side:
    """How far some commits reach: the highest index on each line met so far, and what is still to be followed."""

    def __init__(self, lines: LineReader, *starts: Position) -> None:
        self.reach: dict[LineId, int] = {}
        self._lines, self._tie = lines, count()
        self.heap: list[_ReachedCommit] = []
        for start in starts:
            self.arrive(start, lines.generation(start))

    @property
    def newest(self) -> int:
        return -self.heap[0].order[0] if self.heap else -1

    def holds(self, position: Position) -> bool:
        return self.reach.get(position.line, -1) >= position.index

    def pop(self) -> _ReachedCommit:
        return heapq.heappop(self.heap)

    def follow(self, place: _ReachedCommit) -> None:
        """Take the step to the other line, if there is one, and queue the next step down this line."""
        if place.step:
            self.arrive(place.step.parent, place.step.parent_generation)
        step = next(place.rest, None)
        if step:
            position = Position(place.position.line, step.index)
            heapq.heappush(self.heap, _ReachedCommit((-step.generation, next(self._tie)), position, step, place.rest))

    def go_down(self, position: Position, generation: int) -> None:
        """Follow what may lead to a commit until it is reached, or nothing can reach it."""
        while not self.holds(position) and self.newest >= generation:
            self.follow(self.pop())

    def arrive(self, position: Position, generation: int) -> None:
        """Reach a commit, and all below it on its line."""
        if not self.holds(position):
            self.reach[position.line] = position.index
            rest = self._lines.below(position)
            heapq.heappush(self.heap, _ReachedCommit((-generation, next(self._tie)), position, None, rest))


def reached(lines: LineReader, *commits: Position) -> dict[LineId, int]:
    """Find all that commits reach over all parents: the highest index on each line; all below it is reached, too."""
    side = _Side(lines, *commits)
    while side.heap:
        side.follow(side.pop())
    return side.reach


def is_ancestor(lines: LineReader, ancestor: Position, *commits: Position) -> bool:
    """Tell whether `ancestor` is one of the commits or lies below one, over all parents."""
    oldest = lines.generation(ancestor)
    side = _Side(lines, *commits)
    side.go_down(ancestor, oldest)
    return side.holds(ancestor)


def newest_of(lines: LineReader, commits: Sequence[Position], *held: Position) -> list[Position]:
    """Those of the commits that are ancestors of none of the others and of none of `held`, in the given order.

    One search serves all: greater generations come first, so a later commit is below those already found or unrelated.
    """
    side, kept = _Side(lines, *held), set[Position]()
    generations = {c: lines.generation(c) for c in commits}
    for commit in sorted(generations, key=lambda c: -generations[c]):
        side.go_down(commit, generations[commit])
        if not side.holds(commit):
            kept.add(commit)
            side.arrive(commit, generations[commit])
    return [c for c in generations if c in kept]


def lone_fork(lines: ForkReader, target: Clock, sources: Sequence[Clock]) -> Position | None:
    """Find the one commit of the target that all sources forked from, each with commits of its own.

    None if some of these commits are merges, or shared among sources or with the target: then each has its own bases.
    """
    forks, chains = {clock.fork(target) for clock in sources}, [clock.since(clock.fork(target)) for clock in sources]
    own = {line: low for chain in chains for line, low, _ in chain}
    if len(forks) != 1 or len(own) != sum(map(len, chains)):
        return None
    (fork,) = forks
    oldest = lines.generation(fork)
    if any(next(lines.edges(clock, oldest), None) for clock in sources):
        return None
    side = _Side(lines, target.head)
    while side.newest > oldest:
        side.follow(side.pop())
    return None if any(side.reach.get(line, -1) >= low for line, low in own.items()) else fork


def merge_bases(lines: LineReader, ours: Position, theirs: Position, *merged: Position) -> tuple[Position, ...]:
    """Find the nearest common ancestors: those that are ancestors of no other one.

    With `merged`, ours stands for a commit to be made that has these as parents, too.
    """
    one, two = _Side(lines, ours, *merged), _Side(lines, theirs)
    found: list[Position] = []
    while one.heap or two.heap:
        side, other = (one, two) if one.newest >= two.newest else (two, one)
        place = side.pop()
        # Newest first: when a place is popped, the other side has reached all that it can of this line above it.
        if not other.holds(place.position):
            side.follow(place)
        elif place.step is None:
            found.append(place.position)
    found = list(dict.fromkeys(found))
    return tuple(c for c in found if not any(c != d and is_ancestor(lines, c, d) for d in found))


def nearest_first(start: str, edges: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Sort the provenance that a commit reaches by the longest path to it, so that each comes after all made from it.

    A cycle, which only a forged store can have, is listed once.
    """
    depth: dict[str, int] = {start: 0}
    order = list(_post_order(start, edges))
    for found in reversed(order):
        for below in edges.get(found, ()):
            if below != start:
                depth[below] = max(depth.get(below, 0), depth[found] + 1)
    ranked = [(name, depth[name]) for name in reversed(order) if name != start]
    return sorted(ranked, key=lambda item: item[1])


def _post_order(start: str, edges: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """Each commit after all that it was made from."""
    seen = {start}
    stack: list[tuple[str, list[str]]] = [(start, list(edges.get(start, ())))]
    while stack:
        name, left = stack[-1]
        if left:
            below = left.pop()  # last first: the list is read backwards later
            if below not in seen:
                seen.add(below)
                stack.append((below, list(edges.get(below, ()))))
        else:
            yield name
            stack.pop()
