"""The demo, told in full on a small table; it uses the tests' Spark session."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.conftest import Ana


@pytest.mark.usefixtures("spark")
def test_the_demo_tells_its_story_and_leaves_a_repository(ana: Ana, folder: Path) -> None:
    done = ana("demo", "--path", "shop", "--rows", "2000")
    titles = [line for line in done.out.splitlines() if line.partition(".")[0].isdigit()]
    assert len(titles) == 12
    assert "merge.resolve(" in done.out
    assert 'with repo.commit("main", "load orders") as tx:' in done.out
    assert "   cd shop\n" in done.out
    with ab.open("shop") as repo:
        assert [branch.name for branch in repo.branches()] == ["dev", "main"]
        assert repo.table("orders", at="v1").count() == 2000
        assert repo.table("orders", at="main").get({"id": 7})["quantity"] == 16  # type: ignore[index]
        assert repo.table("orders", at="dev").count() != 2000
    assert ana("--store", "shop", "status", "--json").json["branch"] == "main"


@pytest.mark.usefixtures("spark")
def test_the_demo_as_json_keeps_the_times(ana: Ana) -> None:
    found = ana("demo", "--path", "shop", "--rows", "2000", "--json").json
    assert (found["path"], found["rows"], found["branches"]) == ("shop", 2000, ["dev", "main"])
    assert all(step["seconds"] > 0 for step in found["steps"])


def test_the_demo_does_not_touch_a_store_that_is_there(ana: Ana, folder: Path) -> None:
    ana("init", "shop")
    assert ana("demo", "--path", "shop", fails=4).out == ""
