"""Reverts: one commit undone by another, unless later ones build on it."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, both, cells, fork, make_t, nothing, rows


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


OLD = [(1, 10, "x"), (2, 20, "y"), (3, 30, "z")]
UNDONE: dict[str, Act] = {
    "an update": put(1, a=11),
    "an insert": put(4, a=40),
    "a delete": t("delete", where="id = 1"),
    "an overwrite": t("overwrite", [{"id": 9, "a": 9, "s": "n"}]),
    "a moved row": t("update", {"id": 9}, where="id = 1"),
    "an added column": t("add_column", "n", "int", default=5),
    "a dropped column": t("drop_column", "a"),
    "a renamed column": t("rename_column", "a", "b"),
    "a dropped table": t("drop"),
    "a renamed table": t("rename", "v"),
    "another key": t("set_key", "s"),
    "a check": t("add_check", "small", "a < 100"),
    "a property": t("set_properties", {"p": "1"}),
    "not null": t("alter_column", "a", nullable=False),
    "a default": t("alter_column", "a", default=5),
    "a comment": t("alter_column", "a", comment="how many"),
    "another order of rows": t("cluster_by", "s"),
}


@pytest.mark.parametrize("what", UNDONE)
def test_a_revert_gives_back_what_was_there(duck: ab.Repository, what: str) -> None:
    check(duck, what)


@pytest.mark.parametrize("what", ["an update", "a dropped column", "another key", "a dropped table"])
def test_a_revert_gives_back_what_was_there_on_both_engines(repo: ab.Repository, what: str) -> None:
    check(repo, what)


def check(repo: ab.Repository, what: str) -> None:
    act(repo, "main", make_t)
    repo.tag("before")
    done = act(repo, "main", UNDONE[what])
    made = repo.revert(done.hash)
    assert made is not None
    assert (made.message, made.provenance) == ('revert "work on main"', (done.hash,))
    assert rows(repo, "main") == OLD
    then, now = repo.table("t", at="before"), repo.table("t", at="main")
    assert set(now.schema) == set(then.schema)
    assert (now.key, now.properties, now.clustering) == (then.key, then.properties, then.clustering)
    assert now._state.attributes.get("checks", {}) == {}


@pytest.mark.parametrize("also", [nothing, put(4, a=40), t("drop_column", "s"), t("rename", "u")])
def test_a_wider_type_cannot_be_reverted(duck: ab.Repository, also: Act) -> None:
    act(duck, "main", make_t)
    duck.tag("before")
    done = act(duck, "main", both(t("alter_column", "a", type="bigint"), also))
    for how in ({}, {"three_way": True}):
        with pytest.raises(
            ab.InvalidRequest, match=r"it made column 'a' of '[tu]' bigint.* no int \(restore '[tu]' to"
        ):
            duck.revert(done.hash, **how)
    assert duck.show().hash == done.hash
    duck.restore("t", to="before")
    assert duck.table(duck.tables()[0].name).schema.column("a").type.name == "int"


@pytest.mark.parametrize("what", ["an update", "an insert", "a delete", "a dropped column", "a dropped table"])
def test_a_revert_of_a_revert_does_it_again(repo: ab.Repository, what: str) -> None:
    act(repo, "main", make_t)
    done = act(repo, "main", UNDONE[what])
    first = repo.revert(done.hash)
    assert first is not None
    repo.revert(first.hash)
    assert repo.diff(done.hash, "main").tables == ()


def test_a_revert_leaves_later_changes_of_other_rows(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    done = act(repo, "main", put(1, a=11))
    act(repo, "main", put(2, a=21), lambda tx: tx.create_table("u", [{"id": 1}], key="id"))
    repo.revert(done.hash, message="undo", author="bob")
    assert [row[1] for row in rows(repo, "main")] == [10, 21, 30]
    assert (repo.show().message, repo.show().author) == ("undo", "bob")


def refused(repo: ab.Repository, commit: str, *later: ab.Commit, **how: Any) -> None:
    before = repo.show().hash
    with pytest.raises(ab.InvalidRequest, match="later commits depend on it") as caught:
        repo.revert(commit, **how)
    assert set(caught.value.commits) == {c.hash for c in later}
    assert all(c.hash[:8] in str(caught.value) for c in later)
    assert repo.show().hash == before


@pytest.mark.parametrize(
    ("done", "later"),
    [
        (put(1, a=11), put(1, a=12)),
        (put(1, a=11), put(1, s="w")),
        (put(4, a=40), t("delete", where="id = 4")),
        (put(4, a=40), put(4, s="w")),
        (t("add_column", "n", "int"), t("update", {"n": 1}, where="id = 1")),
        (t("add_column", "n", "int"), t("rename_column", "n", "m")),
        (lambda tx: tx.create_table("u", [{"id": 1}], key="id"), lambda tx: tx.table("u").insert([{"id": 2}])),
    ],
)
def test_commits_that_build_on_it_are_named(duck: ab.Repository, done: Act, later: Act) -> None:
    act(duck, "main", make_t)
    commit = act(duck, "main", done)
    act(duck, "main", put(3, a=77))
    refused(duck, commit.hash, act(duck, "main", later))


@pytest.mark.parametrize(
    ("done", "later"),
    [
        (put(4, a=40), put(4, s="w")),
        (put(1, a=11), put(1, s="w")),
        (t("delete", where="id = 1"), put(1, a=5)),
        (t("add_column", "n", "int"), t("update", {"n": 1}, where="id = 1")),
        (t("add_column", "n", "int"), t("rename_column", "n", "m")),
        (t("add_column", "n", "int"), t("add_check", "small", "a < 100")),
        (lambda tx: tx.create_table("u", [{"id": 1}], key="id"), lambda tx: tx.table("u").insert([{"id": 2}])),
        (lambda tx: tx.create_table("u", [{"id": 1}], key="id"), lambda tx: tx.table("u").add_column("n", "int")),
    ],
)
def test_commits_that_were_undone_are_in_nobodys_way(duck: ab.Repository, done: Act, later: Act) -> None:
    act(duck, "main", make_t)
    duck.tag("before")
    commit = act(duck, "main", done)
    undone = act(duck, "main", later)
    refused(duck, commit.hash, undone)
    duck.revert(undone.hash)
    duck.revert(commit.hash)
    assert rows(duck, "main") == OLD
    assert len(duck.tables()) == 1


def test_a_table_made_by_a_commit_is_kept_where_rows_were_added_since(duck: ab.Repository) -> None:
    commit = act(duck, "main", make_t)
    act(duck, "main", put(4, a=40), t("delete", where="id = 4"))
    later = act(duck, "main", put(3, a=31))
    with pytest.raises(ab.InvalidRequest, match="later commits depend on it"):
        duck.revert(commit.hash)
    with pytest.raises(ab.MergeConflict, match="update/drop"):
        duck.revert(commit.hash, three_way=True)
    duck.revert(later.hash)
    duck.revert(commit.hash)
    assert duck.tables() == []


def test_commits_that_were_undone_in_part_are_named(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    commit = act(duck, "main", both(put(1, a=11), put(2, a=21)))
    later = act(duck, "main", both(put(1, s="w"), put(2, s="w")))
    act(duck, "main", put(1, s="x"))
    refused(duck, commit.hash, later)
    act(duck, "main", put(2, s="y"))
    duck.revert(commit.hash)
    assert rows(duck, "main") == OLD


def test_commits_that_changed_the_same_rows_are_named_on_both_engines(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    commit = act(repo, "main", put(1, a=11))
    refused(repo, commit.hash, act(repo, "main", put(1, s="w")))


def test_a_table_made_in_a_namespace_that_the_commit_made_depends_on_it(duck: ab.Repository) -> None:
    commit = act(duck, "main", lambda tx: tx.create_namespace("n"))
    later = act(duck, "main", lambda tx: tx.create_table("n.t", [{"id": 1}], key="id"))
    refused(duck, commit.hash, later)


def test_three_way_merges_the_change_out(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    done = act(repo, "main", both(put(1, a=11), put(2, a=21)))
    act(repo, "main", put(1, s="w"))
    repo.revert(done.hash, three_way=True)
    assert rows(repo, "main") == [(1, 10, "w"), (2, 20, "y"), (3, 30, "z")]


def test_three_way_conflicts_where_a_cell_was_changed_again(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    done = act(repo, "main", put(1, a=11))
    act(repo, "main", put(1, a=12))
    with pytest.raises(ab.MergeConflict, match=r"revert of .* can't be made on 'main'") as caught:
        repo.revert(done.hash, three_way=True)
    assert cells(caught.value.conflicts) == [((1,), "update/update", "a", 11, 12, 10)]
    repo.revert(done.hash, three_way=True, rules={"t.a": "ours - base + theirs"})
    assert rows(repo, "main")[0] == (1, 11, "x")


def test_a_merge_is_reverted_against_the_parent_that_is_named(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    made = repo.merge("theirs", into="ours").commit
    with pytest.raises(ab.InvalidRequest, match="it is a merge commit with 2 parents"):
        repo.revert(made.hash, on="ours")
    repo.revert(made.hash, on="ours", parent=1)
    assert [row[1] for row in rows(repo)] == [11, 20, 30]
    repo.reset("ours", to=made.hash)
    repo.revert(made.hash, on="ours", parent=2)
    assert [row[1] for row in rows(repo)] == [10, 21, 30]


def test_what_came_by_a_merge_can_be_reverted(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    done = repo.show("theirs")
    repo.merge("theirs", into="ours")
    repo.revert(done.hash, on="ours")
    assert [row[1] for row in rows(repo)] == [11, 20, 30]


def test_a_dropped_column_comes_back_with_its_values_and_rows_since_have_the_default(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    done = act(repo, "main", t("drop_column", "a"))
    act(repo, "main", put(4, s="q"))
    repo.revert(done.hash, three_way=True)
    assert rows(repo, "main") == [(1, 10, "x"), (2, 20, "y"), (3, 30, "z"), (4, None, "q")]


def test_a_commit_that_the_branch_does_not_have_cannot_be_reverted(duck: ab.Repository) -> None:
    fork(duck, make_t, put(1, a=11), put(2, a=21))
    with pytest.raises(ab.InvalidRequest, match="branch 'ours' does not have this commit"):
        duck.revert("theirs", on="ours")
    with pytest.raises(ab.InvalidRequest, match="the first commit has no parent"):
        duck.revert(duck.log("main")[-1].hash, on="main")


def test_a_revert_of_what_was_reverted_makes_no_commit(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    done = act(duck, "main", put(1, a=11))
    duck.revert(done.hash)
    assert duck.revert(done.hash, three_way=True) is None


def test_a_revert_gives_columns_their_order_back_and_a_positional_insert_lands(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    act(repo, "main", both(t("drop_column", "a"), t("add_column", "n", "int")))
    act(repo, "main", t("add_column", "z", "int"))
    undone = repo.revert("main~1", on="main", three_way=True)
    assert undone
    assert [c.name for c in repo.table("t").schema] == ["id", "a", "s", "z"]
    repo.sql("INSERT INTO t VALUES (4, 40, 'q', 1)")
    assert repo.table("t").get(4) == {"id": 4, "a": 40, "s": "q", "z": 1}


def test_reverts_back_to_the_first_commit_leave_the_columns_as_they_were(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    steps = (
        both(t("add_column", "n", "int"), t("drop_column", "a")),
        t("drop_column", "s"),
        t("rename_column", "n", "a"),
    )
    act(duck, "main", *steps)
    for back in range(len(steps)):
        duck.revert(f"main~{2 * back}", on="main")
    assert [c.name for c in duck.table("t").schema] == ["id", "a", "s"]
    assert rows(duck, "main") == [(1, 10, "x"), (2, 20, "y"), (3, 30, "z")]
