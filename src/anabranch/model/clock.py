"""Where a commit was made, and the path of first parents that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anabranch.model.ids import LineId


@dataclass(frozen=True, order=True)
class Position:
    """A commit's coordinates: its line and its index there."""

    line: LineId
    index: int

    def __iter__(self) -> Iterator[Any]:
        return iter((self.line, self.index))


@dataclass(frozen=True)
class Clock:
    """The positions from a commit to the root, newest first: one per line on the way."""

    positions: tuple[Position, ...]
    reach: int = 1
    """How many of the positions may hold entries: there are none past a line that carries the whole state."""

    def __iter__(self) -> Iterator[Position]:
        return iter(self.positions)

    @property
    def head(self) -> Position:
        return self.positions[0]

    @property
    def number(self) -> int:
        """How many first parents lead to the root: the commit's number on any branch whose first parents include it."""
        return sum(position.index + 1 for position in self.positions) - 1

    @property
    def entry_positions(self) -> tuple[Position, ...]:
        return self.positions[: self.reach]

    def holds(self, position: Position) -> bool:
        """Tell whether the position is on this path of first parents."""
        return any(p.line == position.line and position.index <= p.index for p in self.positions)

    def back(self, steps: int) -> Position | None:
        """Return the commit that lies `steps` first parents back, or None past the root."""
        for position in self.positions:
            if steps <= position.index:
                return Position(position.line, position.index - steps)
            steps -= position.index + 1
        return None

    def fork(self, other: Clock) -> Position:
        """Return the newest commit that is on both paths of first parents; both begin at the same root."""
        reach = {p.line: p.index for p in other}
        shared = next(p for p in self.positions if p.line in reach)
        return Position(shared.line, min(shared.index, reach[shared.line]))

    def since(self, base: Position) -> tuple[tuple[LineId, int, int], ...]:
        """Return (line, low, high) ranges after `base` up to the head, oldest first; base must lie on the clock."""
        ranges: list[tuple[LineId, int, int]] = []
        for position in self.positions:
            if position.line == base.line:
                ranges.append((position.line, base.index + 1, position.index))
                break
            ranges.append((position.line, 0, position.index))
        return tuple(r for r in reversed(ranges) if r[1] <= r[2])
