"""Ancestry and merge bases in the real catalogue, with merges made by hand, against a walk commit by commit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.catalog import branches, history
from anabranch.catalog.publish import publish
from anabranch.model.content import Content, Publication
from anabranch.model.ids import CommitId, new_id
from anabranch.plan.history import is_ancestor, merge_bases
from tests.catalog import stores
from tests.catalog.histories import Real, position_of, publish_graph
from tests.catalog.stores import another
from tests.plan.graphs import Graph, Made, graphs, made

store = stores.store
repo = stores.repo

# Failing graphs are shrunk in tests/plan, where it costs nothing.
ON_A_DATABASE = settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def add_lines(repo: ab.Repository, count: int) -> None:
    """Publish empty commits on main, each on a line of its own."""
    ctx = repo._ctx
    with ctx.catalog.write() as cx:
        for number in range(count):
            head = branches.find(cx, ctx.record.id, "main")
            assert head is not None
            parent = history.head(cx, head.position)
            assert parent is not None
            id_ = CommitId(new_id("k"))
            made = Publication(ctx.record.id, head, (parent,), id_, "ann", f"{number}", 1, (), "commit", Content())
            publish(cx, replace(made, starts_line=True), ctx.store_id, 32)


@pytest.mark.long
def test_log_and_show_ask_no_more_of_a_history_of_many_lines(repo: ab.Repository) -> None:
    stores.make_table(repo, "t")
    counts = []
    for count in (40, 160):
        add_lines(repo, count)
        with stores.listening(repo) as asked:
            assert [c.message for c in repo.log(limit=3)] == [str(count - n) for n in (1, 2, 3)]
            assert repo.show("main").id == f"main/{1 + sum((40, 160)[: len(counts) + 1])}"
        counts.append(len(asked))
    assert counts[1] == counts[0] > 0


def assert_as_a_walk_finds(repo: ab.Repository, graph: Graph, pairs: list[tuple[int, int]]) -> None:
    own = another(repo)
    real = publish_graph(own, graph)
    numbers = {head.position: n for n, head in enumerate(real.heads)}
    with own._ctx.catalog.read() as cx:
        lines = history.Lines(cx)
        for one, other in pairs:
            a, b = real.heads[one].position, real.heads[other].position
            assert is_ancestor(lines, a, b) == graph.is_ancestor(one, other), (one, other)
            found = merge_bases(lines, a, b)
            assert sorted(numbers[p] for p in found) == sorted(graph.merge_bases(one, other)), (one, other)


@ON_A_DATABASE
@given(graph=graphs(max_commits=14), data=st.data())
def test_ancestry_agrees_with_a_walk(repo: ab.Repository, graph: Graph, data: st.DataObject) -> None:
    numbers = st.integers(0, len(graph.commits) - 1)
    assert_as_a_walk_finds(repo, graph, data.draw(st.lists(st.tuples(numbers, numbers), min_size=4, max_size=10)))


CRISS_CROSS = made((0,), (0,), (1, 2), (2, 1), (3,), (4,), branches=(0, 1, 0, 1, 0, 1))


def every_pair(graph: Graph) -> list[tuple[int, int]]:
    numbers = range(len(graph.commits))
    return [(a, b) for a in numbers for b in numbers]


def test_a_criss_cross_has_two_bases(repo: ab.Repository) -> None:
    assert_as_a_walk_finds(repo, CRISS_CROSS, every_pair(CRISS_CROSS))


def test_an_octopus_reaches_all_its_parents(repo: ab.Repository) -> None:
    sides = 12
    graph = made(*((0,) for _ in range(sides)), tuple(range(sides + 1)))
    assert_as_a_walk_finds(repo, graph, [(n, sides + 1) for n in range(sides + 2)])


def test_a_line_with_more_merges_than_a_page_is_read_to_its_end(repo: ab.Repository) -> None:
    commits = [Made(0, ()), Made(1, (0,)), Made(2, (0,)), Made(3, (0,)), Made(0, (0, 3))]
    commits += [Made(0, (n, 1, 2)) for n in range(4, 136)]  # more edges above the one to commit 3 than a page holds
    graph = Graph(tuple(commits))
    last = len(commits) - 1
    assert_as_a_walk_finds(repo, graph, [(3, last), (1, last), (0, last), (last, 3), (20, last)])


@pytest.fixture
def real(repo: ab.Repository) -> Real:
    return publish_graph(repo, CRISS_CROSS)


def test_bases_and_ancestry_are_told_for_refs(repo: ab.Repository, real: Real) -> None:
    assert {c.hash for c in repo.merge_base("main", "b1")} == real.hashes({1, 2})
    assert repo.is_ancestor("main~1", "main")
    assert repo.is_ancestor("main", "main")
    assert repo.is_ancestor(real.heads[2].hash, "main")
    assert not repo.is_ancestor("b1", "main")


def test_every_parent_of_a_merge_is_found_by_its_number(repo: ab.Repository, real: Real) -> None:
    merge = real.heads[3]
    assert position_of(repo, f"{merge.hash}^1") == real.heads[1].position
    assert position_of(repo, f"{merge.hash}^2") == real.heads[2].position
    assert position_of(repo, f"{merge.hash}^2~1") == real.heads[0].position
    assert position_of(repo, f"{merge.hash}^0") == merge.position
    assert position_of(repo, "main~1^2") == real.heads[2].position
    with pytest.raises(ab.NotFound, match="no parent number 3"):
        position_of(repo, f"{merge.hash}^3")
    assert repo.show(merge.hash).parents == (real.heads[1].hash, real.heads[2].hash)


def test_a_commit_never_finishes_before_its_parents(repo: ab.Repository, real: Real) -> None:
    for number, commit in enumerate(real.graph.commits):
        for parent in commit.parents:
            assert real.heads[parent].finished_at <= real.heads[number].finished_at
            assert real.heads[parent].generation < real.heads[number].generation


def test_a_branch_whose_work_a_merge_reaches_may_be_deleted_without_force(repo: ab.Repository, real: Real) -> None:
    repo.branch("kept", at=real.heads[2].hash)
    repo.reset("b1", to="main")  # nothing but the merge on main reaches commit 2 now
    repo.delete_branch("kept")
    repo.branch("lost", at=real.heads[4].hash)
    with pytest.raises(ab.InvalidRequest, match="force"):
        repo.delete_branch("lost")


def test_a_branch_can_be_fast_forwarded_over_a_merge(repo: ab.Repository, real: Real) -> None:
    repo.branch("behind", at=real.heads[2].hash)
    moved = repo.fast_forward("behind", to="main")
    assert moved.commit == real.heads[5].hash
    with pytest.raises(ab.InvalidRequest, match="fast-forward"):
        repo.fast_forward("behind", to="b1")
