"""Walks down the history from some commits over all parents, newest first, only as far as asked."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import count, islice

from anabranch.catalog import history
from anabranch.catalog.history import LogFilter, LogRow
from anabranch.catalog.store import Connection
from anabranch.model.clock import Position

_LONGEST_PAGE = 16_384


class Walk:
    """Opens a line only on reaching it. Commits never change, so the walk may resume later, on another connection.

    A commit dated later than the one that led to it, by a wrong clock, does not jump the queue.
    """

    def __init__(self, starts: Iterable[Position], wanted: LogFilter, page: int) -> None:
        self._wanted, self._page = wanted, page
        self._todo: list[tuple[Position, int | None]] = [(start, None) for start in starts]
        """Commits to enter, each with the time of the one that led to it."""
        self._heap: list[tuple[int, int, int, LogRow, _Descent]] = []
        self._tie, self._seen = count(), set[Position]()
        self._last: tuple[LogRow, _Descent, int] | None = None

    def positions(self, cx: Connection) -> Iterator[Position]:
        """Continue the walk; never yields a position twice."""
        while True:
            self._advance(cx)
            if not self._heap:
                return
            before, _, _, row, descent = heapq.heappop(self._heap)
            self._last = (row, descent, -before)
            if row.shown:
                yield row.position

    def take(self, cx: Connection, limit: int) -> list[Position]:
        """Return the next positions, at most `limit` of them."""
        return list(islice(self.positions(cx), limit))

    def _advance(self, cx: Connection) -> None:
        """Add what follows the last commit to the candidates."""
        if self._last is not None:
            row, descent, time = self._last
            self._last = None
            self._todo += [(parent, time) for parent in row.further_parents]
            self._enter_all(cx)
            self._push(cx, descent, time)
            if row.position.index == 0 and (origin := history.origin(cx, row.position.line)):
                self._todo.append((origin, time))
        self._enter_all(cx)

    def _enter_all(self, cx: Connection) -> None:
        todo, self._todo = self._todo, []
        for position, time in todo:
            if position not in self._seen:
                self._push(cx, _Descent(position, self._wanted, self._page), time)

    def _push(self, cx: Connection, descent: _Descent, after: int | None) -> None:
        row = descent.next(cx)
        if row is not None and row.position not in self._seen:
            self._seen.add(row.position)
            at = row.finished_at if after is None else min(row.finished_at, after)
            heapq.heappush(self._heap, (-at, -row.generation, next(self._tie), row, descent))


class _Descent:
    """The walk down one line, page by page."""

    def __init__(self, top: Position, wanted: LogFilter, page: int) -> None:
        self._top: Position | None = top
        self._wanted, self._page = wanted, page
        self._rows: Iterator[LogRow] = iter(())

    def next(self, cx: Connection) -> LogRow | None:
        found = next(self._rows, None)
        if found is None and self._top is not None:
            self._rows = iter(self._read(cx, self._top))
            found = next(self._rows, None)
        return found

    def _read(self, cx: Connection, top: Position) -> list[LogRow]:
        rows = history.log_page(cx, top, self._wanted, self._page)
        is_last = len(rows) < self._page or rows[-1].position.index == 0
        self._top = None if is_last else Position(top.line, rows[-1].position.index - 1)
        self._page = min(self._page * 4, _LONGEST_PAGE)
        return rows
