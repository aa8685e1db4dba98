"""Statements that move branches: what each does, and what it says of it."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.sql.version_statements import govern
from anabranch.sql import version_statements as sql


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    """Orders on main, and a branch dev at the same commit."""
    with duck.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1, "price": 10}, {"id": 2, "price": 20}], key="id")
    duck.branch("dev")
    return duck


def put(repo: ab.Repository, branch: str, id_: int, price: int) -> ab.Commit:
    with repo.commit(branch, f"put {id_}") as tx:
        tx.table("orders").upsert([{"id": id_, "price": price}])
    assert tx.commit is not None
    return tx.commit


def prices(repo: ab.Repository, at: str = "main") -> dict[int, int]:
    return {row["id"]: row["price"] for row in repo.table("orders", at).rows()}


def run(repo: ab.Repository, statement: sql.GoverningSql, branch: str = "main", **args: Any) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = govern(repo._ctx, statement, branch, args).to_pylist()
    return told


def names(repo: ab.Repository) -> list[str]:
    return [branch.name for branch in repo.branches()]


def test_a_branch_is_made_at_a_ref_renamed_and_dropped(shop: ab.Repository) -> None:
    head = shop.show("main").hash
    first = shop.show("main~1").hash
    assert run(shop, sql.CreateBranch("qa")) == [{"branch": "qa", "commit": head}]
    assert run(shop, sql.CreateBranch("old", "HEAD~1")) == [{"branch": "old", "commit": first}]
    assert run(shop, sql.RenameBranch("qa", "qb")) == [{"branch": "qb", "renamed_from": "qa", "commit": head}]
    assert run(shop, sql.DropBranch("qb")) == [{"branch": "qb", "commit": head}]
    assert names(shop) == ["dev", "main", "old"]


def test_a_branch_that_is_there_stays_as_it_is_if_not_exists(shop: ab.Repository) -> None:
    put(shop, "main", 3, 30)
    shown = shop.show("dev").hash
    assert run(shop, sql.CreateBranch("dev", if_not_exists=True)) == [{"branch": "dev", "commit": shown}]
    with pytest.raises(ab.AlreadyExists):
        run(shop, sql.CreateBranch("dev"))


def test_if_not_exists_does_not_take_a_tag_for_a_branch(shop: ab.Repository) -> None:
    shop.tag("v1")
    with pytest.raises(ab.NotFound):
        run(shop, sql.CreateBranch("v1", if_not_exists=True))


def test_dropping_needs_force_for_work_that_would_be_lost_and_refuses_the_current_branch(shop: ab.Repository) -> None:
    put(shop, "dev", 3, 30)
    with pytest.raises(ab.InvalidRequest, match="no other branch or tag reaches"):
        run(shop, sql.DropBranch("dev"))
    with pytest.raises(ab.InvalidRequest, match="'dev' is the current branch"):
        run(shop, sql.DropBranch("dev", force=True), branch="dev")
    run(shop, sql.DropBranch("dev", force=True))
    assert names(shop) == ["main"]
    assert run(shop, sql.DropBranch("dev", if_exists=True)) == []
    with pytest.raises(ab.NotFound):
        run(shop, sql.DropBranch("dev"))


def test_a_tag_is_made_and_dropped(shop: ab.Repository) -> None:
    head = shop.show("main").hash
    assert run(shop, sql.CreateTag("v1")) == [{"tag": "v1", "commit": head}]
    put(shop, "main", 3, 30)
    assert run(shop, sql.CreateTag("v1", if_not_exists=True)) == [{"tag": "v1", "commit": head}]
    with pytest.raises(ab.AlreadyExists):
        run(shop, sql.CreateTag("v1"))
    assert run(shop, sql.DropTag("v1")) == [{"tag": "v1", "commit": head}]
    assert run(shop, sql.DropTag("v1", if_exists=True)) == []
    with pytest.raises(ab.NotFound):
        run(shop, sql.DropTag("v1"))


def test_a_merge_tells_its_commit_and_what_changed(shop: ab.Repository) -> None:
    put(shop, "dev", 3, 30)
    put(shop, "main", 1, 11)
    (told,) = run(shop, sql.MergeBranch(("dev",), message="take dev"))
    assert told == {
        "branch": "main",
        "commit": shop.show("main").hash,
        "commit_id": "main/3",
        "inserted": 1,
        "updated": 0,
        "deleted": 0,
        "fast_forward": False,
        "up_to_date": False,
        "conflicts": 0,
    }
    assert shop.show("main").message == "take dev"
    assert prices(shop) == {1: 11, 2: 20, 3: 30}
    assert run(shop, sql.MergeBranch(("dev",)))[0]["up_to_date"] is True
    assert run(shop, sql.MergeBranch(("HEAD",), into="dev"))[0]["fast_forward"] is True


def test_a_dry_run_tells_counts_and_conflicts_and_moves_nothing(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 12)
    put(shop, "dev", 3, 30)
    put(shop, "main", 1, 11)
    before = shop.show("main").hash
    assert run(shop, sql.MergeBranch(("dev",), dry_run=True)) == [
        {"table": "orders", "inserted": 1, "updated": 0, "deleted": 0, "cells": 0, "conflicts": 1}
    ]
    assert run(shop, sql.MergeBranch(("dev",), dry_run=True, rules=(("orders.price", "max"),)))[0]["conflicts"] == 0
    assert (shop.show("main").hash, shop.open_merges()) == (before, [])


def test_a_merge_with_conflicts_stays_open_until_it_is_resolved_and_continued(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 12)
    put(shop, "dev", 2, 22)
    put(shop, "main", 1, 11)
    put(shop, "main", 2, 21)
    with pytest.raises(ab.MergeConflict, match="2 conflicts in orders") as raised:
        run(shop, sql.MergeBranch(("dev",)))
    assert "RESOLVE" in str(raised.value.hint)
    assert "CONTINUE MERGE" in str(raised.value.hint)
    assert raised.value.conflicts.count() == 2
    with pytest.raises(ab.InvalidRequest, match="a merge of dev into 'main' is open"):
        run(shop, sql.MergeBranch(("dev",)))
    assert run(shop, sql.Resolve("orders", take="THEIRS", where="id = :k"), k=1) == [
        {"table": "orders", "resolved": 1, "left": 1}
    ]
    with pytest.raises(ab.MergeConflict, match="1 conflict in orders") as raised:
        run(shop, sql.FinishMerge())
    assert "RESOLVE" in str(raised.value.hint)
    assert run(shop, sql.Resolve("orders", values=(("price", "ours + theirs"),))) == [
        {"table": "orders", "resolved": 1, "left": 0}
    ]
    (told,) = run(shop, sql.FinishMerge("both"))
    assert (told["commit"], told["updated"]) == (shop.show("main").hash, 2)
    assert prices(shop) == {1: 12, 2: 43}
    assert shop.show("main").message == "both"


def test_an_open_merge_is_given_up(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 12)
    put(shop, "main", 1, 11)
    with pytest.raises(ab.MergeConflict):
        run(shop, sql.MergeBranch(("dev",)))
    assert run(shop, sql.AbortMerge()) == [{"branch": "main", "aborted": ["dev"]}]
    for statement in (sql.AbortMerge(), sql.FinishMerge(), sql.Resolve("orders", take="ours")):
        with pytest.raises(ab.NotFound, match="no merge into 'main' is open"):
            run(shop, statement)


def test_a_replay_with_conflicts_leaves_nothing_open(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 12)
    put(shop, "main", 1, 11)
    with pytest.raises(ab.MergeConflict, match="a replay can't wait"):
        run(shop, sql.MergeBranch(("dev",), mode="replay"))
    assert shop.open_merges() == []


def test_a_commit_is_undone_and_made_again(shop: ab.Repository) -> None:
    put(shop, "main", 3, 30)
    (undone,) = run(shop, sql.Revert("HEAD", message="no"))
    assert (undone["commit_id"], undone["deleted"]) == ("main/3", 1)
    assert shop.show("main").message == "no"
    (again,) = run(shop, sql.CherryPick("main~1"), branch="dev")
    assert (again["branch"], again["inserted"]) == ("dev", 1)
    assert prices(shop, "dev") == {1: 10, 2: 20, 3: 30}
    (nothing,) = run(shop, sql.CherryPick("main~1"), branch="dev")
    assert (nothing["commit"], nothing["inserted"]) == (None, 0)


def test_a_table_is_restored_unless_changes_of_it_are_staged(shop: ab.Repository) -> None:
    put(shop, "main", 1, 11)
    staged = shop.start("main", working=True, message="working set")
    staged.table("orders").insert([{"id": 9, "price": 90}])
    with pytest.raises(ab.InvalidRequest, match="there are staged changes of 'orders'"):
        run(shop, sql.RestoreTable("orders", "HEAD~1"))
    staged.abort()
    assert run(shop, sql.RestoreTable("orders", "HEAD~1"))[0]["updated"] == 1
    assert prices(shop) == {1: 10, 2: 20}


def test_a_branch_is_reset_unless_work_is_staged_on_it(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 11)
    staged = shop.start("dev", working=True, message="working set")
    staged.table("orders").insert([{"id": 9, "price": 90}])
    with pytest.raises(ab.InvalidRequest, match=r"staged changes of 'orders' \(ROLLBACK gives them up"):
        run(shop, sql.ResetBranch("dev", "HEAD"))
    staged.abort()
    assert run(shop, sql.ResetBranch("dev", "HEAD")) == [{"branch": "dev", "commit": shop.show("main").hash}]
    assert prices(shop, "dev") == {1: 10, 2: 20}


def test_a_number_counts_along_the_branch_as_it_does_in_a_select(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 11)
    put(shop, "main", 1, 12)
    put(shop, "main", 1, 13)
    shop.sql("CREATE BRANCH old AT 2; CREATE TAG loaded AS OF VERSION 1")
    assert prices(shop, "old")[1] == 12
    assert shop.show("loaded") == shop.show("main/1")
    shop.sql("RESTORE TABLE orders TO VERSION AS OF 1")
    assert prices(shop)[1] == 10
    shop.sql("REVERT 4")
    assert prices(shop)[1] == 13
    shop.sql("RESET BRANCH main TO 2")
    assert prices(shop)[1] == 12
    with pytest.raises(ab.NotFound, match="branch 'main' has no commit number 7"):
        shop.sql("RESTORE TABLE orders TO VERSION AS OF 7")


def test_a_number_counts_along_the_branch_that_is_reset(shop: ab.Repository) -> None:
    put(shop, "dev", 1, 11)
    put(shop, "dev", 1, 12)
    put(shop, "main", 1, 13)
    shop.sql("RESET BRANCH dev TO 2")
    assert prices(shop, "dev")[1] == 11


def test_a_table_is_restored_to_what_it_was_at_a_time(shop: ab.Repository) -> None:
    before = shop.show("main").finished_at
    put(shop, "main", 1, 11)
    shop.sql(f"RESTORE TABLE orders TO TIMESTAMP AS OF '{before.isoformat()}'")
    assert prices(shop)[1] == 10


def test_optimizing_tells_what_was_written_and_keeps_the_content(shop: ab.Repository) -> None:
    for price in range(11, 15):
        put(shop, "main", 1, price)
    before = shop.show("main").hash
    (told,) = run(shop, sql.OptimizeTable("orders"))
    assert told["table"] == "orders"
    assert told["objects_after"] < told["objects_before"]
    assert (shop.show("main").hash, prices(shop)) == (before, {1: 14, 2: 20})


def test_commits_of_statements_are_the_authors_who_runs_them(shop: ab.Repository) -> None:
    put(shop, "dev", 3, 30)
    picked = shop.show("dev").hash
    put(shop, "main", 1, 11)
    statements = (
        sql.MergeBranch(("dev",)),
        sql.Revert(picked),
        sql.RestoreTable("orders", "HEAD~1"),
    )
    for statement in statements:
        govern(shop._ctx, statement, "main", {}, "bea")
        assert shop.show("main").author == "bea"


def test_a_statement_of_the_executors_is_refused(shop: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="Rollback is not run here"):
        run(shop, sql.Rollback())
