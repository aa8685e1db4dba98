"""Rebases: the commits of a branch made again on top of another ref, all or none."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, cells, fork, make_t, nothing, rows


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def shown(repo: ab.Repository) -> list[tuple[str, str]]:
    return [(b.name, b.commit) for b in repo.branches()]


def test_commits_are_made_again_one_by_one(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    act(repo, "theirs", put(2, s="w"), put(4, a=40, s="q"))
    old = [c.hash for c in repo.log("theirs", limit=3)]
    made = repo.rebase("theirs", onto="ours")
    told = repo.log("theirs", limit=4)
    assert [c.hash for c in told[:3]] == [c.hash for c in reversed(made)]
    assert told[3].hash == repo.show("ours").hash
    assert [c.provenance for c in reversed(made)] == [(h,) for h in old]
    assert rows(repo, "theirs") == [(1, 11, "x"), (2, 21, "w"), (3, 30, "z"), (4, 40, "q")]
    assert repo.reflog("theirs")[0].verb == "rebase"
    assert repo.merge("theirs", into="ours").fast_forward


def test_a_conflict_midway_changes_nothing_and_leaves_no_branch(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    act(repo, "theirs", put(1, a=12), put(3, a=31))
    before = shown(repo)
    with pytest.raises(ab.MergeConflict, match=r"rebase of .* can't be made on 'ours'") as caught:
        repo.rebase("theirs", onto="ours")
    assert cells(caught.value.conflicts) == [((1,), "update/update", "a", 10, 11, 12)]
    assert shown(repo) == before
    repo.rebase("theirs", onto="ours", rules={"t.a": "max"})
    assert [row[1] for row in rows(repo, "theirs")] == [12, 21, 31]


def test_commits_that_change_nothing_there_are_left_out(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=11))
    act(repo, "theirs", put(2, a=21))
    assert len(repo.rebase("theirs", onto="ours")) == 1
    assert len(repo.log("theirs")) == len(repo.log("ours")) + 1


def test_a_branch_without_work_of_its_own_moves_on(duck: ab.Repository) -> None:
    fork(duck, make_t, put(1, a=11), nothing)
    duck.branch("idle", at="main")
    assert duck.rebase("idle", onto="ours") == []
    assert duck.show("idle").hash == duck.show("ours").hash


def test_a_rebase_onto_what_it_stands_on_keeps_its_rows(duck: ab.Repository) -> None:
    fork(duck, make_t, put(1, a=11), nothing)
    duck.rebase("ours", onto="main")
    assert [row[1] for row in rows(duck)] == [11, 20, 30]
    assert len(duck.log("ours")) == len(duck.log("main")) + 1


def test_what_a_branch_gets_meanwhile_is_rebased_with_it(duck: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.repo.merge.pick import pick

    fork(duck, make_t, put(1, a=11), put(2, a=21))
    copied: list[str] = []

    def beside(*args: Any) -> Any:
        if not copied:
            act(duck, "theirs", put(3, a=31))
        copied.append(args[2].what)
        return pick(*args)

    monkeypatch.setattr("anabranch.repo.merge.rebase.pick", beside)
    assert len(duck.rebase("theirs", onto="ours")) == len(copied) == 2
    assert rows(duck, "theirs") == [(1, 11, "x"), (2, 21, "y"), (3, 31, "z")]
    assert sorted(b.name for b in duck.branches()) == ["main", "ours", "theirs"]


def test_a_branch_that_is_reset_meanwhile_is_left_alone(duck: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.repo.merge.pick import pick

    fork(duck, make_t, put(1, a=11), put(2, a=21))

    def beside(*args: Any) -> Any:
        duck.reset("theirs", to="main")
        return pick(*args)

    monkeypatch.setattr("anabranch.repo.merge.rebase.pick", beside)
    with pytest.raises(ab.BranchMoved, match="branch 'theirs' was reset meanwhile; nothing was changed"):
        duck.rebase("theirs", onto="ours")
    assert duck.show("theirs").hash == duck.show("main").hash
    assert sorted(b.name for b in duck.branches()) == ["main", "ours", "theirs"]


def test_columns_and_tables_go_along(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), lambda tx: tx.table("t").add_column("n", "int", default=5))
    act(
        repo,
        "theirs",
        lambda tx: tx.table("t").update({"n": 6}, where="id = 1"),
        lambda tx: tx.create_table("u", [{"id": 1}], key="id"),
        lambda tx: tx.table("u").insert([{"id": 2}]),
    )
    repo.rebase("theirs", onto="ours")
    assert rows(repo, "theirs") == [(1, 11, "x", 6), (2, 20, "y", 5), (3, 30, "z", 5)]
    assert rows(repo, "theirs", "u") == [(1,), (2,)]


def test_hidden_row_ids_are_kept(repo: ab.Repository) -> None:
    fork(
        repo,
        lambda tx: tx.create_table("t", [{"id": 1, "a": 1}]),
        lambda tx: tx.table("t").insert([{"id": 3, "a": 3}]),
        lambda tx: tx.table("t").insert([{"id": 2, "a": 2}]),
    )
    repo.branch("kept", at="theirs")
    repo.rebase("theirs", onto="ours")
    repo.merge("kept", into="theirs")
    assert rows(repo, "theirs") == [(1, 1), (2, 2), (3, 3)]


def test_merges_are_left_out_and_what_they_brought_is_there(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    repo.merge("ours", into="theirs")
    act(repo, "theirs", put(3, a=31))
    act(repo, "ours", put(4, a=40, s="q"))
    repo.rebase("theirs", onto="ours")
    assert [row[1] for row in rows(repo, "theirs")] == [11, 21, 31, 40]
    assert all(len(c.parents) == 1 for c in repo.log("theirs", limit=2))


def test_unknown_names_are_refused(duck: ab.Repository) -> None:
    for branch, onto in (("nowhere", "main"), ("main", "nowhere")):
        with pytest.raises(ab.NotFound, match="nowhere"):
            duck.rebase(branch, onto=onto)


def test_what_a_merge_brought_from_elsewhere_is_not_lost(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    repo.branch("third", at="main")
    act(repo, "third", put(3, a=31), put(4, a=40, s="q"))
    repo.merge("third", into="theirs", message="third")
    act(repo, "theirs", put(2, a=22))
    made = repo.rebase("theirs", onto="ours")
    assert [c.message for c in made] == ["work on theirs", "third", "work on theirs"]
    assert [row[1] for row in rows(repo, "theirs")] == [11, 22, 31, 40]
