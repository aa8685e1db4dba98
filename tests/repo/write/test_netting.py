"""Statements of one commit that become one change: only keys that several of them touch are looked at again."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.duck import DuckEngine


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "a": i, "b": i} for i in range(100)], key="id")
    return duck


def test_statements_on_keys_of_their_own_are_published_as_they_are_stored(
    shop: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop.commit("main", "apart") as tx:
        table = tx.table("t")
        table.update({"a": "a + 1"}, where="id in (1, 50)")
        table.update({"b": "b + 1"}, where="id in (2, 49)")
        table.delete(where="id = 3")
        table.insert([{"id": 100, "a": 0, "b": 0}])
        stored = {x["sha256"] for x in table.layout()}
        monkeypatch.setattr(DuckEngine, "fetch", _refused)
    monkeypatch.undo()
    assert {x["sha256"] for x in shop.table("t").layout()} == stored
    assert len({x["turn"] for x in shop.table("t").layout()}) == 2, "the commit has one turn"
    assert shop.diff("main~1", "main")["t"].counts() == {"inserted": 1, "updated": 4, "deleted": 1, "cells": 4}


def _refused(*_: Any) -> Any:
    raise AssertionError("no engine is needed to publish")


def test_keys_that_two_statements_touch_are_compared_and_the_others_stay(shop: ab.Repository) -> None:
    with shop.commit("main", "meet") as tx:
        table = tx.table("t")
        table.update({"a": "a + 1"}, where="id < 40")
        table.update({"a": "a - 1"}, where="id = 1")
        table.update({"b": "b * 10"}, where="id = 2")
        table.delete(where="id = 3")
        table.insert([{"id": i, "a": 0, "b": 0} for i in range(100, 120)])
        table.delete(where="id = 100")
        table.update({"b": "7"}, where="id = 101")
        expected = sorted(table.rows(), key=lambda row: row["id"])
    assert sorted(shop.table("t").rows(), key=lambda row: row["id"]) == expected
    diff = shop.diff("main~1", "main")["t"]
    assert diff.counts() == {"inserted": 19, "updated": 38, "deleted": 1, "cells": 39}
    shop.verify().raise_damages()
