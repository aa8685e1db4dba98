"""Deep clocks: a line that carries the whole state ends every look-up, and nobody sees that it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

import anabranch as ab
from anabranch.catalog import history, tables
from tests.catalog import stores
from tests.catalog.histories import position_of
from tests.catalog.stores import another, ids, make_table, put

store = stores.store
repo = stores.repo

SHALLOW = ab.Settings(folding=ab.FoldingSettings(clock_depth_limit=3))


@pytest.fixture
def shallow(store: stores.Store) -> Iterator[ab.Repository]:
    """A repository that makes a checkpoint at every third line."""
    with store.init(settings=SHALLOW) as made:
        yield made


def chain(repo: ab.Repository, depth: int, *, table: str = "t", start: str = "main") -> list[ab.Commit]:
    """Make a branch of a branch of a branch, each with a commit of its own that adds a row."""
    made, at = [], start
    for level in range(depth):
        name = f"{start}-{level}"
        repo.branch(name, at=at)
        made.append(put(repo, table, 100 + level, branch=name))
        at = name
    return made


def carried(repo: ab.Repository) -> int:
    with repo._ctx.catalog.read() as cx:
        e, c = tables.entries.c, tables.commits.c
        own = select(c.line_id).where(c.repository_id == repo._ctx.record.id)
        return cx.scalar(select(func.count()).where(e.carried, e.line_id.in_(own))) or 0


@pytest.mark.long
def test_tables_are_found_and_listed_a_hundred_lines_deep(repo: ab.Repository) -> None:
    make_table(repo, "t")
    make_table(repo, "other")
    depth, at, rows, touched = 104, "main", [1], []  # three checkpoints, and more lines than one query takes
    for level in range(depth):
        repo.branch(f"b{level}", at=at)
        at = f"b{level}"
        with repo.commit(at, f"level {level}", allow_empty=True) as tx:
            if level % 10 == 0:
                tx.table("t").insert([{"id": 100 + level, "v": 0}])
        if level % 10 == 0:
            rows.append(100 + level)
            touched.append(tx.commit.hash)
        if level in (0, 31, 32, 63, 99, 100, 103):
            assert ids(repo, "t", at) == rows
            assert {t.name: t.row_count for t in repo.tables(at)} == {"t": len(rows), "other": 1}
            assert repo.table("other", at).rows() == [{"id": 1, "v": 1}]
    with repo._ctx.catalog.read() as cx:
        clock = history.clock(cx, position_of(repo, at))
    assert len(clock.positions) == depth + 1
    assert len(clock.entry_positions) < 32
    assert carried(repo) == 6
    assert [c.hash for c in repo.log(at, table="t")][:-1] == touched[::-1]
    assert [c.message for c in repo.log(at, table="other")] == ["make other"]
    assert [c.tables for c in repo.log(at, limit=depth)] == [("t",) if n % 10 == 0 else () for n in range(103, -1, -1)]
    assert repo.show(f"{at}~{depth}").message == "make other"


def test_what_is_carried_is_not_what_a_commit_touched(shallow: ab.Repository) -> None:
    make_table(shallow, "t")
    make_table(shallow, "u")
    made = chain(shallow, 7)
    assert carried(shallow) > 0
    for commit in made:
        assert commit.tables == ("t",)
        assert [c.table for c in shallow.show_changes(commit.hash)] == ["t"]
    assert [c.message for c in shallow.log("main-6", table="u")] == ["make u"]
    assert len(shallow.log("main-6", table="t")) == 8


def test_a_table_dropped_before_a_checkpoint_stays_dropped_and_its_log_is_still_found(shallow: ab.Repository) -> None:
    make_table(shallow, "t")
    make_table(shallow, "gone")
    with shallow.commit("main", "drop") as tx:
        tx.drop_table("gone")
    chain(shallow, 5)
    assert [t.name for t in shallow.tables("main-4")] == ["t"]
    with pytest.raises(ab.NotFound, match="gone"):
        shallow.table("gone", at="main-4")
    assert [c.message for c in shallow.log("main-4", table="gone")] == ["drop", "make gone"]


def test_a_table_made_again_after_a_checkpoint_is_the_new_one(shallow: ab.Repository) -> None:
    make_table(shallow, "t")
    make_table(shallow, "again", [{"id": 1, "v": 1}])
    chain(shallow, 4)
    with shallow.commit("main-3", "drop") as tx:
        tx.drop_table("again")
    make_table(shallow, "again", [{"id": 9, "v": 9}], branch="main-3")
    chain(shallow, 4, table="again", start="main-3")
    assert ids(shallow, "again", "main-3-3") == [9, 100, 101, 102, 103]
    assert ids(shallow, "again", "main") == [1]


def test_a_checkpoint_commit_may_itself_make_and_drop_tables(shallow: ab.Repository) -> None:
    for name in ("keep", "drop", "change"):
        make_table(shallow, name)
    at = "main"
    for level in range(4):
        name = f"level-{level}"
        shallow.branch(name, at=at)
        with shallow.commit(name, name) as tx:
            tx.table("change").insert([{"id": 10 + level, "v": 0}])
            tx.drop_table("drop")
            tx.create_table("drop", [{"id": level}], key="id")
            tx.create_table(f"new_{level}", [{"id": level}], key="id")
        assert tx.commit.tables == ("change", "drop", "drop", f"new_{level}")
        at = name
    assert [t.name for t in shallow.tables("level-3")] == ["change", "drop", "keep", "new_0", "new_1", "new_2", "new_3"]
    assert ids(shallow, "drop", "level-3") == [3]
    assert ids(shallow, "change", "level-3") == [1, 10, 11, 12, 13]
    assert ids(shallow, "keep", "level-3") == [1]


def test_namespaces_in_namespaces_are_carried(shallow: ab.Repository) -> None:
    with shallow.commit("main", "make") as tx:
        tx.create_namespace("a")
        tx.create_namespace("a.b")
        tx.create_table("a.b.t", [{"id": 1, "v": 1}], key="id")
        tx.create_table("a.u", [{"id": 1, "v": 1}], key="id")
    chain(shallow, 5, table="a.u")
    assert shallow.namespaces("main-4") == ["a", "a.b"]
    assert [t.name for t in shallow.tables("main-4")] == ["a.b.t", "a.u"]
    assert [t.name for t in shallow.tables("main-4", namespace="a.b")] == ["a.b.t"]
    assert ids(shallow, "a.b.t", "main-4") == [1]
    put(shallow, "a.b.t", 2, branch="main-4")
    assert shallow.show("main-4").tables == ("a.b.t",)


def test_a_checkpoint_made_meanwhile_does_not_count_as_a_change_of_every_table(shallow: ab.Repository) -> None:
    make_table(shallow, "t")
    make_table(shallow, "u")
    chain(shallow, 2, table="u")
    shallow.branch("deep", at="main-1")
    with shallow.commit("deep", "on t") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        put(shallow, "u", 7, branch="deep")  # this one starts the line, and carries t
    assert carried(shallow) > 0
    assert ids(shallow, "t", "deep") == [1, 2]
    assert 7 in ids(shallow, "u", "deep")


def test_a_limit_of_one_makes_every_new_line_a_checkpoint(store: stores.Store) -> None:
    with store.init(settings=ab.Settings(folding=ab.FoldingSettings(clock_depth_limit=1))) as repo:
        make_table(repo, "t")
        chain(repo, 3)
        with repo._ctx.catalog.read() as cx:
            assert history.clock(cx, position_of(repo, "main-2")).reach == 1
        assert ids(repo, "t", "main-2") == [1, 100, 101, 102]


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("branch"), st.integers(0, 9)),
        st.tuples(st.just("create"), NAMES),
        st.tuples(st.just("drop"), NAMES),
        st.tuples(st.just("touch"), NAMES),
    ),
    min_size=4,
    max_size=14,
)


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_random_histories_over_checkpoints_show_what_a_dict_would(
    repo: ab.Repository, steps: list[tuple[str, Any]]
) -> None:
    own = another(repo)
    own = ab.Repository(replace(own._ctx, settings=ab.Settings(folding=ab.FoldingSettings(clock_depth_limit=2))))
    states: dict[str, dict[str, int]] = {"main": {}}
    branch = "main"
    for number, (kind, what) in enumerate(steps):
        if kind == "branch":
            start = list(states)[what % len(states)]
            branch = f"b{number}"
            own.branch(branch, at=start)
            states[branch] = dict(states[start])
            continue
        state = states[branch]
        if (kind == "create") == (what in state):
            continue
        with own.commit(branch, f"{kind} {what}") as tx:
            if kind == "create":
                tx.create_table(what, schema={"id": "int"}, key="id")
                state[what] = 0
            elif kind == "drop":
                tx.drop_table(what)
                del state[what]
            else:
                tx.table(what).insert([{"id": number}])
                state[what] += 1
        assert tx.commit.tables == (what,)
    for name, state in states.items():
        assert {t.name: t.row_count for t in own.tables(name)} == state
        for table, rows in state.items():
            assert len(own.table(table, at=name).rows()) == rows
