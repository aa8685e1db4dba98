"""The rule `newest`: the side wins whose commit changed the cell or the row last."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab

RULES = {"*": "newest"}


@pytest.fixture
def start(repo: ab.Repository) -> ab.Repository:
    """A table `t` with two rows on `main` and `dev`."""
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "a": "int", "b": "int"}, key="id")
        tx.table("t").insert([{"id": n, "a": 0, "b": 0} for n in (1, 2)])
    repo.branch("dev", at="main")
    return repo


def update(repo: ab.Repository, branch: str, key: int, **cells: Any) -> None:
    with repo.commit(branch, "update") as tx:
        tx.table("t").update(cells, where="id = :k", args={"k": key})


def delete(repo: ab.Repository, branch: str, key: int) -> None:
    with repo.commit(branch, "delete") as tx:
        tx.table("t").delete(where="id = :k", args={"k": key})


def rows(repo: ab.Repository) -> dict[int, tuple[Any, ...]]:
    return {r["id"]: (r["a"], r["b"]) for r in repo.table("t").rows()}


def test_each_cell_is_of_the_side_that_changed_it_last(start: ab.Repository) -> None:
    update(start, "main", 1, a=1)
    update(start, "dev", 1, a=2, b=2)
    update(start, "main", 1, b=1)
    start.merge("dev", into="main", rules=RULES)
    assert rows(start)[1] == (2, 1)


def test_a_row_follows_the_last_of_a_delete_and_an_update(start: ab.Repository) -> None:
    delete(start, "main", 1)
    update(start, "dev", 1, a=5)
    update(start, "dev", 2, a=5)
    delete(start, "main", 2)
    start.merge("dev", into="main", rules=RULES)
    assert rows(start) == {1: (5, 0)}


def test_a_later_change_of_another_cell_does_not_count(start: ab.Repository) -> None:
    update(start, "dev", 1, a=2)
    update(start, "main", 1, a=1)
    update(start, "dev", 1, b=2)
    start.merge("dev", into="main", rules=RULES)
    assert rows(start)[1] == (1, 2)


def test_a_change_is_no_younger_for_being_merged(start: ab.Repository) -> None:
    start.branch("qa", at="main")
    update(start, "qa", 1, a=3)
    update(start, "main", 1, a=1)
    update(start, "dev", 2, b=9)
    start.merge("qa", into="dev")
    start.merge("dev", into="main", rules=RULES)
    assert rows(start) == {1: (1, 0), 2: (0, 9)}


def test_with_several_sources_the_last_of_all_wins(start: ab.Repository) -> None:
    start.branch("qa", at="main")
    update(start, "dev", 1, a=2)
    update(start, "qa", 1, a=3)
    update(start, "main", 2, a=1)
    start.merge(["qa", "dev"], into="main", rules=RULES)
    assert rows(start) == {1: (3, 0), 2: (1, 0)}


def test_where_only_states_tell_all_is_as_new_as_the_commit(start: ab.Repository) -> None:
    update(start, "dev", 1, a=2)
    update(start, "main", 1, a=1)
    with start.commit("dev", "key") as tx:
        tx.table("t").set_key(["id", "b"])
    with start.commit("dev", "key") as tx:
        tx.table("t").set_key(["id"])
    start.merge("dev", into="main", rules=RULES)
    assert rows(start)[1] == (2, 0)


def test_a_rule_of_one_column_leaves_others_in_conflict(start: ab.Repository) -> None:
    update(start, "main", 1, a=1, b=1)
    update(start, "dev", 1, a=2, b=2)
    with pytest.raises(ab.MergeConflict) as found:
        start.merge("dev", into="main", rules={"t.a": "newest"})
    assert [row["column"] for row in found.value.conflicts["t"].rows()] == ["b"]
