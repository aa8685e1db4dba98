"""Cherry-picks: the change of one commit, made again elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, cells, fork, make_t, nothing, rows


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def test_only_the_change_of_the_commit_is_made_again(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    picked = act(repo, "theirs", put(3, a=31), put(1, s="w"))
    made = repo.cherry_pick("theirs~1", on="ours")
    assert made is not None
    assert (made.message, made.provenance) == ("work on theirs", (repo.show("theirs~1").hash,))
    assert rows(repo) == [(1, 11, "x"), (2, 20, "y"), (3, 31, "z")]
    repo.cherry_pick(picked.hash, on="ours", message="picked", author="bob")
    assert (repo.show("ours").message, repo.show("ours").author) == ("picked", "bob")
    assert rows(repo)[0] == (1, 11, "w")


def test_a_pick_keeps_the_author_of_the_commit(duck: ab.Repository) -> None:
    fork(duck, make_t, nothing, nothing)
    with duck.commit("theirs", "by carl", author="carl") as tx:
        put(1, a=11)(tx)
    made = duck.cherry_pick("theirs", on="ours")
    assert made is not None
    assert made.author == "carl"


def test_a_pick_that_changes_nothing_makes_no_commit(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=11))
    before = repo.show("ours").hash
    assert repo.cherry_pick("theirs", on="ours") is None
    assert repo.show("ours").hash == before


def test_a_pick_that_conflicts_changes_nothing(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=12))
    before = repo.show("ours").hash
    with pytest.raises(ab.MergeConflict, match=r"cherry-pick of .* can't be made on 'ours': 1 conflict") as caught:
        repo.cherry_pick("theirs", on="ours")
    assert cells(caught.value.conflicts) == [((1,), "update/update", "a", 10, 11, 12)]
    assert repo.show("ours").hash == before
    repo.cherry_pick("theirs", on="ours", rules={"t.a": "theirs"})
    assert rows(repo)[0] == (1, 12, "x")


def test_columns_and_tables_are_picked(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    act(repo, "theirs", t("add_column", "n", "int", default=5), lambda tx: tx.create_table("u", [{"id": 1}], key="id"))
    repo.cherry_pick("theirs~1", on="ours")
    assert rows(repo) == [(1, 11, "x", 5), (2, 20, "y", 5), (3, 30, "z", 5)]
    repo.cherry_pick("theirs", on="ours")
    assert repo.table("u", at="ours").rows() == [{"id": 1}]


def test_of_a_merge_commit_the_parent_must_be_named(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    made = repo.merge("theirs", into="ours").commit
    repo.branch("third", at="main")
    with pytest.raises(ab.InvalidRequest, match="it is a merge commit with 2 parents"):
        repo.cherry_pick(made.hash, on="third")
    repo.cherry_pick(made.hash, on="third", parent=1)
    assert [row[1] for row in rows(repo, "third")] == [10, 21, 30]
    with pytest.raises(ab.InvalidRequest, match="it has no parent number 3"):
        repo.cherry_pick(made.hash, on="third", parent=3)


def test_the_first_commit_cannot_be_picked(duck: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="the first commit has no parent"):
        duck.cherry_pick("main", on="main")


def test_hidden_row_ids_are_kept_so_a_later_merge_finds_the_same_rows(repo: ab.Repository) -> None:
    fork(repo, lambda tx: tx.create_table("t", [{"id": 1, "a": 1}]), nothing, t("insert", [{"id": 2, "a": 2}]))
    repo.cherry_pick("theirs", on="ours")
    repo.merge("theirs", into="ours")
    assert rows(repo) == [(1, 1), (2, 2)]


def test_a_pick_onto_a_branch_that_moves_meanwhile_is_planned_again(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.repo.merge.publish import publish_content

    fork(duck, make_t, put(1, a=11), put(2, a=21))
    done: list[ab.Commit] = []

    def beside(*args: Any, **named: Any) -> Any:
        if not done:
            done.append(act(duck, "ours", put(3, a=31)))
        return publish_content(*args, **named)

    monkeypatch.setattr("anabranch.repo.merge.pick.publish_content", beside)
    made = duck.cherry_pick("theirs", on="ours")
    assert made is not None
    assert made.parents == (done[0].hash,)
    assert [row[1] for row in rows(duck)] == [11, 21, 31]
