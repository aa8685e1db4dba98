"""Commands that ask several things of a branch are answered as of one moment, while another process commits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.conftest import Ana
from tests.repo.moving import TOTAL, accounts, moving


@pytest.fixture
def busy(ana: Ana, folder: Path) -> Iterator[Ana]:
    """A store whose branch moves before each look at the catalogue."""
    ana("init")
    with ab.open(folder, engine="duck") as writer:
        accounts(writer)
        with moving(writer):
            yield ana


def test_the_newest_commit_of_a_log_is_the_one_that_the_branch_shows(busy: Ana) -> None:
    commits = busy("log", "--json").json["commits"]
    assert [bool(c["branches"]) for c in commits[:2]] == [True, False]
    assert "(HEAD -> main)" in busy("log", "--graph", "--oneline", "--all", "--author", "ann").out.splitlines()[0]
    assert "(HEAD -> main)" in busy("show").out.splitlines()[0]


def test_a_commit_is_shown_with_its_own_changes(busy: Ana) -> None:
    told = busy("show", "--json", "-v").json
    assert {c["table"] for c in told["changes"]} == {"left", "right"}
    with_hash = busy("show", told["commit"]["hash"], "--json", "-v").json
    assert with_hash == told


@pytest.mark.parametrize("form", [(), ("--stat",)])
def test_a_diff_of_several_tables_is_of_two_commits(busy: Ana, form: tuple[str, ...]) -> None:
    tables = busy("diff", "HEAD~1", "HEAD", "--json", *form, "--", "left", "right").json["tables"]
    assert [t["updated"] for t in tables] == [1, 1]
    if not form:
        assert sum(t["rows"][0]["after"]["v"] for t in tables) == TOTAL


def test_what_was_queried_is_of_one_moment(busy: Ana) -> None:
    query = "SELECT l.v + r.v AS n, (SELECT count(*) FROM ana.log) + l.v AS m FROM left l, right r"
    for result in busy("sql", f"{query}; {query}", "--json").json["results"]:
        assert result["rows"] == [[TOTAL, TOTAL + 2]]


def test_a_row_is_followed_back_from_one_commit(busy: Ana) -> None:
    for command in (["blame", "left"], ["changes", "left"], ["table", "show", "left"], ["ls"], ["status"]):
        assert busy(*command).out
    states = busy("history", "left", "--key", "1", "--json").json["entries"]
    assert [e["after"]["v"] for e in states] == list(range(states[0]["after"]["v"], TOTAL + 1))
