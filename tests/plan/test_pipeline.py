"""What a run computes is decided from what is declared and what was read last."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.plan.pipeline import DatasetState, LastRun, Refresh, in_order, plan_run


def wanted(
    name: str, refresh: Refresh = "full", code: str = "c", reads: tuple[str, ...] = (), **versions: str
) -> DatasetState:
    return DatasetState(name, refresh, code, versions, reads)


def actions(*args: object, **options: object) -> dict[str, str]:
    return {s.name: s.action for s in plan_run(*args, **options)}  # type: ignore[arg-type]


def test_datasets_come_after_what_they_read_and_else_as_declared() -> None:
    assert in_order({"c": ["b"], "b": ["a", "outside"], "a": [], "d": []}) == ["a", "b", "c", "d"]


def test_a_ring_is_refused_with_its_path() -> None:
    with pytest.raises(ab.InvalidRequest, match="a → b → c → a"):
        in_order({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]})


@pytest.mark.parametrize(
    ("last", "options", "action", "reason"),
    [
        (None, {}, "full", "not computed before"),
        (LastRun("c", {"t": "1"}), {}, "keep", "nothing"),
        (LastRun("old", {"t": "1"}), {}, "full", "code"),
        (LastRun("c", {"t": "0"}), {}, "incremental", "t changed"),
        (LastRun("c", {"t": "1"}), {"edited": {"d": "changed by somebody else"}}, "full", "somebody else"),
        (LastRun("c", {"t": "1"}), {"full": ["d"]}, "full", "asked for"),
        (LastRun("c", {}), {}, "full", "first time"),
        (LastRun("c", {"t": "1", "gone": "1"}), {}, "full", "no longer reads gone"),
    ],
)
def test_what_becomes_of_a_dataset(last: LastRun | None, options: dict[str, Any], action: str, reason: str) -> None:
    (step,) = plan_run([wanted("d", "incremental_by", t="1")], {"d": last} if last else {}, **options)
    assert (step.action, reason in step.reason) == (action, True), step


def test_what_reads_a_computed_dataset_is_computed_too() -> None:
    made = [wanted("a", t="2"), wanted("b", "incremental_by", reads=("a",)), wanted("other", u="1")]
    last = {"a": LastRun("c", {"t": "1"}), "b": LastRun("c", {}), "other": LastRun("c", {"u": "1"})}
    assert actions(made, last) == {"a": "full", "b": "incremental", "other": "keep"}
