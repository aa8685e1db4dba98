"""How many queries an engine runs for a verb: what is known already is not asked again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.duck import DuckEngine


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    """Two branches of a table of files that changed other cells of three rows, and one cell of each alike."""
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "a": i, "b": i, "c": i} for i in range(100)], key="id")
    duck.branch("dev")
    for branch, column in (("main", "a"), ("dev", "b")):
        with duck.commit(branch, f"change {column}") as tx:
            tx.table("t").update({column: f"{column} + 1", "c": "c + 10"}, where="id < 3")
    return duck


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Keep what each query reads, in the order that they run."""
    asked: list[str] = []
    fetch = DuckEngine.fetch

    def counting(self: DuckEngine, query: Any, *more: float) -> Any:
        asked.append(repr(query.expression)[:300])
        return fetch(self, query, *more)

    with monkeypatch.context() as patched:
        patched.setattr(DuckEngine, "fetch", counting)
        yield asked


def test_an_update_is_one_query(shop: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as asked, shop.commit("main", "again") as tx:
        tx.table("t").update({"a": "a * 2"}, where="b > 90")
    assert len(asked) == 1, "\n\n".join(asked)


def test_a_merge_of_rows_that_meet_is_at_most_five_queries(
    shop: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(monkeypatch) as asked:
        shop.merge("dev", into="main", rules={"t.c": "sum"})
    assert shop.table("t").get({"id": 1}) == {"id": 1, "a": 2, "b": 2, "c": 21}
    assert 0 < len(asked) <= 5, "\n\n".join(asked)


def test_a_diff_is_folded_once_whatever_is_asked_of_it(shop: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as asked:
        diff = shop.diff("main", "dev")
        table = diff["t"]
        assert diff.tables == ("t",)
        assert table.counts() == {"inserted": 0, "updated": 3, "deleted": 0, "cells": 6}
        assert len(table.rows()) == 3
    assert 0 < len(asked) <= 2, "\n\n".join(asked)
