"""Staged work on a branch that moved: merged with what came meanwhile, never thrown away."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, make_t, rows


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def staged(repo: ab.Repository) -> ab.OpenCommit:
    """Work on rows 1 and 2, of which row 1 was changed meanwhile to the same value."""
    act(repo, "main", make_t)
    work = repo.start("main", message="mine", author="ann", provenance=["main"])
    work.table("t").upsert([{"id": 1, "a": 11}, {"id": 2, "a": 22}])
    act(repo, "main", put(1, a=11))
    return work


def test_what_both_touched_waits_to_be_resolved_and_the_rest_comes_along(duck: ab.Repository) -> None:
    work, before = staged(duck), duck.show("main")
    with pytest.raises(ab.BranchMoved) as caught:
        work.finish()
    assert "repo.carry_over" in str(caught.value.hint)
    kept = duck.carry_over(work)
    assert (duck.open_commits(), duck.show("main")) == ([], before)
    assert kept.conflicts.count() == 1
    kept.resolve("t", set={"a": "ours + theirs - base"})
    made = kept.finish()[0]
    assert (made.message, made.author, made.provenance) == ("mine", "ann", (before.parents[0],))
    assert [row[1] for row in rows(duck, "main")] == [12, 22, 30]
    assert [b.name for b in duck.branches()] == ["main"]
    assert duck.verify(deep=True).is_sound


def test_work_whose_branch_was_reset_goes_on_its_new_head(duck: ab.Repository) -> None:
    work = staged(duck)
    duck.reset("main", "main~1")
    kept = duck.carry_over(work, "mine still", author="bob")
    assert not kept.conflicts
    assert [(c.message, c.author) for c in kept.finish()] == [("mine still", "bob")]
    assert [row[1] for row in rows(duck, "main")] == [11, 22, 30]


def test_bad_words_leave_the_work_as_it_is(duck: ab.Repository) -> None:
    work = staged(duck)
    with pytest.raises(ab.InvalidRequest):
        duck.carry_over(work, " ")
    assert [w.id for w in duck.open_commits()] == [work.id]
    assert duck.open_sequences() == []


@pytest.mark.parametrize("give_up", ["abort", "skip"])
def test_work_that_is_given_up_in_conflict_is_saved_on_a_branch(duck: ab.Repository, give_up: str) -> None:
    work, before = staged(duck), duck.show("main")
    duck.branch("staged-main")
    kept = duck.carry_over(work)
    getattr(kept, give_up)()
    assert duck.show("main") == before
    assert kept.saved_as == "staged-main-2"
    assert [row[1] for row in rows(duck, "staged-main-2")] == [11, 22, 30]
    assert duck.show("staged-main-2").message == "mine"


def test_a_sequence_that_carries_nothing_leaves_no_branch_behind(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    duck.branch("dev")
    act(duck, "main", put(1, a=11))
    act(duck, "dev", put(1, a=12))
    kept = duck.start_cherry_pick("dev", on="main")
    kept.abort()
    assert kept.saved_as is None
    assert [b.name for b in duck.branches()] == ["dev", "main"]
