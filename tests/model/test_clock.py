"""Arithmetic on clocks, against a list of commits walked one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId


def clock(*pairs: tuple[str, int], reach: int = 1) -> Clock:
    return Clock(tuple(Position(LineId(line), index) for line, index in pairs), reach)


def at(line: str, index: int) -> Position:
    return Position(LineId(line), index)


# dev sprang from main/2, qa from dev/1; qa stands at 3.
DEEP = clock(("qa", 3), ("dev", 1), ("main", 2))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (0, at("qa", 3)),
        (1, at("qa", 2)),
        (3, at("qa", 0)),
        (4, at("dev", 1)),
        (5, at("dev", 0)),
        (6, at("main", 2)),
        (8, at("main", 0)),
        (9, None),
        (10**30, None),
    ],
)
def test_going_back_crosses_from_line_to_line(steps: int, expected: Position | None) -> None:
    assert DEEP.back(steps) == expected


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (at("qa", 3), True),
        (at("qa", 0), True),
        (at("qa", 4), False),
        (at("dev", 1), True),
        (at("dev", 2), False),
        (at("main", 2), True),
        (at("main", 3), False),
        (at("other", 0), False),
    ],
)
def test_a_clock_holds_what_lies_on_its_path(position: Position, expected: bool) -> None:
    assert DEEP.holds(position) is expected


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (at("qa", 3), ()),
        (at("qa", 1), (("qa", 2, 3),)),
        (at("dev", 1), (("qa", 0, 3),)),
        (at("dev", 0), (("dev", 1, 1), ("qa", 0, 3))),
        (at("main", 2), (("dev", 0, 1), ("qa", 0, 3))),
        (at("main", 0), (("main", 1, 2), ("dev", 0, 1), ("qa", 0, 3))),
    ],
)
def test_the_way_since_a_base_is_told_oldest_first(base: Position, expected: tuple[object, ...]) -> None:
    assert DEEP.since(base) == expected


def test_entries_are_looked_for_no_further_than_the_reach() -> None:
    assert clock(("qa", 3), ("dev", 1), ("main", 2), reach=2).entry_positions == (at("qa", 3), at("dev", 1))
    assert list(DEEP) == [at("qa", 3), at("dev", 1), at("main", 2)]
    assert DEEP.head == at("qa", 3)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_arithmetic_agrees_with_a_walk(indexes: list[int]) -> None:
    lines = clock(*((f"l{n}", index) for n, index in enumerate(indexes)))
    walk = [at(f"l{n}", i) for n, index in enumerate(indexes) for i in range(index, -1, -1)]
    assert [lines.back(n) for n in range(len(walk) + 1)] == [*walk, None]
    assert all(lines.holds(p) for p in walk)
    for place, base in enumerate(walk):
        told = [at(line, i) for line, low, high in lines.since(base) for i in range(low, high + 1)]
        assert told == walk[:place][::-1]


def test_two_paths_part_at_the_newest_commit_on_both() -> None:
    main = Clock((Position(LineId("a"), 7),))
    dev = Clock((Position(LineId("b"), 2), Position(LineId("a"), 4)))
    other = Clock((Position(LineId("c"), 0), Position(LineId("b"), 1), Position(LineId("a"), 4)))
    assert main.fork(dev) == dev.fork(main) == Position(LineId("a"), 4)
    assert dev.fork(other) == other.fork(dev) == Position(LineId("b"), 1)
    assert dev.fork(dev) == dev.head
