"""Several picks, reverts and steps of a rebase as one: they stop at conflicts, survive the process, all or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, fork, make_t, rows


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def parted(repo: ab.Repository, *ours: Act) -> list[str]:
    """`theirs` has four commits that each change `a` of a row; `ours` has others. Returns theirs, oldest first."""
    fork(repo, make_t, ours[0] if ours else put(2, a=22), put(1, a=11))
    act(repo, "theirs", put(2, a=21), put(3, a=31), put(4, a=41, s="n"))
    act(repo, "ours", *ours[1:])
    return [c.hash for c in reversed(repo.log("theirs", limit=4))]


def a_of(repo: ab.Repository, at: str) -> list[Any]:
    return [row[1] for row in rows(repo, at)]


def shown(repo: ab.Repository) -> list[tuple[str, str]]:
    return [(b.name, b.commit) for b in repo.branches()]


def test_several_commits_are_picked_by_one_move_of_the_branch(duck: ab.Repository) -> None:
    theirs = parted(duck, put(9, a=90, s="o"))
    made = duck.cherry_pick(["theirs~3", "theirs~2..theirs"], on="ours")
    assert [c.provenance for c in made] == [(theirs[0],), (theirs[2],), (theirs[3],)]
    assert a_of(duck, "ours") == [11, 20, 31, 41, 90]
    assert [m.verb for m in duck.reflog("ours", limit=1)] == ["cherry-pick"]
    assert duck.log("ours", limit=3) == made[::-1]


def test_a_conflict_changes_nothing(duck: ab.Repository) -> None:
    parted(duck)
    before = shown(duck)
    with pytest.raises(ab.MergeConflict) as caught:
        duck.cherry_pick(["ours..theirs"], on="ours")
    assert "start_cherry_pick" in str(caught.value.hint)
    assert shown(duck) == before
    assert duck.open_sequences() == []


@pytest.mark.long
def test_a_conflict_waits_until_it_is_resolved_over_processes(duck: ab.Repository, tmp_path: Path) -> None:
    theirs, before = parted(duck), shown(duck)
    kept = duck.start_cherry_pick("ours..theirs", on="ours")
    assert ([c.provenance for c in kept.made], kept.steps[0]) == ([(theirs[0],)], ("pick", theirs[1]))
    assert shown(duck) == before
    again = duck.open_sequences("ours")[0]
    with pytest.raises(ab.MergeConflict, match="theirs") as caught:
        again.finish()
    assert "skip()" in str(caught.value.hint)
    assert again.resolve("t", set={"a": "ours + theirs"}) == 1
    assert [row["a"] for row in again.table("t").rows()] == [11, 43, 30]
    assert sorted(r["key"]["id"] for r in again.diff()["t"].rows()) == [1, 2]
    assert again.resolve("t", take="theirs") == 1
    assert duck.verify(deep=True).is_sound
    duck.gc(grace=0, reflog=0)
    assert len(again.finish()) == 4
    assert a_of(duck, "ours") == [11, 21, 31, 41]
    assert duck.open_sequences() == []
    assert duck.verify(deep=True).is_sound


def test_a_commit_may_be_left_out(duck: ab.Repository) -> None:
    parted(duck)
    kept = duck.start_cherry_pick("ours..theirs", on="ours")
    kept.skip()
    assert not kept.conflicts
    assert len(kept.finish()) == 3
    assert a_of(duck, "ours") == [11, 22, 31, 41]


def test_what_is_given_up_leaves_nothing(duck: ab.Repository) -> None:
    parted(duck)
    before = shown(duck)
    kept = duck.start_cherry_pick(["theirs~2", "theirs"], on="ours")
    kept.abort()
    assert (shown(duck), duck.open_sequences()) == (before, [])
    with pytest.raises(ab.NotFound, match="not open any more"):
        kept.finish()


def test_a_branch_that_moved_meanwhile_keeps_what_it_got(duck: ab.Repository) -> None:
    theirs = parted(duck)
    kept = duck.start_cherry_pick("ours..theirs", on="ours")
    kept.resolve("t", take="theirs")
    act(duck, "ours", put(7, a=70, s="m"))
    made = kept.finish()
    assert [c.provenance for c in made] == [(h,) for h in theirs]
    assert a_of(duck, "ours") == [11, 21, 31, 41, 70]


def test_two_who_go_on_at_once_do_not_both_move_the_branch(duck: ab.Repository) -> None:
    parted(duck)
    kept = duck.start_cherry_pick("ours..theirs", on="ours")
    other = duck.open_sequences()[0]
    kept.resolve("t", take="theirs")
    kept.finish()
    with pytest.raises(ab.NotFound, match="not open any more"):
        other.skip()


def test_several_are_undone_newest_first(duck: ab.Repository) -> None:
    parted(duck)
    act(duck, "theirs", put(1, a=12))
    made = duck.revert(["theirs~5..theirs"], on="theirs")
    assert len(made) == 5
    assert rows(duck, "theirs") == rows(duck, "main")


def test_what_others_build_on_is_merged_out_with_conflicts_that_wait(duck: ab.Repository) -> None:
    parted(duck)
    act(duck, "theirs", put(1, a=12))
    before = shown(duck)
    with pytest.raises(ab.InvalidRequest, match="later commits depend"):
        duck.start_revert(["theirs~1", "theirs~4"], on="theirs")
    assert (shown(duck), duck.open_sequences()) == (before, [])
    kept = duck.start_revert(["theirs~1", "theirs~4"], on="theirs", three_way=True)
    assert kept.conflicts.count() == 1
    kept.resolve("t", set={"a": 5})
    assert [c.message.startswith("revert") for c in kept.finish()] == [True, True]
    assert a_of(duck, "theirs") == [5, 21, 31]


STEPS: list[tuple[list[tuple[Any, ...]], list[str], list[int]]] = [
    ([("pick", 0), ("pick", 1), ("pick", 2), ("pick", 3)], ["m0", "m1", "m2", "m3"], [11, 21, 31, 41]),
    ([("pick", 3), ("pick", 0)], ["m3", "m0"], [11, 20, 30, 41]),
    ([("pick", 0), ("squash", 2), ("fixup", 1), ("drop", 3)], ["m0\n\nm2"], [11, 21, 31]),
    ([("reword", 1, "new"), ("squash", 0, "both")], ["both"], [11, 21, 30]),
    ([("drop", 0)], [], [10, 20, 30]),
]


@pytest.mark.long
@pytest.mark.parametrize(("steps", "messages", "values"), STEPS)
def test_a_rebase_does_what_its_steps_say(
    duck: ab.Repository, steps: list[tuple[Any, ...]], messages: list[str], values: list[int]
) -> None:
    parted(duck, put(9, a=90, s="o"))
    named = [duck.amend("theirs", "m3").hash]
    theirs = [c.hash for c in reversed(duck.log("theirs", limit=4))]
    duck.rebase("theirs", "theirs~4", steps=[("reword", h, f"m{n}") for n, h in enumerate(theirs)])
    assert named[0] not in (c.hash for c in duck.log("theirs"))
    theirs = [c.hash for c in reversed(duck.log("theirs", limit=4))]
    made = duck.rebase("theirs", "ours", steps=[(word, theirs[n], *rest) for word, n, *rest in steps])
    assert [c.message for c in made] == messages
    assert a_of(duck, "theirs") == [*values, 90]
    assert duck.is_ancestor("ours", "theirs")
    assert duck.verify(deep=True).is_sound


def test_a_rebase_with_conflicts_waits_and_takes_along_what_came_meanwhile(duck: ab.Repository) -> None:
    parted(duck)
    kept = duck.start_rebase("theirs", "ours")
    assert kept.conflicts.count() == 1
    act(duck, "theirs", put(5, a=50, s="l"))
    kept.resolve("t", take="ours")
    assert len(kept.finish()) == 4
    assert a_of(duck, "theirs") == [11, 22, 31, 41, 50]
    kept = duck.start_rebase("theirs", "theirs~2", steps=[("pick", "theirs")])
    duck.reset("theirs", "main")
    with pytest.raises(ab.BranchMoved, match="was reset meanwhile"):
        kept.finish()


@pytest.mark.parametrize(
    ("given", "problem"),
    [(["theirs..ours~1"], "names no commits"), (["nope"], "no branch, tag or commit"), ([], "no commit")],
)
def test_what_names_no_commit_is_refused(duck: ab.Repository, given: list[str], problem: str) -> None:
    parted(duck)
    with pytest.raises(ab.AnabranchError, match=problem):
        duck.cherry_pick(given, on="ours")
    assert duck.open_sequences() == []


def test_a_merge_commit_is_picked_against_the_parent_that_is_named(duck: ab.Repository) -> None:
    parted(duck, put(9, a=90, s="o"))
    duck.branch("main2", at="main")
    duck.merge("theirs", into="ours")
    with pytest.raises(ab.InvalidRequest, match="parents"):
        duck.cherry_pick(["ours"], on="main2")
    assert len(duck.cherry_pick(["ours"], on="main2", parent=2)) == 1
    assert a_of(duck, "main2") == [10, 20, 30, 90]
