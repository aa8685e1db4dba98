"""Stashes: work that is set aside and brought back, on its branch or another."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1, "price": 10}], key="id")
        tx.create_table("other", [{"id": 1}], key="id")
    duck.branch("dev")
    return duck


def stage(repo: ab.Repository, branch: str, id_: int) -> Any:
    opened = repo.start(branch, message="working set", working=True)
    opened.table("orders").insert([{"id": id_, "price": id_}])
    return opened


def put(repo: ab.Repository, branch: str, table: str, id_: int) -> None:
    with repo.commit(branch, "put") as tx:
        tx.table(table).upsert([{"id": id_}])


def ids(repo: ab.Repository, at: str) -> list[int]:
    return sorted(row["id"] for row in repo.table("orders", at).rows())


def test_what_is_set_aside_is_no_working_set_until_it_is_brought_back(shop: ab.Repository) -> None:
    stage(shop, "main", 2)
    made = shop.stash("main", "half")
    assert (made.number, made.message, made.branch) == (0, "half", "main")
    assert shop.working_set("main") is None
    assert [s.message for s in shop.stashes()] == ["half"]
    back = shop.pop_stash(0, "main")
    assert back.is_working_set
    assert shop.stashes() == []
    back.finish("whole")
    assert ids(shop, "main") == [1, 2]


def test_the_newest_is_number_nought_whatever_was_staged_first(shop: ab.Repository) -> None:
    stage(shop, "main", 2)
    stage(shop, "dev", 3)
    shop.stash("dev")
    shop.stash("main")
    assert [(s.number, s.message) for s in shop.stashes()] == [(0, "orders on main"), (1, "orders on dev")]


def test_nothing_staged_is_nothing_to_set_aside(shop: ab.Repository) -> None:
    with pytest.raises(ab.NotFound, match="nothing is staged on 'main'"):
        shop.stash("main")
    shop.start("main", message="working set", working=True)
    with pytest.raises(ab.NotFound, match="nothing is staged on 'main'"):
        shop.stash("main")


def test_work_that_is_staged_already_is_not_overwritten(shop: ab.Repository) -> None:
    stage(shop, "main", 2)
    shop.stash("main")
    stage(shop, "main", 3)
    with pytest.raises(ab.AlreadyExists, match="work is staged on 'main' already"):
        shop.pop_stash(0, "main")
    assert len(shop.stashes()) == 1


def test_it_is_brought_back_on_another_branch_where_nothing_that_it_touched_differs(shop: ab.Repository) -> None:
    stage(shop, "main", 2)
    shop.stash("main")
    put(shop, "dev", "other", 7)
    put(shop, "main", "other", 8)
    back = shop.pop_stash(0, "dev")
    assert (back.branch, back.parent) == ("dev", shop.show("dev").hash)
    assert {row["id"] for row in back.table("other").rows()} == {1, 7}
    made = back.finish("on dev")
    assert made is not None
    assert made.parents == (shop.show("dev~1").hash,)
    assert (ids(shop, "dev"), ids(shop, "main")) == ([1, 2], [1])


def test_it_is_refused_on_a_branch_where_what_it_touched_differs_and_is_not_lost(shop: ab.Repository) -> None:
    put(shop, "main", "orders", 5)
    stage(shop, "main", 2)
    shop.stash("main")
    with pytest.raises(ab.BranchMoved, match="orders: not the same on 'dev'"):
        shop.pop_stash(0, "dev")
    assert shop.pop_stash(0, "main").status()["orders"]["counts"].inserted == 1


def test_on_a_branch_that_moved_on_rows_that_do_not_meet_are_still_published(shop: ab.Repository) -> None:
    stage(shop, "main", 2)
    shop.stash("main")
    put(shop, "main", "orders", 5)
    shop.pop_stash(0, "main").finish("both")
    assert ids(shop, "main") == [1, 2, 5]


def test_a_table_in_a_namespace_that_another_branch_lacks_is_refused_there(shop: ab.Repository) -> None:
    with shop.commit("main", "space") as tx:
        tx.create_namespace("sales")
    shop.start("main", message="working set", working=True).create_table("sales.t", [{"id": 1}])
    shop.stash("main")
    with pytest.raises(ab.BranchMoved, match=r"sales\.t"):
        shop.pop_stash(0, "dev")


def test_a_name_that_is_taken_on_another_branch_is_refused_there(shop: ab.Repository) -> None:
    with shop.commit("dev", "taken") as tx:
        tx.create_table("new", [{"id": 1}])
    shop.start("main", message="working set", working=True).create_table("new", [{"id": 2}])
    shop.stash("main")
    with pytest.raises(ab.BranchMoved, match="new: not the same on 'dev'"):
        shop.pop_stash(0, "dev")


def test_what_is_dropped_is_gone_with_its_objects(shop: ab.Repository) -> None:
    before = shop.verify().raise_damages().objects
    stage(shop, "main", 2)
    shop.stash("main")
    assert shop.drop_stash(0).branch == "main"
    assert (shop.stashes(), shop.open_commits(), shop.verify().raise_damages().objects) == ([], [], before)
    with pytest.raises(ab.NotFound, match=r"there is no stash 0 \(nothing was set aside\)"):
        shop.drop_stash(0)


def test_other_open_commits_are_no_stashes(shop: ab.Repository) -> None:
    shop.start("main", message="slowly")
    assert shop.stashes() == []
