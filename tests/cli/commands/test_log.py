"""History on the command line: log with its filters and graph, show."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli.commands.log import CommitText, ShownNames, full_text, graph_lines
from anabranch.cli.output.graph import simplify
from anabranch.model.commits import Commit
from tests.cli.conftest import Ana


def made(hash_: str, parents: str = "", message: str | None = None) -> Commit:
    """A commit as the catalogue would describe it, with a hash that is one letter, many times."""
    moment = datetime(2026, 11, 1, 12, tzinfo=UTC)
    full = tuple(parent * 64 for parent in parents)
    return Commit(hash_ * 64, f"main/{hash_}", "ann", message or f"commit {hash_}", moment, moment, full, ("orders",))


@pytest.fixture
def history(shop: Ana, folder: Path) -> Ana:
    """Two more commits on main, one of them by bob, and one on dev; v1 names the load."""
    with ab.open(folder, author="ann") as repo:
        repo.tag("v1")
        repo.branch("dev")
        with repo.commit("main", "reprice", author="bob") as tx:
            tx.table("orders").update({"price": 1.0}, where="id = 1")
        with repo.commit("main", "customers\n\nwith a longer story", author="ann") as tx:
            tx.create_table("customers", [{"id": 1, "name": "ann"}], key="id")
        with repo.commit("dev", "clean up") as tx:
            tx.table("orders").delete(where="id = 3")
    return shop


def messages(ana: Ana, *arguments: str) -> list[str]:
    return [commit["message"].split("\n")[0] for commit in ana("log", "--json", *arguments).json["commits"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["customers", "reprice", "load orders", "start"]),
        (["HEAD~1"], ["reprice", "load orders", "start"]),
        (["dev"], ["clean up", "load orders", "start"]),
        (["-n", "2"], ["customers", "reprice"]),
        (["--limit", "0"], []),
        (["--author", "bob"], ["reprice"]),
        (["--table", "orders"], ["reprice", "load orders"]),
        (["v1.."], ["customers", "reprice"]),
        (["dev..HEAD"], ["customers", "reprice"]),
        (["main", "dev"], ["clean up", "customers", "reprice", "load orders", "start"]),
        (["v1..main", "v1..dev"], ["clean up", "customers", "reprice"]),
        (["--all"], ["clean up", "customers", "reprice", "load orders", "start"]),
        (["dev", "--all", "-n", "2"], ["clean up", "customers"]),
        (["--all", "--table", "customers"], ["customers"]),
        (["--since", "2100-01-01"], []),
        (["--until", "2000-01-01T00:00:00Z"], []),
        (["--since", "2000-01-01", "--until", "2100-01-01", "-n", "1"], ["customers"]),
    ],
)
def test_the_log_is_filtered(history: Ana, arguments: list[str], expected: list[str]) -> None:
    assert messages(history, *arguments) == expected


def test_a_commit_is_told_as_in_git(history: Ana) -> None:
    lines = history("log", "-n", "1").out.splitlines()
    assert re.fullmatch(r"commit [0-9a-f]{10} \(HEAD -> main\)", lines[0])
    assert lines[1:3] == ["Id:     main/3", "Author: ann"]
    assert re.fullmatch(r"Date:   \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", lines[3])
    assert lines[4:] == ["Tables: customers", "", "    customers", "", "    with a longer story"]


def test_one_line_for_each_commit(history: Ana) -> None:
    lines = [re.sub(r"^[0-9a-f]{10}", "#", line) for line in history("log", "--oneline").out.splitlines()]
    assert lines == ["# (HEAD -> main) customers", "# reprice", "# (tag: v1) load orders", "# start"]


def test_the_log_as_json_names_branches_and_tags(history: Ana) -> None:
    commits = history("log", "--json", "dev").json["commits"]
    assert [(c["branches"], c["tags"]) for c in commits] == [(["dev"], []), ([], ["v1"]), ([], [])]
    assert commits[0]["parents"] == [commits[1]["hash"]]
    assert len(commits[0]["hash"]) == 64
    assert set(commits[0]) == {
        *("hash", "id", "author", "message", "started_at", "finished_at", "parents", "tables", "provenance"),
        *("facts", "branches", "tags"),
    }


def test_a_graph_with_a_filter_bridges_what_is_left_out(history: Ana) -> None:
    lines = history("log", "--graph", "--oneline", "--author", "bob").out.splitlines()
    assert [line[0] for line in lines] == ["*"]
    whole = history("log", "--graph").out.splitlines()
    assert whole[0].startswith("* commit ")
    assert whole[1] == "| Id:     main/3"


def test_a_merge_is_drawn_beside_its_text() -> None:
    commits = [made("d", "bc"), made("c", "a"), made("b", "a"), made("a")]
    edges = simplify({c.hash: c.parents for c in commits}, {c.hash for c in commits})
    names = ShownNames("main", {"d" * 64: ["dev", "main"]}, {"a" * 64: ["v1"]})
    assert list(graph_lines(commits, edges, CommitText(names, oneline=True))) == [
        "*   dddddddddd (HEAD -> main, dev) commit d",
        "|\\",
        "| * cccccccccc commit c",
        "* | bbbbbbbbbb commit b",
        "|/",
        "* aaaaaaaaaa (tag: v1) commit a",
    ]
    told = list(graph_lines(commits, edges, CommitText(names, oneline=False)))
    assert told[:3] == [
        "*   commit dddddddddd (HEAD -> main, dev)",
        "|\\  Merge:  bbbbbbbbbb cccccccccc",
        "| | Id:     main/d",
    ]


def test_no_message_can_act_on_the_terminal() -> None:
    assert full_text(made("a", message="red \x1b[31m\nsecond\tline"), ShownNames("main"))[-2:] == [
        "    red \\x1b[31m",
        "    second\\tline",
    ]


def test_show_tells_what_a_commit_did(history: Ana) -> None:
    lines = history("show", "main~1").out.splitlines()
    assert lines[2] == "Author: bob"
    assert lines[-3].split() == ["table", "operations", "inserted", "updated", "deleted", "rows"]
    assert lines[-1].split() == ["orders", "update", "0", "1", "0", "3"]


def test_show_lists_objects_if_told_so(history: Ana) -> None:
    lines = history("show", "-v", "v1").out.splitlines()
    assert lines[-3].split() == ["table", "object", "kind", "rows", "size", "place", "sha256"]
    assert lines[-1].split()[0] == "orders"
    assert lines[-1].split()[2:4] == ["rows", "3"]


def test_show_as_json(history: Ana) -> None:
    found = history("show", "--json", "-v", "HEAD~1").json
    assert found["commit"]["message"] == "reprice"
    change = found["changes"][0]
    assert set(change) == {"table", "operations", "row_count", "inserted", "updated", "deleted", "objects"}
    assert set(change["objects"][0]) >= {"id", "kind", "rows", "size_bytes", "place", "path", "sha256"}
    assert "objects" not in history("show", "--json").json["changes"][0]


def test_a_commit_without_tables_has_nothing_to_list(history: Ana) -> None:
    assert history("show", "main/0").out.splitlines()[-1] == "    start"


@pytest.mark.parametrize("arguments", [["log", "nope"], ["show", "nope"], ["ls", "nope"], ["show", "main~99"]])
def test_a_ref_that_is_not_there_is_exit_code_3(history: Ana, arguments: list[str]) -> None:
    assert len(history(*arguments, fails=3).err.splitlines()) == 2


def test_a_time_that_is_none_is_refused(history: Ana) -> None:
    assert "'yesterday' is not a time" in history("log", "--since", "yesterday", fails=2).err


def test_log_knows_the_habits_of_git(history: Ana) -> None:
    assert messages(history, "-1") == messages(history, "-n", "1") == ["customers"]
    assert messages(history, "--grep", "longer") == ["customers"]
    assert messages(history, "--grep", "REPRICE") == []
    assert messages(history, "--grep", "e", "-2", "--all", "--", "orders") == ["clean up", "reprice"]
    assert messages(history, "dev", "--", "orders") == messages(history, "dev", "--table", "orders")
    assert "one table" in history("log", "--", "orders", "customers", fails=2).err


def test_log_and_show_tell_the_rows_of_commits_and_name_changed_columns(shop: Ana) -> None:
    shop("sql", "ALTER TABLE orders ADD COLUMN note STRING", "-m", "room for notes")
    shop("sql", "UPDATE orders SET note = 'new' WHERE id = 1", "-m", "a note")
    assert "changed  orders  1 changed (1 cell)" in shop("log", "--stat", "-1").out
    assert "NULL → new" in shop("log", "-p", "-1", "--oneline").out
    assert "NULL → new" in shop("show", "-p").out
    assert "orders: + column note string" in shop("show", "HEAD~1").out
    assert "1 column changed" in shop("show", "HEAD~1", "--stat").out


def test_log_of_a_table_or_path_shows_the_changes_of_that_alone(shop: Ana, folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    shop("sql", "CREATE TABLE stock (id INT PRIMARY KEY, n INT); INSERT INTO stock VALUES (1, 7)")
    shop("sql", "UPDATE orders SET status = 'void' WHERE id = 1")
    shop("file", "put", "a.txt", "raw/a.txt")
    shop("commit", "-m", "all of it")
    shop("sql", "ALTER TABLE stock RENAME TO shelf", "-m", "another name")
    for how, row, line in (("-p", "new → void", "+one"), ("--stat", "1 changed (1 cell)", "raw/a.txt")):
        said = shop("log", how, "--", "orders").out
        assert row in said
        assert "stock:" not in said
        assert "added    stock" not in said
        assert line not in said
        said = shop("log", how, "--", "raw").out
        assert line in said
        assert row not in said
        assert "stock" not in said.replace("Tables: orders, stock", "")
    assert "added  stock  1 added" in shop("log", "--stat", "--", "shelf").out
    assert "new → void" not in shop("log", "-p", "--", "shelf").out


def test_log_and_show_tell_counts_and_rows_together(shop: Ana) -> None:
    shop("sql", "UPDATE orders SET status = 'void' WHERE id = 1", "-m", "void")
    for said in (shop("log", "-1", "-p", "--stat").out, shop("show", "-p", "--stat").out):
        assert said.index("changed  orders  1 changed (1 cell)") < said.index("new → void")


def test_a_change_of_columns_is_never_told_as_no_rows(shop: Ana) -> None:
    assert shop("sql", "ALTER TABLE orders ADD COLUMN note STRING").out == "ALTER TABLE: done\n"
    assert "changed  orders  columns changed" in shop("status").out
    assert "changed  orders  columns changed" in shop("commit", "-m", "room for notes").out
