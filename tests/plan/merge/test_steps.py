"""Steps of picks and rebases: what is asked for, and the texts that they are kept as."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.plan.merge.steps import Steps, TodoStep, asked_steps, read_steps

A, B, C, D = (letter * 64 for letter in "abcd")


def test_what_is_kept_is_read_back() -> None:
    todo = (
        TodoStep("pick", C, 2),
        TodoStep("reword", D, 1, "two lines\nmade main 7"),
        TodoStep("squash", A),
        TodoStep("carry", B),
    )
    for steps in (Steps(A, B, "main~2", (C,), todo), Steps(A, A, "", (), ())):
        assert read_steps(steps.kept) == steps
        assert all(len(text.partition(" ")[0]) == 64 for text in steps.kept)


def test_the_next_step_goes_on_the_last_that_was_made() -> None:
    steps = Steps(A, B, "main", (), (TodoStep("pick", C), TodoStep("pick", D)))
    assert steps.top == B
    assert (steps.done((D,)).top, len(steps.done((D,)).todo)) == (D, 1)


def test_what_was_to_go_into_a_commit_that_made_nothing_stays_a_commit_of_its_own() -> None:
    todo = (TodoStep("pick", B), TodoStep("fixup", C), TodoStep("squash", D))
    steps = Steps(A, A, "main", (A,), todo).left_out()
    assert steps.todo == (TodoStep("pick", C), TodoStep("squash", D))
    assert (steps.made, steps.alone) == ((A,), ((C, B),))
    assert read_steps(steps.kept) == steps
    assert steps.left_out().alone == ((D, C),)
    assert Steps(A, A, "main", (A,), todo[1:]).left_out() == Steps(A, A, "main", (A,), todo[2:])


def test_words_may_be_short_and_what_is_dropped_is_no_step() -> None:
    given = [("d", "x"), ("p", "a"), ("s", "b"), ("squash", "c", "both"), ("f", "d"), ["r", "e", "new"]]
    assert asked_steps(given) == [
        TodoStep("pick", "a"),
        TodoStep("squash", "b"),
        TodoStep("squash", "c", None, "both"),
        TodoStep("fixup", "d"),
        TodoStep("reword", "e", None, "new"),
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([("squash", "a")], "first step is squash"),
        ([("drop", "a"), ("fixup", "b")], "first step is fixup"),
        ([("edit", "a")], "step 1 says 'edit'"),
        ([("pick", "a"), "b"], "step 2 is 'b'"),
        ([("reword", "a")], "needs a message"),
        ([("pick", "a", "new")], "takes no message"),
        ([("pick",)], "step 1 is"),
    ],
)
def test_what_can_not_be_done_is_refused(given: list[Any], problem: str) -> None:
    with pytest.raises(ab.InvalidRequest, match=problem):
        asked_steps(given)
