"""Where commits came from, on the command line: provenance both ways, and its lines in log and show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.conftest import Ana


@pytest.fixture
def made(shop: Ana, folder: Path) -> Ana:
    """A report on main that was made from inputs and from a file outside; inputs were made from main before it."""
    opened = ab.init(folder, repository="inputs", author="ann")
    with opened as inputs, inputs.commit("main", "clean", provenance=["shop@main"]) as tx:
        tx.create_table("t", [{"id": 1}])
    with ab.open(folder, repository="shop", author="ann") as repo:
        given = {"orders": "inputs@main", "log\x1b[2J": ab.external("s3://b/k@1")}
        with repo.commit("main", "report", provenance=given) as tx:
            tx.create_table("report", [{"n": 1}])
    return shop


def told(text: str) -> list[str]:
    return re.sub(r"\b[0-9a-f]{10}\b", "#", text).splitlines()


FROM = ["from inputs@# (orders)", r"from s3://b/k@1 (log\x1b[2J)"]


def test_provenance_is_listed_nearest_first_with_a_line_each(made: Ana) -> None:
    assert told(made("provenance").out) == [
        "from inputs@# (orders): clean",
        FROM[1],
        "  from shop@#: load orders",
    ]
    assert told(made("provenance", "HEAD", "--direct").out) == [f"{FROM[0]}: clean", FROM[1]]
    assert told(made("provenance", "HEAD~1", "--down").out) == ["to inputs@#: clean", "  to shop@# (orders): report"]
    assert made("provenance", "HEAD~1").out.endswith(" names no sources.\n")
    assert told(made("provenance", "--down").out) == ["No commit names # as its source."]
    assert "no branch, tag or commit" in made("provenance", "nope", fails=3).err


def test_provenance_is_drawn_in_mermaid_and_told_as_json(made: Ana) -> None:
    drawn = told(made("provenance", "--graph").out)
    assert drawn[:3] == ["flowchart LR", '  n0["#"]', '  n1["inputs@#"]']
    assert set(drawn[5:]) == {"  n1 --> n0", "  n2 --> n0", "  n3 --> n1"}
    document = made("provenance", "--json").json
    names = ["hash", "repository", "role", "message", "author", "finished_at", "source", "depth", "via"]
    assert [list(entry) for entry in document["entries"]] == [names] * 3
    assert list(document) == ["commit", "entries"]
    assert [e["via"] for e in document["entries"][:2]] == [[document["commit"]]] * 2
    assert told(made("provenance", "--graph", "--json").json["graph"]) == drawn


def test_log_and_show_say_what_a_commit_was_made_from(made: Ana) -> None:
    shown = told(made("show").out)
    assert shown[4:7] == ["Tables: report", *FROM]
    assert told(made("log", "-1").out)[4:7] == ["Tables: report", *FROM]
    assert sum(line in FROM for line in told(made("log").out)) == 2
    assert [line for line in told(made("log", "--graph").out) if "from " in line] == [f"| {line}" for line in FROM]
    assert "from " not in made("log", "--oneline").out


def test_of_many_sources_ten_are_shown(made: Ana, folder: Path) -> None:
    given = [ab.external(f"s3://b/{n}") for n in range(12)]
    opened = ab.open(folder, repository="shop", author="ann")
    with opened as repo, repo.commit("main", "many", provenance=given) as tx:
        tx.table("report").insert([{"n": 2}])
    lines = [line for line in told(made("show").out) if line.startswith("from ")]
    assert (len(lines), lines[-1]) == (11, "from 2 more: ana provenance --direct #")
