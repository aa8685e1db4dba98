"""Every relation is read in every form, and the forms agree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.frames.relation import HABITS


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    """Two branches that changed one cell differently."""
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "n": 1}, {"id": 2, "n": None}], key="id")
    duck.branch("dev")
    for branch, value in (("main", 10), ("dev", 20)):
        with duck.commit(branch, f"{branch} sets {value}") as tx:
            tx.table("t").update({"n": value}, where="id = 1")
    return duck


def conflicts(repo: ab.Repository) -> ab.Relation:
    return repo.preview("dev", into="main").conflicts["t"]


RELATIONS: dict[str, Callable[[ab.Repository], ab.Relation]] = {
    "table": lambda repo: repo.table("t"),
    "diff": lambda repo: repo.diff("main~1", "main")["t"],
    "changes": lambda repo: repo.changes("t"),
    "blame": lambda repo: repo.blame("t"),
    "query": lambda repo: repo.sql("SELECT id, n FROM t"),
    "system table": lambda repo: repo.sql("SELECT * FROM ana.log"),
    "conflicts": conflicts,
}


@pytest.mark.parametrize("name", RELATIONS)
def test_all_forms_of_a_relation_have_the_same_rows_and_columns(shop: ab.Repository, name: str) -> None:
    found = RELATIONS[name](shop)
    assert isinstance(found, ab.Relation)
    arrow = found.arrow()
    assert arrow.num_rows > 0
    assert list(found.pandas().columns) == list(found.polars().columns) == arrow.column_names
    assert len(found.pandas()) == len(found.polars()) == arrow.num_rows
    assert found.count() == len(found.rows())
    assert "<table" in html_of(found)


def html_of(found: Any) -> str:
    return str(found._repr_html_())


def test_two_columns_of_one_name_are_no_dict(shop: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="two columns of the result are called 'n'"):
        shop.sql("SELECT n, n FROM t").rows()


@pytest.mark.parametrize(("habit", "ours"), HABITS.items())
def test_habits_of_other_libraries_are_told_what_to_write(shop: ab.Repository, habit: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"'Table' has no '{habit}'; here it is {ours}")):
        getattr(shop.table("t"), habit)
    if ours.startswith("."):
        assert callable(getattr(shop.table("t"), ours[1:].removesuffix("()")))
    assert not hasattr(shop.table("t"), "frobnicate")
