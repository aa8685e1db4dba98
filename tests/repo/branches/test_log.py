"""log and show: each commit once, newest first, over merges; and each filter against a list made by hand."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.catalog.history import LogFilter
from anabranch.repo.branches.refs import resolve
from anabranch.repo.branches.walk import Walk
from tests.catalog import stores
from tests.catalog.histories import Real, publish_graph
from tests.catalog.stores import another, make_table, put
from tests.plan.graphs import Graph, Made, graphs, made

store = stores.store
repo = stores.repo

# Failing graphs are shrunk in tests/plan, where it costs nothing.
ON_A_DATABASE = settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def numbers(real: Real, commits: list[ab.Commit]) -> list[int]:
    """The numbers in the graph of what a log told, without the repository's own root."""
    by_hash = {head.hash: n for n, head in enumerate(real.heads)}
    return [by_hash[c.hash] for c in commits if c.message != "start"]


def assert_children_come_first(graph: Graph, told: list[int]) -> None:
    place = {number: i for i, number in enumerate(told)}
    assert len(place) == len(told), "a commit was told twice"
    for number in told:
        assert all(place[number] < place[p] for p in graph.commits[number].parents if p in place)


@ON_A_DATABASE
@given(graph=graphs(max_commits=14), data=st.data())
def test_log_tells_each_reachable_commit_once_children_first(
    repo: ab.Repository, graph: Graph, data: st.DataObject
) -> None:
    own = another(repo)
    real = publish_graph(own, graph)
    for top in data.draw(st.lists(st.integers(0, len(graph.commits) - 1), min_size=1, max_size=4)):
        told = numbers(real, own.log(real.heads[top].hash))
        assert set(told) == graph.ancestors[top]
        assert_children_come_first(graph, told)
    tops = data.draw(st.lists(st.integers(0, len(graph.commits) - 1), min_size=1, max_size=4))
    told = numbers(real, own.log([real.heads[top].hash for top in tops]))
    assert set(told) == set().union(*(graph.ancestors[top] for top in tops))
    assert_children_come_first(graph, told)


@ON_A_DATABASE
@given(graph=graphs(max_commits=14), data=st.data())
def test_a_filtered_log_tells_what_a_walk_would(repo: ab.Repository, graph: Graph, data: st.DataObject) -> None:
    own = another(repo)
    real = publish_graph(own, graph)
    number = st.integers(0, len(graph.commits) - 1)
    top, low, cut = data.draw(number), data.draw(number), data.draw(number)
    ref, moment = real.heads[top].hash, real.heads[cut].finished_at
    when = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=moment)
    reachable = graph.ancestors[top]
    assert set(numbers(real, own.log(ref, table="t"))) == {n for n in reachable if "t" in real.touches(n)}
    assert set(numbers(real, own.log(ref, author="bob"))) == {n for n in reachable if real.author(n) == "bob"}
    assert set(numbers(real, own.log(ref, since=when))) == {n for n in reachable if real.heads[n].finished_at >= moment}
    assert set(numbers(real, own.log(ref, until=when))) == {n for n in reachable if real.heads[n].finished_at <= moment}
    assert set(numbers(real, own.log(f"{real.heads[low].hash}..{ref}"))) == reachable - graph.ancestors[low]
    both = own.log(ref, table="u", author="cid", limit=2)
    expected = [n for n in numbers(real, own.log(ref)) if "u" in real.touches(n) and real.author(n) == "cid"]
    assert numbers(real, both) == expected[:2]
    everything = own.log(ref)
    for limit in (0, 1, 3, 100):
        assert own.log(ref, limit=limit) == everything[:limit]


def test_the_log_of_a_long_line_is_told_in_pages(repo: ab.Repository) -> None:
    graph = made(*((n,) for n in range(150)), branches=(0,) * 150)
    real = publish_graph(repo, graph)
    told = repo.log()
    assert numbers(real, told) == list(range(150, -1, -1))
    assert told[-1].message == "start"
    assert numbers(real, repo.log(author="bob")) == [n for n in range(150, -1, -1) if n % 3 == 1]
    assert len(repo.log(limit=64)) == 64
    assert len(repo.log(limit=65)) == 65


def test_the_log_of_a_new_repository_is_its_empty_root(repo: ab.Repository) -> None:
    (root,) = repo.log()
    assert root.id == "main/0"
    assert root.parents == ()
    assert root.tables == ()
    assert repo.show() == root


def test_a_commit_tells_who_what_when_and_whence(repo: ab.Repository) -> None:
    root = repo.show()
    before = dt.datetime.now(dt.UTC)
    with repo.commit("main", "load\n\nwith a body", author="bob", provenance=[root.hash]) as tx:
        tx.create_namespace("sales")
        tx.create_table("sales.orders", [{"id": 1}], key="id")
        tx.create_table("items", [{"id": 1}], key="id")
    after = dt.datetime.now(dt.UTC)
    commit = repo.show()
    assert commit == tx.commit
    assert (commit.author, commit.message, commit.id) == ("bob", "load\n\nwith a body", "main/1")
    assert commit.tables == ("items", "sales.orders")
    assert commit.parents == (root.hash,)
    assert commit.provenance == (root.hash,)
    assert before <= commit.started_at <= commit.finished_at <= after
    assert str(commit) == commit.hash
    assert len(commit.hash) == 64


def test_the_author_of_a_commit_is_the_repositorys_unless_told(store: stores.Store) -> None:
    with store.init(author="zoe") as repo:
        assert make_table(repo, "t").author == "zoe"
        assert put(repo, "t", 2, author="bob").author == "bob"
        assert [c.message for c in repo.log(author="bob")] == ["put 2 in t"]
        assert repo.log(author="nobody") == []


def test_log_of_a_table_shows_only_what_touched_it(repo: ab.Repository) -> None:
    made_t, made_u = make_table(repo, "t"), make_table(repo, "u")
    changed = put(repo, "t", 2)
    put(repo, "u", 2)
    assert [c.hash for c in repo.log(table="t")] == [changed.hash, made_t.hash]
    assert [c.hash for c in repo.log("main~2", table="u")] == [made_u.hash]
    with pytest.raises(ab.NotFound, match="nothing"):
        repo.log(table="nothing")


def test_log_of_a_dropped_table_is_found_by_the_name_it_had(repo: ab.Repository) -> None:
    made_t = make_table(repo, "t")
    with repo.commit("main", "drop") as tx:
        tx.drop_table("t")
    make_table(repo, "u")
    assert [c.hash for c in repo.log(table="t")] == [tx.commit.hash, made_t.hash]
    assert tx.commit.tables == ("t",)


def test_log_of_a_dropped_table_shows_no_namesake_in_another_namespace(repo: ab.Repository) -> None:
    with repo.commit("main", "make both") as tx:
        tx.create_namespace("a")
        tx.create_namespace("b")
        tx.create_table("a.t", [{"id": 1, "v": 1}], key="id")
        tx.create_table("b.t", [{"id": 1, "v": 1}], key="id")
    put(repo, "b.t", 2)
    with repo.commit("main", "drop a.t") as tx:
        tx.drop_table("a.t")
    assert [c.message for c in repo.log(table="a.t")] == ["drop a.t", "make both"]
    assert [c.message for c in repo.log(table="b.t")] == ["put 2 in b.t", "make both"]


def test_a_table_made_again_under_an_old_name_is_another_table(repo: ab.Repository) -> None:
    make_table(repo, "t")
    with repo.commit("main", "drop") as tx:
        tx.drop_table("t")
    again = make_table(repo, "t")
    assert [c.hash for c in repo.log(table="t")] == [again.hash]
    assert [c.message for c in repo.log("main~1", table="t")] == ["drop", "make t"]


def test_times_in_a_filter_may_be_text_or_datetimes_and_include_their_ends(repo: ab.Repository) -> None:
    first, second, third = (make_table(repo, name) for name in "tuv")
    told = [c.hash for c in repo.log(since=second.finished_at, until=third.finished_at)]
    assert told == [third.hash, second.hash]
    assert [c.hash for c in repo.log(since=second.finished_at.isoformat())] == told
    assert repo.log(since="2100-01-01") == []
    assert repo.log(until="2001-01-01") == []
    assert [c.hash for c in repo.log(until=first.finished_at, limit=1)] == [first.hash]


@pytest.mark.parametrize("when", ["yesterday", 7, dt.date(2026, 1, 1)])
def test_a_filter_by_what_is_no_time_is_refused(repo: ab.Repository, when: object) -> None:
    with pytest.raises(ab.InvalidRequest):
        repo.log(since=when)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [-1, True, "3", 1.5])
def test_a_limit_is_a_number_from_zero_up(repo: ab.Repository, limit: object) -> None:
    with pytest.raises(ab.InvalidRequest, match="limit"):
        repo.log(limit=limit)  # type: ignore[arg-type]
    with pytest.raises(ab.InvalidRequest, match="limit"):
        repo.reflog(limit=limit)  # type: ignore[arg-type]


def test_a_range_leaves_out_what_its_first_end_reaches(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    ours = [put(repo, "t", n) for n in (2, 3)]
    theirs = [put(repo, "t", n, branch="dev") for n in (4, 5)]
    assert [c.hash for c in repo.log("main..dev")] == [c.hash for c in reversed(theirs)]
    assert [c.hash for c in repo.log("dev..main")] == [c.hash for c in reversed(ours)]
    assert [c.hash for c in repo.log("dev..")] == [c.hash for c in reversed(ours)]
    assert [c.hash for c in repo.log("..dev")] == [c.hash for c in reversed(theirs)]
    assert [c.hash for c in repo.log("main~1..main")] == [ours[1].hash]
    assert repo.log("main..main") == []
    assert [c.hash for c in repo.log("main..dev", limit=1)] == [theirs[1].hash]
    for wrong in ("main...dev", "main..dev..main"):
        with pytest.raises(ab.InvalidRequest):
            repo.log(wrong)
    with pytest.raises(ab.NotFound):
        repo.log("main..nothing")


def test_changes_of_a_commit_are_told_by_table(repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": n, "v": n} for n in range(5)])
    with repo.commit("main", "change") as tx:
        tx.table("t").insert([{"id": 10, "v": 1}, {"id": 11, "v": 1}])
        tx.table("t").update({"v": 9}, where="id = 3")
        tx.table("t").delete(where="id = 0")
        tx.create_table("u", schema={"id": "int"}, key="id")
    told = {c.table: c for c in repo.show_changes()}
    assert set(told) == {"t", "u"}
    assert (told["t"].inserted, told["t"].updated, told["t"].deleted, told["t"].row_count) == (2, 1, 1, 6)
    assert told["t"].operations == ("insert", "update", "delete")
    assert {o["kind"] for o in told["t"].objects} == {"rows", "update", "delete"}
    assert (told["u"].inserted, told["u"].operations, told["u"].objects) == (0, ("create",), ())
    with repo.commit("main", "drop") as tx:
        tx.drop_table("t")
    assert [(c.table, c.operations) for c in repo.show_changes()] == [("t", ("drop",))]


@pytest.mark.long
def test_a_long_log_costs_a_few_statements_for_all_commits(repo: ab.Repository) -> None:
    commits = [Made(0, ())]
    for number in range(150):  # a side branch that is merged, again and again
        commits += [Made(1, (len(commits) - 1,)), Made(0, (len(commits) - 1, len(commits)))] if number % 2 else []
        commits += [Made(0, (len(commits) - 1,))]
    real = publish_graph(repo, Graph(tuple(commits)))
    with stores.listening(repo) as asked:
        told = repo.log(real.heads[-1].hash)
    assert len(told) == len(commits) + 1
    assert 0 < len(asked) < len(told) * 2 / 3, "two for each line that was merged"
    by_hash = {commit.hash: commit for commit in told}
    assert [repo.show(commit.hash) for commit in told] == told
    for number, made_ in enumerate(commits[1:], 1):
        assert by_hash[real.heads[number].hash].parents == tuple(real.heads[p].hash for p in made_.parents)


def test_a_walk_goes_on_where_it_was_left_on_any_connection(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "a": 1}], key="id")
    duck.branch("dev")
    for number in range(3):
        for branch, key in (("main", 10 + number), ("dev", 20 + number)):
            with duck.commit(branch, f"{branch} {number}") as tx:
                tx.table("t").insert([{"id": key, "a": 0}])
        duck.merge("dev", into="main")
    catalog = duck._ctx.catalog
    with catalog.read() as cx:
        start = resolve(duck._ctx, cx, "main")
        whole = list(Walk([start], LogFilter(), 2).positions(cx))
    step, found = Walk([start], LogFilter(), 2), []
    while True:
        with catalog.read() as cx:
            page = step.take(cx, 1)
        if not page:
            break
        found += page
    assert found == whole
    assert len(whole) == len(duck.log("main"))
