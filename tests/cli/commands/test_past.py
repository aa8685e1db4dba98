"""Who did what, and when: history, blame, changes; and graphs of real merges."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.commands.test_merge import write
from tests.cli.conftest import Ana
from tests.cli.test_executable import imported


@pytest.fixture
def lived(shop: Ana, folder: Path) -> Ana:
    """Row 1 was changed on main and on dev, and merged."""
    shop("branch", "dev")
    write(folder, "dev", "void it", status="'void'")
    write(folder, "main", "cheaper", price=8.0)
    shop("merge", "dev")
    return shop


def test_the_commits_that_touched_a_table_are_listed(lived: Ana) -> None:
    lines = [line.split("  ") for line in lived("history", "orders").out.splitlines()]
    assert [line[-1].strip() for line in lines] == ["cheaper", "void it", "load orders"]
    entries = lived("history", "orders", "--json", "-n", "1").json["entries"]
    assert (entries[0]["commit"]["message"], entries[0]["updated"]) == ("cheaper", 1)


def test_every_state_of_a_row_is_listed(lived: Ana) -> None:
    lines = lived("history", "orders", "--key", "1").out.splitlines()
    assert lines[1::2] == [
        "  update  price: 9.5 → 8.0",
        "  update  status: new → void",
        "  insert  id: 1, status: new, price: 9.5",
    ]
    assert [e["change"] for e in lived("history", "orders", "--key", "id=2", "--json").json["entries"]] == ["insert"]


def test_the_history_of_a_table_loads_sqlalchemy_at_most(lived: Ana) -> None:
    assert imported("history", "orders") == {"sqlalchemy"}


def test_every_row_and_cell_has_who_changed_it_last(lived: Ana) -> None:
    found = lived("blame", "orders", "--json").json
    messages = [found["commits"][row["commit"]]["message"] for row in found["rows"]]
    assert messages[1:] == ["load orders", "load orders"]
    lines = lived("blame", "orders", "--key", "1", "--cells").out.splitlines()
    assert [(line.split()[1], line.split("  ")[-1].strip()) for line in lines[2:-1]] == [
        ("status", "void it"),
        ("price", "cheaper"),
    ]
    assert lived("blame", "orders", "-n", "1").out.splitlines()[-1] == "1 row, and there are more (--limit)"


def test_every_change_of_every_commit_is_listed(lived: Ana) -> None:
    found = lived("changes", "orders", "--since", "HEAD~2", "--key", "1", "--json").json
    assert [row["_change_type"] for row in found["rows"]] == ["update_preimage", "update_postimage"] * 2
    assert lived("changes", "orders", "--to", "HEAD~2").out.splitlines()[-1] == "3 rows"
    assert "`ana diff`" in lived("changes", "orders", "--since", "dev", "--to", "main~1", fails=2).err
    assert lived("changes", "orders").out.split()[:3] == ["_change_type", "_commit_version", "id"]


def test_a_criss_cross_of_merges_is_drawn(lived: Ana, folder: Path) -> None:
    with ab.open(folder, author="ann") as repo:
        write(folder, "dev", "on dev", status="'a'")
        write(folder, "main", "on main", price=1.0)
        repo.branch("old", at="main")
        repo.merge("dev", into="main", message="dev into main")
        repo.merge("old", into="dev", message="main into dev")
        repo.merge("main", into="dev", message="both again")
    lines = lived("log", "dev", "--graph", "--oneline", "-n", "6").out.splitlines()
    nodes = [line for line in lines if "*" in line]
    assert nodes[0].endswith(" both again")
    assert {" ".join(line.split()[-2:]) for line in nodes[3:5]} == {"on dev", "on main"}
    assert all(line.count("*") == 1 for line in nodes)


def test_blame_of_one_column_tells_who_changed_that_cell_last(shop: Ana) -> None:
    shop("sql", "UPDATE orders SET status = 'void' WHERE id = 1", "-m", "void")
    rows = shop("blame", "orders", "--column", "price", "--key", "1", "--json").json
    assert [commit["message"] for commit in rows["commits"].values()] != ["void"]
    assert rows["commits"][rows["rows"][0]["commit"]]["message"] != "void"
    assert not shop("blame", "orders", "-n", "100", "--json").json["more"]
    assert shop("blame", "orders", "-n", "1", "--json").json["more"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (["idd=1"], "'dup' has no key column 'idd'"),
        (["x"], "'x' is no id of 'dup'"),
    ],
)
def test_a_key_that_can_not_be_meant_is_refused(shop: Ana, key: list[str], message: str) -> None:
    shop("import", "dup", "orders.csv", "--key", "id", "-m", "dup")
    told = shop("history", "dup", *(f"--key={part}" for part in key), fails=2).err
    assert f"error: {message}" in told


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (["id=1"], "--key id=1 leaves status of the key of 'pairs' out"),
        (["id=1", "state=new"], "'pairs' has no key column 'state'"),
        (["1"], "'1' is no key of 'pairs'"),
        (["id=1,status=new"], "'id=1,status=new' is no key of 'pairs'"),
    ],
)
def test_a_key_of_two_columns_needs_both(shop: Ana, key: list[str], message: str) -> None:
    shop("import", "pairs", "orders.csv", "--key", "id,status", "-m", "pairs")
    told = shop("history", "pairs", *(f"--key={part}" for part in key), fails=2).err.splitlines()
    assert told == [f"error: {message}", "hint: write it as --key id=… --key status=…"]


def test_blame_shows_days_where_times_have_no_room(shop: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    shop("sql", "UPDATE orders SET status = 'a rather long status' WHERE id = 1", "-m", "a rather long message")
    assert "T" in shop("blame", "orders").out.splitlines()[2].split()[2]
    monkeypatch.setattr("anabranch.cli.output.tables.screen_width", lambda: 80)
    line = shop("blame", "orders").out.splitlines()[2]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", line.split()[2])
