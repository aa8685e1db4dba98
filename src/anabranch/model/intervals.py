"""An index of intervals: finds those that meet a given one without looking at the others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any


class IntervalIndex:
    """Closed intervals of comparable values, identified by their places in the given list.

    They are sorted by low end; a tree above them holds the greatest high end of each stretch, so that a stretch
    that ends too early is skipped as a whole.
    """

    def __init__(self, ends: Sequence[tuple[Any, Any]]) -> None:
        self._order = sorted(range(len(ends)), key=lambda n: ends[n][0])
        self._lows = [ends[n][0] for n in self._order]
        self._levels = [[ends[n][1] for n in self._order]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            above = [max(pair) for pair in zip(below[::2], below[1::2], strict=False)]
            self._levels.append(above + below[len(above) * 2 :])

    @property
    def least(self) -> Any:
        """The least value of all; None where there are no intervals."""
        return self._lows[0] if self._lows else None

    @property
    def greatest(self) -> Any:
        """The greatest value of all; None where there are no intervals."""
        return self._levels[-1][0] if self._lows else None

    def meeting(self, low: Any, high: Any) -> Iterator[int]:
        """The places of the intervals that share a value with this one, those with the least low end first."""
        end = bisect_right(self._lows, high) if self._lows else 0
        todo = [(len(self._levels) - 1, 0)] if end else []
        while todo:
            level, at = todo.pop()
            if at << level >= end or self._levels[level][at] < low:
                continue
            if level == 0:
                yield self._order[at]
                continue
            if 2 * at + 1 < len(self._levels[level - 1]):
                todo.append((level - 1, 2 * at + 1))
            todo.append((level - 1, 2 * at))

    def holding(self, values: Sequence[Any]) -> set[int]:
        """The places of the intervals that hold one of these values."""
        if len(values) <= len(self._lows):
            return {place for value in values for place in self.meeting(value, value)}
        sought = sorted(values)
        firsts = (bisect_left(sought, low) for low in self._lows)
        ends = zip(self._order, self._levels[0], firsts, strict=True)
        return {place for place, high, first in ends if first < len(sought) and sought[first] <= high}
