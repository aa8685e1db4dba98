"""Amends: the newest commit made again with the same parents, other words, or more work in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, fork, make_t, rows


def put(id_: int, **values: object) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def made(repo: ab.Repository) -> ab.Commit:
    act(repo, "main", make_t, put(1, a=11))
    return repo.show("main")


def test_other_words_make_another_commit_with_the_same_parents_and_rows(duck: ab.Repository) -> None:
    old, before = made(duck), rows(duck, "main")
    new = duck.amend("main", "better words", author="eve", date="2024-05-01T00:00:00Z")
    assert (new.message, new.author, new.parents) == ("better words", "eve", old.parents)
    assert new.started_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert (duck.show("main").hash, rows(duck, "main"), rows(duck, old.hash)) == (new.hash, before, before)
    assert [m.verb for m in duck.reflog("main", limit=1)] == ["amend"]
    assert len(duck.branches()) == 1
    assert duck.verify(deep=True).is_sound


def test_what_is_not_given_stays(duck: ab.Repository) -> None:
    made(duck)
    with duck.commit("main", "load", author="ann", facts={"source": "a.csv"}, provenance=["main~1"]) as tx:
        tx.table("t").delete(where="id = 1")
    old, new = duck.show("main"), duck.amend("main", author="bob")
    assert (new.message, new.facts, new.provenance, new.started_at) == (
        old.message,
        old.facts,
        old.provenance,
        old.started_at,
    )


def test_staged_work_is_taken_in(duck: ab.Repository) -> None:
    old = made(duck)
    with duck.staging("main") as work:
        work.table("t").upsert([{"id": 1, "a": 12, "s": "x"}, {"id": 9, "a": 90, "s": "n"}])
    new = duck.amend("main")
    assert (new.message, new.parents) == (old.message, old.parents)
    assert [row[:2] for row in rows(duck, "main")] == [(1, 12), (2, 20), (3, 30), (9, 90)]
    assert duck.working_set("main") is None
    assert duck.open_commits() == []
    assert duck.diff(new.parents[0], new.hash)["t"].counts()["updated"] == 1


def test_work_that_was_staged_before_the_branch_moved_goes_in_where_rows_allow_it(duck: ab.Repository) -> None:
    made(duck)
    work = duck.start("main", message="more")
    work.table("t").upsert([{"id": 2, "a": 22}])
    act(duck, "main", put(3, a=33))
    duck.amend("main", work=work)
    assert [row[1] for row in rows(duck, "main")] == [11, 22, 33]
    with pytest.raises(ab.InvalidRequest):
        work.table("t").delete(where="true")


def test_work_that_clashes_stays_open_and_the_branch_where_it_is(duck: ab.Repository) -> None:
    made(duck)
    work = duck.start("main", message="more")
    work.table("t").upsert([{"id": 3, "a": 34}])
    act(duck, "main", put(3, a=33))
    before = duck.show("main").hash
    with pytest.raises(ab.BranchMoved):
        duck.amend("main", "both", work=work)
    assert duck.show("main").hash == before
    assert [w.id for w in duck.open_commits()] == [work.id]
    assert [b.name for b in duck.branches()] == ["main"]


def test_a_merge_keeps_its_parents_and_what_differs_from_each(duck: ab.Repository) -> None:
    fork(duck, make_t, put(1, a=11), put(2, a=21))
    old = duck.merge("theirs", into="ours").commit
    with duck.staging("ours") as work:
        work.table("t").delete(where="id = 3")
    new = duck.amend("ours", "merged and mended")
    assert new.parents == old.parents
    assert rows(duck, "ours") == [(1, 11, "x"), (2, 21, "y")]
    for parent, changed in zip(new.parents, ([2, 3], [1, 3]), strict=True):
        assert sorted(r["key"]["id"] for r in duck.diff(parent, "ours")["t"].rows()) == changed
    assert duck.merge("theirs", into="ours").up_to_date
    assert duck.verify(deep=True).is_sound


def test_a_commit_that_made_nothing_can_be_given_other_words(duck: ab.Repository) -> None:
    with duck.commit("main", "nothing", allow_empty=True):
        pass
    assert duck.amend("main", "still nothing").message == "still nothing"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"message": "  "}, "needs a message"),
        ({"date": "2999-01-01"}, "still to come"),
        ({"date": "soon"}, "not a time"),
    ],
)
def test_bad_words_are_refused_and_what_is_staged_stays(
    duck: ab.Repository, given: dict[str, str], problem: str
) -> None:
    old = made(duck)
    with duck.staging("main") as work:
        work.table("t").delete(where="id = 3")
    with pytest.raises(ab.InvalidRequest, match=problem):
        duck.amend("main", **given)
    assert duck.show("main").hash == old.hash
    found = duck.working_set("main")
    assert found is not None
    assert found.status()


def test_the_first_commit_of_all_stays_as_it_is(duck: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="first commit"):
        duck.amend("main", "better")


def test_a_commit_tells_when_the_work_was_done(duck: ab.Repository) -> None:
    made(duck)
    with duck.commit("main", "late", date=datetime(2025, 1, 1, tzinfo=UTC)) as tx:
        tx.table("t").delete(where="id = 3")
    assert duck.show("main").started_at == datetime(2025, 1, 1, tzinfo=UTC)
    assert duck.show("main").finished_at > duck.show("main~1").finished_at
