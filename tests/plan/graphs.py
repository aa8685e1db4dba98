"""Random histories with merges: how they are drawn, where their commits lie on lines, and a naive oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from hypothesis import strategies as st

from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId
from anabranch.plan.history import Edge, Step


@dataclass(frozen=True)
class Made:
    """One commit of a graph: its branch and the numbers of its parents, the first parent first."""

    branch: int
    parents: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """Commits in the order they were made; number 0 is the root, on branch 0."""

    commits: tuple[Made, ...]

    @cached_property
    def ancestors(self) -> list[frozenset[int]]:
        """Walk parents commit by commit: for each commit, itself and all below it."""
        found: list[frozenset[int]] = []
        for number, made in enumerate(self.commits):
            found.append(frozenset({number}).union(*(found[p] for p in made.parents)))
        return found

    def is_ancestor(self, old: int, new: int) -> bool:
        return old in self.ancestors[new]

    def merge_bases(self, ours: int, theirs: int) -> set[int]:
        """The common ancestors that no other common ancestor comes after."""
        common = self.ancestors[ours] & self.ancestors[theirs]
        return {c for c in common if not any(c != d and c in self.ancestors[d] for d in common)}

    @cached_property
    def generations(self) -> list[int]:
        found: list[int] = []
        for made in self.commits:
            found.append(1 + max((found[p] for p in made.parents), default=-1))
        return found

    @cached_property
    def positions(self) -> list[Position]:
        """A commit extends its first parent's line if that is the line's tip and began on the same branch."""
        tips: dict[LineId, int] = {}
        owners: dict[LineId, int] = {}
        found: list[Position] = []
        for made in self.commits:
            above = found[made.parents[0]] if made.parents else None
            if above and tips[above.line] == above.index and owners[above.line] == made.branch:
                place = Position(above.line, above.index + 1)
            else:
                place = Position(LineId(f"l{len(tips)}"), 0)
                owners[place.line] = made.branch
            tips[place.line] = place.index
            found.append(place)
        return found


@dataclass
class MemoryLines:
    """What the search for ancestors asks of a catalogue, answered from a graph; `asked` counts the steps handed out."""

    graph: Graph
    asked: int = 0
    _by_position: dict[Position, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_position = {p: n for n, p in enumerate(self.graph.positions)}

    def generation(self, position: Position) -> int:
        return self.graph.generations[self._by_position[position]]

    def below(self, position: Position) -> Iterator[Step]:
        for index in range(position.index, -1, -1):
            number = self._by_position[Position(position.line, index)]
            for parent in self.graph.commits[number].parents[1:]:
                yield self._step(index, self.graph.generations[number], parent)
            if index == 0 and self.graph.commits[number].parents:
                first = self.graph.commits[number].parents[0]
                yield self._step(0, self.graph.generations[first] + 1, first)

    def clock(self, position: Position) -> Clock:
        found, at = [], self._by_position[position]
        while True:
            found.append(self.graph.positions[at])
            start = self._by_position[Position(found[-1].line, 0)]
            if not self.graph.commits[start].parents:
                return Clock(tuple(found))
            at = self.graph.commits[start].parents[0]

    def edges(self, clock: Clock, above: int) -> Iterator[Edge]:
        for line, top in reversed(clock.positions):
            for index in range(top + 1):
                number = self._by_position[Position(line, index)]
                for n, parent in enumerate(self.graph.commits[number].parents[1:], 1):
                    if self.graph.generations[number] > above:
                        yield Edge(Position(line, index), n, self.graph.positions[parent])

    def _step(self, index: int, generation: int, parent: int) -> Step:
        self.asked += 1
        return Step(index, generation, self.graph.positions[parent], self.graph.generations[parent])


@st.composite
def graphs(draw: st.DrawFn, max_commits: int = 12, branches: int = 4) -> Graph:
    """Branches, resets, merges, criss-crosses and octopuses, in any order."""
    commits = [Made(0, ())]
    heads = {0: 0}
    steps = st.tuples(
        st.integers(0, branches - 1),
        st.sampled_from(["commit", "merge", "merge", "octopus", "reset", "any"]),
        st.lists(st.integers(0, 2**16), min_size=3, max_size=3),
    )
    for branch, kind, picks in draw(st.lists(steps, min_size=1, max_size=max_commits - 1)):
        anywhere = picks[0] % len(commits)
        first = anywhere if kind == "reset" or branch not in heads else heads[branch]
        others: list[int] = []
        if kind in ("merge", "octopus"):
            tips = list(heads.values())
            others = [tips[p % len(tips)] for p in picks[1 : 2 if kind == "merge" else 3]]
        elif kind == "any":
            others = [p % len(commits) for p in picks[1:]]
        parents = tuple(dict.fromkeys((first, *others)))
        heads[branch] = len(commits)
        commits.append(Made(branch, parents))
    return Graph(tuple(commits))


def made(*parents: tuple[int, ...], branches: tuple[int, ...] | None = None) -> Graph:
    """Write a graph by hand: the parents of commit 1, 2, 3 …; each on a branch of its own unless told."""
    own = branches or tuple(range(1, len(parents) + 1))
    return Graph((Made(0, ()), *(Made(b, p) for b, p in zip(own, parents, strict=True))))
