"""Ancestry and merge bases over lines and merge edges, against a walk over parents commit by commit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.plan.history import is_ancestor, lone_fork, merge_bases, newest_of
from tests.plan.graphs import Graph, Made, MemoryLines, graphs, made


def bases(graph: Graph, ours: int, theirs: int) -> set[int]:
    found = merge_bases(MemoryLines(graph), graph.positions[ours], graph.positions[theirs])
    assert len(set(found)) == len(found), "a base was told twice"
    return {graph.positions.index(p) for p in found}


def ancestor(graph: Graph, old: int, new: int) -> bool:
    return is_ancestor(MemoryLines(graph), graph.positions[old], graph.positions[new])


@pytest.mark.parametrize(
    ("graph", "ours", "theirs", "expected"),
    [
        pytest.param(made((0,), (1,), branches=(0, 0)), 2, 2, {2}, id="one commit"),
        pytest.param(made((0,), (1,), branches=(0, 0)), 1, 2, {1}, id="one line"),
        pytest.param(made((0,), (0,)), 1, 2, {0}, id="a fork"),
        pytest.param(made((0,), (0,), (1, 2), (2,), branches=(0, 1, 0, 1)), 3, 4, {2}, id="merged before"),
        pytest.param(made((0,), (0,), (1, 2), (2, 1), branches=(0, 1, 0, 1)), 3, 4, {1, 2}, id="a criss-cross"),
        pytest.param(
            made((0,), (0,), (1, 2), (2, 1), (3,), (4,), branches=(0, 1, 0, 1, 0, 1)), 5, 6, {1, 2}, id="and on from it"
        ),
        pytest.param(
            made((0,), (0,), (1, 2), (2, 1), (3, 4), (4, 3), branches=(0, 1, 0, 1, 0, 1)), 5, 6, {3, 4}, id="twice"
        ),
        pytest.param(made((0,), (0,), (0,), (1, 2, 3), (3,), branches=(0, 1, 2, 0, 2)), 4, 5, {3}, id="an octopus"),
        pytest.param(
            made((0,), (0,), (0,), (1, 2, 3), (2, 3), branches=(0, 1, 2, 0, 1)), 4, 5, {2, 3}, id="two of an octopus"
        ),
        pytest.param(made((0,), (1, 0), (0,), branches=(0, 0, 1)), 2, 3, {0}, id="a merge of its own ancestor"),
        pytest.param(made((0,), (1,), (1,), (2, 0), branches=(0, 1, 2, 1)), 4, 3, {1}, id="an old further parent"),
        pytest.param(
            made((0,), (1,), (2,), (0,), (4, 1), (4, 3), branches=(0, 0, 0, 1, 2, 3)), 5, 6, {1, 4}, id="high and low"
        ),
    ],
)
def test_the_bases_of_known_histories(graph: Graph, ours: int, theirs: int, expected: set[int]) -> None:
    assert graph.merge_bases(ours, theirs) == expected, "the oracle"
    assert bases(graph, ours, theirs) == expected
    assert bases(graph, theirs, ours) == expected


@settings(max_examples=150, deadline=None)
@given(graphs(max_commits=12))
def test_all_pairs_of_small_histories_agree_with_a_walk(graph: Graph) -> None:
    numbers = range(len(graph.commits))
    for one in numbers:
        for other in numbers:
            assert ancestor(graph, one, other) == graph.is_ancestor(one, other), (one, other)
            assert bases(graph, one, other) == graph.merge_bases(one, other), (one, other)


@settings(max_examples=150, deadline=None)
@given(graphs(max_commits=60, branches=5), st.data())
def test_pairs_of_larger_histories_agree_with_a_walk(graph: Graph, data: st.DataObject) -> None:
    numbers = st.integers(0, len(graph.commits) - 1)
    for one, other in data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12)):
        assert ancestor(graph, one, other) == graph.is_ancestor(one, other), (one, other)
        assert bases(graph, one, other) == graph.merge_bases(one, other), (one, other)


@settings(max_examples=100, deadline=None)
@given(graphs(max_commits=20, branches=2), st.data())
def test_criss_crosses_agree_with_a_walk(graph: Graph, data: st.DataObject) -> None:
    numbers = st.integers(0, len(graph.commits) - 1)
    one, other = data.draw(numbers), data.draw(numbers)
    assert bases(graph, one, other) == graph.merge_bases(one, other)


@settings(max_examples=150, deadline=None)
@given(graphs(max_commits=25, branches=6), st.data())
def test_several_commits_agree_with_pairs(graph: Graph, data: st.DataObject) -> None:
    numbers = st.integers(0, len(graph.commits) - 1)
    target, sources = data.draw(numbers), data.draw(st.lists(numbers, min_size=1, max_size=5, unique=True))
    lines, at = MemoryLines(graph), graph.positions
    alone = [
        s
        for s in sources
        if not graph.is_ancestor(s, target) and not any(s != o and graph.is_ancestor(s, o) for o in sources)
    ]
    assert newest_of(lines, [at[s] for s in sources], at[target]) == [at[s] for s in alone]
    fork = lone_fork(lines, lines.clock(at[target]), [lines.clock(at[s]) for s in alone]) if alone else None
    if fork is not None:
        for n, source in enumerate(alone):
            others = [at[s] for s in alone[:n]]
            assert merge_bases(lines, at[target], at[source], *others) == (fork,)


def test_long_lines_are_never_walked_commit_by_commit() -> None:
    long = 3_000
    line = [Made(0, ()), *(Made(0, (n,)) for n in range(long))]
    side = [Made(1, (5,)), *(Made(1, (n,)) for n in range(long + 1, 2 * long))]
    graph = Graph((*line, *side, Made(0, (long, 2 * long - 1))))
    lines = MemoryLines(graph)
    top, old = graph.positions[-1], graph.positions[2]
    assert is_ancestor(lines, old, top)
    assert merge_bases(lines, top, graph.positions[2 * long - 1]) == (graph.positions[2 * long - 1],)
    assert merge_bases(lines, graph.positions[long], graph.positions[2 * long - 1]) == (graph.positions[5],)
    assert lines.asked < 20
