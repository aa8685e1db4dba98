"""Counts of what a commit did to a table: each row once, in however many steps the commit changed it."""

from __future__ import annotations

from typing import Any

import anabranch as ab
from anabranch.repo.compare.history import TableHistoryEntry
from tests.repo.merge.merge_cases import Act, act, both, fork, make_t


def put(id_: int, a: int) -> Act:
    return lambda tx: tx.table("t").update({"a": a}, where=f"id = {id_}")


def insert(id_: int) -> Act:
    return lambda tx: tx.table("t").insert([{"id": id_, "a": 1, "s": "q"}])


def delete(id_: int) -> Act:
    return lambda tx: tx.table("t").delete(where=f"id = {id_}")


def counts(repo: ab.Repository, at: str) -> tuple[int, int, int]:
    (change,) = repo.show_changes(at)
    return change.inserted, change.updated, change.deleted


def test_the_revert_of_a_dropped_column_counts_each_row_once(repo: ab.Repository) -> None:
    act(repo, "main", make_t, lambda tx: tx.table("t").drop_column("s"))
    assert counts(repo, "main") == (0, 0, 0)
    repo.revert("main")
    assert counts(repo, "main") == (0, 3, 0)
    (entry, *_) = repo.history("t")
    assert isinstance(entry, TableHistoryEntry)
    assert (entry.inserted, entry.updated, entry.deleted) == (0, 3, 0)
    assert repo.diff("main~1", "main").counts()["t"] == {"inserted": 0, "updated": 3, "deleted": 0, "cells": 3}


def test_a_merge_of_several_commits_counts_each_row_once(repo: ab.Repository) -> None:
    fork(repo, make_t, put(3, a=31), put(1, a=11))
    act(repo, "theirs", put(1, a=12), both(put(1, a=13), insert(4)), put(4, a=2), delete(2))
    act(repo, "theirs", insert(5), delete(5))
    repo.merge("theirs", into="ours", mode="squash")
    assert counts(repo, "ours") == (1, 1, 1)
    (entry, *_) = repo.history("t", at="ours")
    assert isinstance(entry, TableHistoryEntry)
    assert (entry.inserted, entry.updated, entry.deleted) == (1, 1, 1)


def test_a_change_of_one_step_is_counted_without_reading_rows(duck: ab.Repository, monkeypatch: Any) -> None:
    fork(duck, make_t, put(3, a=31), both(put(1, a=11), insert(4), delete(2)))
    monkeypatch.setattr("anabranch.repo.compare.commit_changes.exact_counts", None)
    assert counts(duck, "theirs") == (1, 1, 1)
    duck.merge("theirs", into="ours")
    assert counts(duck, "ours") == (1, 1, 1)


def test_a_merge_says_nothing_of_updates_of_a_column_that_is_gone(duck: ab.Repository) -> None:
    def update_then_drop(tx: Any) -> None:
        tx.table("t").update({"s": "'new'"}, where="id <= 2")
        tx.table("t").update({"a": 5}, where="id = 1")

    fork(duck, make_t, put(3, a=31), update_then_drop)
    act(duck, "theirs", lambda tx: tx.table("t").drop_column("s"))
    duck.merge("theirs", into="ours")
    assert counts(duck, "ours") == (0, 1, 0)
    duck.verify(deep=True).raise_damages()
