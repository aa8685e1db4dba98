"""The tree of errors: each has a code of its own, carries its facts, and travels between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

import anabranch as ab
from anabranch import errors

KINDS = sorted(errors.AnabranchError.__subclasses__(), key=lambda kind: kind.__name__)


def test_the_tree_is_the_one_that_the_design_names() -> None:
    assert {kind.__name__ for kind in KINDS} == {
        "InvalidRequest",
        "NotFound",
        "AlreadyExists",
        "MergeConflict",
        "BranchMoved",
        "Unavailable",
        "OutcomeUnknown",
        "Corrupt",
        "RunFailed",
    }
    assert all(getattr(ab, kind.__name__) is kind for kind in KINDS)
    assert all(kind.__name__ in str(errors.__doc__) for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_carries_its_facts_and_a_hint(kind: type[errors.AnabranchError]) -> None:
    error = kind("main moved", hint="try again", branch="main", tables=("a", "b"))
    assert str(error) == "main moved (try again)"
    assert (error.message, error.hint, error.branch, error.tables) == ("main moved", "try again", "main", ("a", "b"))
    with pytest.raises(AttributeError):
        _ = error.nothing
    assert str(kind("main moved")) == "main moved"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_can_be_sent_to_another_process(kind: type[errors.AnabranchError]) -> None:
    error = kind("main moved", hint="try again", branch="main")
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is kind
        assert (str(same), same.hint, same.branch) == (str(error), "try again", "main")
