"""Merges on the command line: published at once, or open until every conflict is settled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.cli.conftest import Ana
from tests.cli.test_executable import on_terminal


def write(folder: Path, branch: str, message: str, **values: Any) -> None:
    """Commit cells of row 1 on a branch."""
    with ab.open(folder, author="ann") as repo, repo.commit(branch, message) as tx:
        tx.table("orders").update(values, where="id = 1")


@pytest.fixture
def parted(shop: Ana, folder: Path) -> Ana:
    """dev has another status of row 1."""
    shop("branch", "dev")
    write(folder, "dev", "void it", status="'void'")
    return shop


@pytest.fixture
def meeting(parted: Ana, folder: Path) -> Ana:
    """Both have another price of row 1, and main has deleted row 2, which dev changed."""
    write(folder, "dev", "dearer", price=12.0)
    write(folder, "main", "cheaper", price=8.0)
    with ab.open(folder, author="ann") as repo:
        with repo.commit("dev", "two, too") as tx:
            tx.table("orders").update({"price": 21.0}, where="id = 2")
        with repo.commit("main", "not two") as tx:
            tx.table("orders").delete(where="id = 2")
    return parted


def shown(ana: Ana) -> dict[int, tuple[str, float | None]]:
    rows = ana("table", "show", "orders", "--json").json["rows"]
    return {row["id"]: (row["status"], row["price"]) for row in rows}


def test_a_branch_moves_on_where_it_can(parted: Ana) -> None:
    assert parted("merge", "dev", "--dry-run").out.splitlines() == [
        "A merge of dev into main would change:",
        "  orders  1 updated",
    ]
    lines = parted("merge", "dev").out.splitlines()
    assert lines[0].startswith("Fast-forward: main is at ")
    assert lines[1:] == ["  orders  1 updated"]
    assert parted("merge", "dev").out == "main has all of it already.\n"


def test_a_merge_commit_is_made_if_told_so(parted: Ana) -> None:
    found = parted("merge", "dev", "--no-ff", "-m", "take dev", "--json").json
    assert (found["commit"]["message"], len(found["commit"]["parents"])) == ("take dev", 2)
    assert (found["fast_forward"], found["open"]) == (False, False)
    assert found["counts"] == {"orders": {"inserted": 0, "updated": 1, "deleted": 0, "cells": 1}}


def test_changes_of_both_come_together(parted: Ana, folder: Path) -> None:
    write(folder, "main", "cheaper", price=8.0)
    assert "can't be fast-forwarded" in parted("merge", "dev", "--ff-only", fails=2).err
    lines = parted("merge", "dev").out.splitlines()
    assert lines[0].endswith("] merge dev into main")
    assert shown(parted)[1] == ("void", 8.0)
    graph = parted("log", "--graph", "--oneline").out.splitlines()
    assert graph[1] == "|\\"
    merge = parted("show").out.splitlines()
    assert merge[1].startswith("Merge:  ")
    assert merge[-1].split()[0] == "orders"


def test_squash_and_replay_have_one_parent(parted: Ana, folder: Path) -> None:
    write(folder, "main", "cheaper", price=8.0)
    parted("branch", "other")
    assert len(parted("merge", "dev", "--squash", "--json").json["commit"]["parents"]) == 1
    assert parted("merge", "dev", "--replay", "--into", "other", "--json").json["commit"]["message"] == "void it"


def test_a_merge_with_conflicts_stays_open_until_they_are_settled(meeting: Ana) -> None:
    lines = meeting("merge", "dev", fails=1).out.splitlines()
    assert lines[:2] == [
        "The merge of dev into main is open: 2 conflicts.",
        "  orders  2 conflicts: price (update/update), row (delete/update)",
    ]
    assert shown(meeting)[1] == ("new", 8.0)
    assert "A merge of dev into main is open, with 2 conflicts in 1 table.\n" in meeting("status").out
    assert [merge["sources"] for merge in meeting("status", "--json").json["merges"]] == [["dev"]]
    assert "a merge of dev is open on 'main'" in meeting("merge", "dev", fails=2).err
    rows = meeting("conflicts", "orders", "--json").json["rows"]
    assert rows[0] == {
        "key": {"id": 1},
        "kind": "update/update",
        "column": "price",
        "base": 9.5,
        "ours": 8.0,
        "theirs": 12.0,
    }
    assert "(no row)" in meeting("conflicts", "orders").out
    assert meeting("conflicts", "--json").json["count"] == 2
    said = meeting("resolve", "orders", "--key", "1", "--set", "price=ours + theirs - base").out
    assert said == "orders: 1 resolved, 1 left\n"
    assert meeting("merge", "--continue", fails=1).out.startswith("The merge of dev into main is open: 1 conflict.")
    said = meeting("resolve", "orders", "--theirs", "--where", "id = 2").out
    assert said == "orders: 1 resolved, none left; `ana merge --continue` publishes the merge\n"
    assert meeting("conflicts").out.startswith("No conflicts are left")
    none = "No conflicts of orders are left; `ana merge --continue` publishes the merge.\n"
    assert meeting("conflicts", "orders").out == none
    assert meeting("conflicts", "orders", "--json").json["count"] == 0
    assert meeting("merge", "--continue", "-m", "decided").out.splitlines()[0].endswith("] decided")
    assert shown(meeting) == {1: ("void", 10.5), 2: ("paid", 21.0), 3: ("sent", None)}
    assert meeting("status", "--json").json["merges"] == []


@pytest.mark.parametrize("command", [["conflicts", "ordr"], ["resolve", "ordr", "--ours"]])
def test_a_misspelt_table_of_an_open_merge_is_told(meeting: Ana, command: list[str]) -> None:
    meeting("merge", "dev", fails=1)
    told = meeting(*command, fails=3).err.splitlines()
    assert told == ["error: there is no table 'ordr' at this commit", "hint: did you mean 'orders'?"]


def test_an_open_merge_is_given_up(meeting: Ana) -> None:
    found = meeting("merge", "dev", "--json", fails=1).json
    assert (found["commit"], found["open"], found["conflicts"]["count"]) == (None, True, 2)
    assert meeting("merge", "--abort").out == "The merge of dev into main is given up; nothing was changed.\n"
    for arguments in (["merge", "--abort"], ["merge", "--continue"], ["conflicts"], ["resolve", "orders", "--ours"]):
        assert "no merge is open on 'main'" in meeting(*arguments, fails=3).err


@pytest.mark.parametrize(
    ("side", "rows"),
    [
        ("--ours", {1: ("void", 8.0), 3: ("sent", None)}),
        ("--theirs", {1: ("void", 12.0), 2: ("paid", 21.0), 3: ("sent", None)}),
    ],
)
def test_a_side_wins_if_told_so(meeting: Ana, side: str, rows: dict[int, tuple[str, float | None]]) -> None:
    meeting("merge", "dev", side)
    assert shown(meeting) == rows


def test_rules_decide_cells(meeting: Ana) -> None:
    done = meeting("merge", "dev", "--rule", "orders.price=max", "--dry-run", fails=1)
    assert done.out.splitlines() == [
        "A merge of dev into main would have 1 conflict:",
        "  orders  1 conflict: row (delete/update)",
    ]
    assert "give rules (--rule)" in meeting("merge", "dev", "--replay", fails=1).err
    assert meeting("status", "--json").json["merges"] == []


def test_command_lines_that_contradict_themselves_are_refused(shop: Ana) -> None:
    for arguments in (
        ["merge"],
        ["merge", "dev", "--continue"],
        ["merge", "dev", "--ff-only", "--no-ff"],
        ["merge", "dev", "--rule", "orders.price"],
        ["resolve", "orders"],
        ["resolve", "orders", "--ours", "--set", "a=1"],
    ):
        shop(*arguments, fails=2)
    for arguments in (["merge", "dev", "--ours", "--theirs"], ["resolve", "orders", "--base", "--theirs"]):
        assert "contradict each other" in shop(*arguments, fails=2).err


def test_columns_tables_and_constraints_are_told_and_settled(shop: Ana, folder: Path) -> None:
    with ab.open(folder, author="ann") as repo:
        with repo.commit("main", "more") as tx:
            tx.create_table("gone", [{"id": 1, "a": 1}], key="id")
        repo.branch("dev")
        with repo.commit("dev", "theirs") as tx:
            tx.table("orders").update({"status": "'odd'"}, where="id = 1")
            tx.table("orders").add_check("cheap", "price < 100")
            tx.table("gone").update({"a": 2})
        with repo.commit("main", "ours") as tx:
            tx.table("orders").drop_column("status")
            tx.table("orders").update({"price": 200.0}, where="id = 2")
            tx.drop_table("gone")
    assert shop("merge", "dev", fails=1).out.splitlines()[1:4] == [
        "  gone           drop/update: nothing here, update there",
        "  orders.status  drop column/update: nothing here, status string there",
        "  orders         1 merged row would break check cheap",
    ]
    assert shop("conflicts", "orders").out.splitlines() == [
        "status: drop column/update: nothing here, status string there",
        "would break   id   price",
        "────────────────────────",
        "check cheap   2    200.0",
        "2 conflicts",
    ]
    assert shop("conflicts", "gone", "--json").json["things"][0]["kind"] == "drop/update"
    assert shop("resolve", "gone", "--ours").out == "gone: 1 resolved, 2 left\n"
    assert shop("resolve", "orders", "--theirs").out == "orders: 2 resolved, 1 left\n"
    assert "or changed on main first;" in shop("conflicts").out
    with ab.open(folder, author="ann") as repo, repo.commit("main", "cheaper") as tx:
        tx.table("orders").update({"price": 20.0}, where="id = 2")
    shop("merge", "--continue")
    assert shown(shop)[1] == ("odd", 9.5)


def test_a_rebase_with_a_conflict_names_what_it_is_made_on(meeting: Ana) -> None:
    assert "can't be made on 'main': " in meeting("rebase", "main", "dev", fails=1).out


def test_rows_in_conflict_and_rows_that_break_a_check_are_told_together_and_settled_by_key(
    meeting: Ana, folder: Path
) -> None:
    with ab.open(folder, author="ann") as repo:
        with repo.commit("dev", "checked") as tx:
            tx.table("orders").add_check("cheap", "price < 100")
        with repo.commit("main", "dear") as tx:
            tx.table("orders").update({"price": 200.0}, where="id = 3")
    assert meeting("merge", "dev", fails=1).out.splitlines()[:3] == [
        "The merge of dev into main is open: 3 conflicts.",
        "  orders  2 conflicts: price (update/update), row (delete/update)",
        "  orders  1 merged row would break check cheap",
    ]
    assert meeting("resolve", "orders", "--key", "3", "--set", "price=30").out == "orders: 1 resolved, 2 left\n"
    assert "none left" in meeting("resolve", "orders", "--theirs").out
    meeting("merge", "--continue")
    assert shown(meeting) == {1: ("void", 12.0), 2: ("paid", 21.0), 3: ("sent", 30.0)}


def test_in_eighty_columns_conflicts_and_blame_show_what_matters(ana: Ana, folder: Path) -> None:
    long = "a very long description of a green tea from the hills"
    (folder / "t.csv").write_text("id,customer_reference,item,qty\n1,C-2026-000001-ab,tea,2\n")
    ana("init")
    ana("import", "t", "t.csv", "--key", "id,customer_reference", "-m", "load")
    ana("switch", "-c", "dev")
    ana("sql", f"UPDATE t SET item = '{long}'", "-m", "greener")
    ana("switch", "main")
    ana("sql", "UPDATE t SET item = 'black tea'", "-m", "blacker")
    ana("merge", "dev", fails=1)
    seen = on_terminal("conflicts", "t", columns=80, NO_COLOR="1").replace("\r", "")
    assert "id=1, customer_reference=C-2026-000001-ab: item (update/update)\n  base    tea\n  ours    black tea" in seen
    assert f"  theirs  {long}\n" in seen
    ana("resolve", "t", "--theirs")
    ana("merge", "--continue")
    lines = on_terminal("blame", "t", "--cells", columns=80, NO_COLOR="1").replace("\r", "").splitlines()
    assert any(line.endswith("id=1, customer_reference=C-2026-000001-ab") for line in lines)
    assert any(line.startswith("item") and line.endswith("greener") for line in lines)
    assert max(len(line) for line in lines if line[:1].isalpha()) <= 80


def test_a_key_that_fills_the_screen_leaves_the_column_in_conflict_to_be_seen(ana: Ana, folder: Path) -> None:
    names = [f"part_of_the_key_{n}" for n in range(6)]
    (folder / "t.csv").write_text(f"{','.join(names)},item\n1,2,3,4,5,6,tea\n")
    ana("init")
    ana("import", "t", "t.csv", "--key", ",".join(names), "-m", "load")
    ana("switch", "-c", "dev")
    ana("sql", "UPDATE t SET item = 'green tea'", "-m", "green")
    ana("switch", "main")
    ana("sql", "UPDATE t SET item = 'black tea'", "-m", "black")
    ana("merge", "dev", fails=1)
    seen = on_terminal("conflicts", "t", columns=80, NO_COLOR="1").replace("\r", "")
    assert "part_of_the_key_5=6\nitem (update/update)\n  base    tea\n" in seen
    blamed = on_terminal("blame", "t", "--column", "item", columns=80, NO_COLOR="1").replace("\r", "")
    assert "black tea" in blamed


def test_a_row_that_was_resolved_is_resolved_again_by_its_key(meeting: Ana) -> None:
    meeting("merge", "dev", fails=1)
    meeting("resolve", "orders", "--ours")
    assert "orders: 1 resolved, none left" in meeting("resolve", "orders", "--key", "1", "--theirs").out


def test_diff_and_status_tell_of_an_open_merge(meeting: Ana) -> None:
    meeting("merge", "dev", fails=1)
    done = meeting("diff")
    assert done.err.startswith("A merge of dev into main is open; this is what it would change now")
    assert meeting("status", "--json").json["merges"][0]["conflicts"] == 2
    before = done.out
    meeting("resolve", "orders", "--theirs")
    assert "is open; no conflicts are left.\n" in meeting("status").out
    assert meeting("diff").out != before
    found = meeting("diff", "--json")
    assert (found.json["before"], found.json["open"], found.err) == ("main", "merge", "")
    assert [table["name"] for table in found.json["tables"]] == ["orders"]
    done = meeting("diff", "--staged")
    assert (done.out, "beside it" in done.err) == ("Nothing differs.\n", True)
    assert meeting("diff", "main").err == ""
    meeting("merge", "--abort")
    assert meeting("diff").err == ""


def test_status_does_not_start_spark_to_count_conflicts(meeting: Ana) -> None:
    meeting("merge", "dev", fails=1)
    done = meeting("--engine", "spark", "status")
    assert "A merge of dev into main is open" in done.out
    assert done.err == ""
