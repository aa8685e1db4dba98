"""A file that is moved or copied to where somebody else makes one, or that somebody else deletes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from tests.catalog import stores

store = stores.store
repo = stores.repo
Act = Callable[[Any], object]


def move(source: str, target: str) -> Act:
    return lambda files: files.move(source, target)


def copy(source: str, target: str) -> Act:
    return lambda files: files.copy(source, target)


def append(path: str, text: str) -> Act:
    return lambda files: files.append(path, text)


def delete(path: str) -> Act:
    return lambda files: files.delete(path)


def make(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.files.append("a", "a\n")
        tx.files.append("b", "b\n")


def shown(repo: ab.Repository) -> dict[str, str]:
    return {found.path: repo.files().read(found.path).decode() for found in repo.files().walk()}


def at_once(repo: ab.Repository, first: Act, second: Act) -> None:
    """Publish the first while a commit with the second is open; then finish that."""
    opened = repo.start("main", message="second")
    second(opened.files)
    with repo.commit("main", "first") as tx:
        first(tx.files)
    opened.finish()


REFUSED = {
    "two files to one path": (move("a", "x"), move("b", "x")),
    "a file to where another was appended": (append("x", "1\n"), move("b", "x")),
    "a copy to where another was appended": (append("x", "1\n"), copy("b", "x")),
    "a file that was deleted": (delete("a"), move("a", "x")),
    "a file that was moved elsewhere": (move("a", "x"), move("a", "y")),
    "a file that was appended to": (append("a", "1\n"), move("a", "x")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_move_that_meets_what_others_did_is_refused(repo: ab.Repository, case: str) -> None:
    first, second = REFUSED[case]
    make(repo)
    with pytest.raises(ab.BranchMoved):
        at_once(repo, first, second)
    assert repo.log(limit=1)[0].message == "first"
    repo.verify(deep=True).raise_damages()


ACCEPTED = {
    "append to what was moved there": (move("b", "x"), append("x", "1\n"), {"a": "a\n", "x": "b\n1\n"}),
    "two appends": (append("x", "1\n"), append("x", "2\n"), {"a": "a\n", "b": "b\n", "x": "1\n2\n"}),
    "equal copies": (copy("a", "x"), copy("a", "x"), {"a": "a\n", "b": "b\n", "x": "a\n"}),
    "two deletes": (delete("a"), delete("a"), {"b": "b\n"}),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_goes_together_goes_through(repo: ab.Repository, case: str) -> None:
    first, second, expected = ACCEPTED[case]
    make(repo)
    at_once(repo, first, second)
    assert shown(repo) == expected
    repo.verify(deep=True).raise_damages()


MERGED = {
    "two files to one path": (move("a", "x"), move("b", "x")),
    "theirs to where ours was appended": (append("x", "1\n"), move("b", "x")),
    "ours to where theirs was appended": (move("b", "x"), append("x", "1\n")),
}


@pytest.mark.parametrize("case", MERGED)
def test_a_merge_appends_no_moved_file_to_another(repo: ab.Repository, case: str) -> None:
    ours, theirs = MERGED[case]
    make(repo)
    repo.branch("dev")
    for branch, work in (("main", ours), ("dev", theirs)):
        with repo.commit(branch, branch) as tx:
            work(tx.files)
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge("dev")
    (conflict,) = caught.value.conflicts.files.rows()
    assert conflict["kind"] == "create/create"
    kept = repo.start_merge("dev")
    kept.resolve(file="x", take="theirs")
    kept.finish()
    assert shown(repo)["x"] == repo.files("dev").read("x").decode()
    repo.verify(deep=True).raise_damages()
