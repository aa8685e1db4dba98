"""Histories that break a merge which is read too simply, each the smallest of its kind."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.errors import MergeConflict

Rows = dict[int, tuple[Any, ...]]


@pytest.fixture
def start(repo: ab.Repository) -> ab.Repository:
    """A table `t` with one row, (1: a=1, b=1), on `main` and `dev`."""
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "a": "int", "b": "int"}, key="id")
        tx.table("t").insert([{"id": 1, "a": 1, "b": 1}])
    repo.branch("dev", at="main")
    return repo


def update(repo: ab.Repository, branch: str, key: int = 1, **cells: Any) -> str:
    with repo.commit(branch, "update") as tx:
        tx.table("t").update(cells, where="id = :k", args={"k": key})
    return hash_of(tx)


def insert(repo: ab.Repository, branch: str, *rows: dict[str, Any]) -> str:
    with repo.commit(branch, "insert") as tx:
        tx.table("t").insert(list(rows))
    return hash_of(tx)


def hash_of(tx: Any) -> str:
    assert tx.commit is not None
    return str(tx.commit.hash)


def rows(repo: ab.Repository, at: str = "main") -> Rows:
    return {r.pop("id"): tuple(r.values()) for r in repo.table("t", at=at).rows()}


def head(repo: ab.Repository, branch: str = "main") -> str:
    return repo.show(branch).hash


def changed_cells(repo: ab.Repository, before: str, after: str = "main") -> list[tuple[Any, ...]]:
    found = repo.diff(before, after)["t"].cells()
    return sorted((c["key"]["id"], c["column"], c["before"], c["after"]) for c in found)


def test_a_value_that_was_taken_back_on_theirs_does_not_hide_an_edit_of_ours(start: ab.Repository) -> None:
    for value in (2, 1):
        update(start, "dev", a=value)
    update(start, "main", a=5)
    start.merge("dev", into="main")
    assert rows(start) == {1: (5, 1)}


def test_an_object_that_meets_is_rewritten_in_its_place(start: ab.Repository) -> None:
    insert(start, "main", {"id": 2, "a": 1, "b": 1})
    start.merge("main", into="dev")
    update(start, "dev", a=2)
    with start.commit("dev", "both") as tx:
        tx.table("t").upsert([{"id": 1, "a": 3}, {"id": 2, "a": 9}])
    update(start, "dev", a=4)
    update(start, "main", key=2, a=9)
    start.merge("dev", into="main")
    assert rows(start) == {1: (4, 1), 2: (9, 1)}


def test_an_equal_edit_of_both_sides_is_no_change_of_ours(start: ab.Repository) -> None:
    update(start, "dev", a=2)
    before = update(start, "main", a=2)
    start.merge("dev", into="main")
    assert changed_cells(start, before) == []
    assert "t" not in start.diff(before, "main")


def test_a_row_that_lost_a_column_and_went_comes_back_with_the_column(start: ab.Repository) -> None:
    with start.commit("dev", "drop") as tx:
        tx.table("t").drop_column("a")
    with start.commit("dev", "delete") as tx:
        tx.table("t").delete(where="id = 1")
    start.merge("dev", into="main", ff="never")
    assert rows(start) == {}
    (told,) = start.diff("main", "main~1")["t"].rows()
    assert (told["change"], told["after"]) == ("insert", {"id": 1, "a": 1, "b": 1})


def test_a_delete_of_theirs_meets_a_column_that_ours_dropped(start: ab.Repository) -> None:
    insert(start, "main", {"id": 2, "a": 0, "b": 0})
    start.merge("main", into="dev")
    with start.commit("dev", "delete") as tx:
        tx.table("t").delete(where="id = 1")
    changed = update(start, "main", a=0)
    with start.commit("main", "drop") as tx:
        tx.table("t").drop_column("a")
    start.merge("dev", into="main")
    assert rows(start) == {2: (0,)}
    (told,) = start.diff(changed, "main")["t"].rows()
    assert (told["change"], told["before"]) == ("delete", {"id": 1, "b": 1, "a": 0})


def test_a_column_added_alike_on_both_sides_stays_one(start: ab.Repository) -> None:
    for branch in ("main", "dev"):
        with start.commit(branch, "add") as tx:
            tx.table("t").add_column("x", "int", default=0)
    start.merge("dev", into="main")
    update(start, "dev", x=5)
    start.merge("dev", into="main")
    assert rows(start) == {1: (1, 1, 5)}


def test_a_source_that_is_an_ancestor_of_another_is_left_out(start: ab.Repository) -> None:
    first = update(start, "dev", a=2)
    second = update(start, "dev", a=3)
    update(start, "main", b=9)
    merged = start.merge([first, second], into="main").commit
    assert rows(start) == {1: (3, 9)}
    assert merged.parents[1:] == (second,)


def test_what_was_merged_before_and_taken_back_stays_so_beside_another_source(start: ab.Repository) -> None:
    start.branch("qa", at="main")
    update(start, "dev", a=2)
    update(start, "main", b=7)
    start.merge("dev", into="main")
    update(start, "main", a=1)
    insert(start, "dev", {"id": 5, "a": 0, "b": 0})
    insert(start, "qa", {"id": 6, "a": 0, "b": 0})
    start.merge(["dev", "qa"], into="main")
    assert rows(start) == {1: (1, 7), 5: (0, 0), 6: (0, 0)}


def test_two_increments_are_two_after_a_criss_cross(start: ab.Repository) -> None:
    ours, theirs = update(start, "main", a=2), update(start, "dev", a=2)
    rules = {"*": "sum"}
    start.merge(theirs, into="main", rules=rules)
    start.merge(ours, into="dev", rules=rules)
    start.merge("dev", into="main", rules=rules)
    assert rows(start) == {1: (3, 1)}


def test_what_two_bases_disagree_on_is_equal_to_neither_side(start: ab.Repository) -> None:
    ours, theirs = update(start, "main", a=2), update(start, "dev", a=3)
    rules = {"*": "theirs"}
    start.merge(theirs, into="main", rules=rules)
    start.merge(ours, into="dev", rules=rules)
    with pytest.raises(MergeConflict) as found:
        start.merge("dev", into="main")
    (told,) = found.value.conflicts["t"].rows()
    assert (told["key"], told["column"]) == ({"id": 1}, "a")
    assert (told["base"], told["ours"], told["theirs"]) == (None, 3, 2)


def test_a_value_taken_back_after_a_criss_cross_stays_so(start: ab.Repository) -> None:
    ours, theirs = update(start, "main", b=2), update(start, "dev", a=2)
    start.merge(theirs, into="main")
    start.merge(ours, into="dev")
    update(start, "main", a=1)
    start.merge("dev", into="main")
    assert rows(start) == {1: (1, 2)}


def test_a_dropped_column_can_be_read_where_it_was_after_optimizing(start: ab.Repository) -> None:
    insert(start, "main", {"id": 2, "a": 0, "b": 0})
    before = head(start, "dev")
    with start.commit("dev", "drop") as tx:
        tx.table("t").drop_column("a")
    start.optimize("t", on="dev")
    start.merge("dev", into="main")
    assert rows(start) == {1: (1,), 2: (0,)}
    assert rows(start, before) == {1: (1, 1)}


def test_a_merge_that_was_taken_back_stays_out_when_merged_again(start: ab.Repository) -> None:
    update(start, "dev", a=2)
    update(start, "main", b=2)
    start.merge("dev", into="main")
    update(start, "main", a=1)
    insert(start, "dev", {"id": 3, "a": 0, "b": 0})
    start.merge("dev", into="main")
    assert rows(start) == {1: (1, 2), 3: (0, 0)}


@pytest.mark.parametrize("ff", ["auto", "never"])
@pytest.mark.parametrize("engine", ["duck"], indirect=True)
def test_many_features_in_a_row_stay_readable(start: ab.Repository, ff: Any) -> None:
    for n in range(40):
        start.branch(f"f{n}", at="main")
        insert(start, f"f{n}", {"id": 100 + n, "a": n, "b": 0})
        start.merge(f"f{n}", into="main", ff=ff)
    assert rows(start) == {1: (1, 1), **{100 + n: (n, 0) for n in range(40)}}
    assert start.diff(head(start, "dev"), "main")["t"].counts()["inserted"] == 40


@pytest.mark.parametrize("engine", ["duck"], indirect=True)
def test_a_merge_again_and_again_brings_only_what_is_new(start: ab.Repository) -> None:
    for n in range(12):
        for m in range(3):
            insert(start, "main", {"id": 1000 + 3 * n + m, "a": 0, "b": 0})
        insert(start, "dev", {"id": 10000 + n, "a": 0, "b": 0})
        counts = start.merge("dev", into="main").counts
        assert counts == {"t": {"inserted": 1, "updated": 0, "deleted": 0, "cells": 0}}
    assert len(rows(start)) == 1 + 12 * 4


def test_shards_are_merged_in_one_commit(start: ab.Repository) -> None:
    shards = []
    for n in range(6):
        start.branch(f"s{n}", at="main")
        shards.append(insert(start, f"s{n}", {"id": 10 + n, "a": n, "b": 0}))
    merged = start.merge(shards, into="main", strictness="disjoint").commit
    assert rows(start) == {1: (1, 1), **{10 + n: (n, 0) for n in range(6)}}
    assert merged.parents[1:] == tuple(shards)


@pytest.mark.parametrize("first", [True, False])
def test_the_order_of_sources_decides_where_one_of_them_knows_more(start: ab.Repository, first: bool) -> None:
    shared = update(start, "dev", a=2)
    start.branch("qa", at=shared)
    one, other = insert(start, "dev", {"id": 7, "a": 0, "b": 0}), update(start, "qa", a=5)
    update(start, "main", a=5)
    if first:  # a=2 of the first meets a=5 of ours, although the second went on from it to 5
        with pytest.raises(MergeConflict):
            start.merge([one, other], into="main")
    else:
        start.merge([other, one], into="main")
        assert rows(start) == {1: (5, 1), 7: (0, 0)}


def test_what_only_ours_changed_is_new_to_each_of_several_sources(start: ab.Repository) -> None:
    start.branch("qa", at="main")
    with start.commit("dev", "make") as tx:
        tx.create_table("u", schema={"id": "int"}, key="id")
    with start.commit("qa", "make") as tx:
        tx.create_table("v", schema={"id": "int"}, key="id")
    update(start, "main", a=2)
    start.merge(["dev", "qa"], into="main")
    assert changed_cells(start, "dev") == changed_cells(start, "qa") == [(1, "a", 1, 2)]
