"""Rows that both sides touched are kept under the merged schema; the commit brings that schema, whatever it shows."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.merge import publish
from tests.catalog import stores
from tests.repo.merge.merge_cases import act

store = stores.store
repo = stores.repo


def make(tx: Any) -> None:
    tx.create_table("t", [{"id": n, "a": 0, "b": 0} for n in (1, 2)], key="id")


def put(column: str, id_: int = 1) -> Any:
    return lambda tx: tx.table("t").update({column: 5}, where=f"id = {id_}")


def add(column: str) -> Any:
    return lambda tx: tx.table("t").add_column(column, "int", default=7)


def test_a_column_that_came_to_the_branch_while_it_was_merged(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    act(repo, "main", make)
    repo.branch("dev")
    added = act(repo, "dev", add("x"))
    act(repo, "dev", put("a"))
    act(repo, "main", put("a"), put("b"))
    usual, met = publish._content, list[None]()

    def after_others(*given: Any) -> Any:
        if not met:
            met.append(None)
            repo.cherry_pick(added.hash, on="main")
        return usual(*given)

    monkeypatch.setattr(publish, "_content", after_others)
    repo.merge("dev")
    assert met
    assert repo.table("t").get(1) == {"id": 1, "a": 5, "b": 5, "x": 7}
    assert repo.diff("dev", "main")["t"].counts() == {"inserted": 0, "updated": 1, "deleted": 0, "cells": 1}
    repo.verify(deep=True).raise_damages()


def test_several_sources_that_each_change_the_columns(repo: ab.Repository) -> None:
    act(repo, "main", make)
    for source, column in (("one", "x"), ("two", "y")):
        repo.branch(source)
        act(repo, source, add(column), put("a", 1 if source == "one" else 2))
    act(repo, "main", put("a"), put("b"), put("a", 2), put("b", 2))
    repo.merge(["one", "two"], into="main")
    assert repo.table("t").get(2) == {"id": 2, "a": 5, "b": 5, "x": 7, "y": 7}
    for source in ("one", "two"):
        assert repo.diff(source, "main")["t"].counts()["updated"] == 2
    repo.verify(deep=True).raise_damages()
