"""The working set: what is staged on a branch, shown, published and given up."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.conftest import Ana


@pytest.fixture
def staged(shop: Ana, folder: Path) -> Ana:
    """A new table and a changed one, staged on main."""
    (folder / "more.csv").write_text("id,status,price\n3,sent,7\n4,new,1\n5,new,1\n")
    (folder / "customers.csv").write_text("id,name\n1,ann\n")
    shop("import", "orders", "more.csv", "--upsert")
    shop("import", "customers", "customers.csv", "--key", "id")
    return shop


def test_a_clean_branch_says_so(shop: Ana) -> None:
    lines = shop("status").out.splitlines()
    assert lines[0].startswith("On branch main of shop, at ")
    assert lines[0].endswith(" (main/1)")
    assert lines[1:] == ["Nothing is staged."]


def test_what_is_staged_is_listed(staged: Ana) -> None:
    assert staged("status").out.splitlines()[1:] == [
        "Staged; publish with `ana commit -m MESSAGE`:",
        "  created  customers  1 inserted",
        "  changed  orders     2 inserted, 1 updated",
    ]


def test_the_status_as_json(staged: Ana) -> None:
    found = staged("status", "--json").json
    assert {key: found[key] for key in ("repository", "branch", "commit_id")} == {
        "repository": "shop",
        "branch": "main",
        "commit_id": "main/1",
    }
    orders = found["staged"][1]
    assert set(orders) == {"name", "kind", "state", "operations", "inserted", "updated", "deleted", "exact"}
    assert (orders["name"], orders["kind"], orders["state"]) == ("orders", "table", "changed")
    assert (orders["inserted"], orders["updated"], orders["deleted"]) == (2, 1, 0)


def test_nobody_else_sees_what_is_staged(staged: Ana, folder: Path) -> None:
    with ab.open(folder) as repo:
        assert [table.name for table in repo.tables()] == ["orders"]
        assert repo.table("orders").count() == 3


def test_a_commit_publishes_all_that_is_staged(staged: Ana) -> None:
    lines = staged("commit", "-m", "more").out.splitlines()
    assert lines[0].startswith("[main ")
    assert lines[1:] == ["  created  customers  1 inserted", "  changed  orders     2 inserted, 1 updated"]
    commits = staged("log", "--json").json["commits"]
    assert (commits[0]["message"], commits[0]["tables"]) == ("more", ["customers", "orders"])
    assert staged("status").out.endswith("Nothing is staged.\n")


def test_a_commit_as_json(staged: Ana) -> None:
    found = staged("commit", "-m", "more", "--author", "bob", "--json").json
    assert found["branch"] == "main"
    assert (found["commit"]["author"], found["commit"]["id"]) == ("bob", "main/2")
    assert [what["name"] for what in found["staged"]] == ["customers", "orders"]


def test_nothing_to_commit_is_exit_code_1(shop: Ana) -> None:
    assert shop("commit", "-m", "nothing", fails=1).out == "nothing to commit on main: nothing is staged\n"
    assert shop("commit", "-m", "nothing", "--json", fails=1).json["commit"] is None


def test_changes_that_cancel_out_are_nothing_to_commit(shop: Ana, folder: Path) -> None:
    (folder / "there.csv").write_text("id,price\n1,1\n")
    (folder / "back.csv").write_text("id,price\n1,9.5\n")
    shop("import", "orders", "there.csv", "--upsert")
    shop("import", "orders", "back.csv", "--upsert")
    assert "what was staged changes nothing" in shop("commit", "-m", "there and back", fails=1).out
    assert shop("status", "--json").json["staged"] == []


def test_a_commit_needs_a_message(staged: Ana) -> None:
    for message in ("", " ", "\n"):
        assert "a commit needs a message" in staged("commit", "-m", message, fails=2).err
    assert len(staged("status", "--json").json["staged"]) == 2


def test_every_branch_has_a_working_set_of_its_own(staged: Ana) -> None:
    said = staged("switch", "-c", "dev").out
    assert said.splitlines()[1] == "What is staged on main (2 tables) stays there."
    assert staged("status", "--json").json["staged"] == []
    staged("switch", "main")
    assert len(staged("status", "--json").json["staged"]) == 2


def test_the_staged_state_is_what_tables_show(staged: Ana) -> None:
    listed = {table["name"]: table for table in staged("ls", "--json").json["tables"]}
    assert listed["customers"] == {
        "name": "customers",
        "row_count": 1,
        "column_count": 2,
        "key": ["id"],
        "staged": "created",
    }
    assert (listed["orders"]["row_count"], listed["orders"]["staged"]) == (5, "changed")
    assert staged("table", "show", "orders", "--json").json["row_count"] == 5
    assert staged("table", "show", "orders", "--json", "--at", "HEAD").json["row_count"] == 3
    assert [table["name"] for table in staged("ls", "HEAD", "--json").json["tables"]] == ["orders"]


def test_a_dropped_table_is_shown_as_dropped(shop: Ana, folder: Path) -> None:
    with ab.open(folder) as repo:
        repo.start("main", message="drop it", working=True).drop_table("orders")
    assert shop("status").out.splitlines()[2] == "  dropped  orders"
    assert shop("ls").out == "There are no tables. (`ana file ls` lists files.)\n"
    shop("commit", "-m", "drop orders")
    assert shop("ls", "--json").json["tables"] == []


def test_others_may_commit_other_tables_meanwhile(staged: Ana, folder: Path) -> None:
    with ab.open(folder) as repo, repo.commit("main", "other") as tx:
        tx.create_table("other", [{"id": 1}], key="id")
    assert "The branch moved since" in staged("status").out
    staged("commit", "-m", "mine")
    assert [c["message"] for c in staged("log", "--json").json["commits"]][:2] == ["mine", "other"]


def test_work_on_rows_that_others_changed_is_merged_with_theirs_and_can_be_left(staged: Ana, folder: Path) -> None:
    with ab.open(folder) as repo, repo.commit("main", "theirs") as tx:
        tx.table("orders").upsert([{"id": 3, "price": 8.0}])
    done = staged("commit", "-m", "mine", fails=1)
    assert "'orders' (id=3)" in done.out
    assert "`ana cherry-pick --continue`" in done.out
    staged("cherry-pick", "--abort")
    with ab.open(folder) as repo:
        assert repo.show("main").message == "theirs"
    staged("import", "orders", "more.csv", "--upsert", "-m", "mine")


def test_an_empty_working_set_does_not_hold_on_to_an_old_commit(shop: Ana, folder: Path) -> None:
    shop("import", "orders", "orders.csv", "--upsert")
    with ab.open(folder) as repo:
        assert repo.working_set("main") is None
        repo.start("main", message="left behind", working=True)
    with ab.open(folder) as repo, repo.commit("main", "theirs") as tx:
        tx.table("orders").upsert([{"id": 3, "price": 8.0}])
    (folder / "new.csv").write_text("id,price\n3,1\n")
    shop("import", "orders", "new.csv", "--upsert")
    shop("commit", "-m", "mine")


def test_reset_gives_up_what_is_staged_only_if_told_so(staged: Ana) -> None:
    assert "--hard" in staged("reset", fails=2).err
    found = staged("reset", "--hard", "--json").json
    assert found["discarded"] == ["customers", "orders"]
    assert staged("status", "--json").json["staged"] == []


def test_reset_moves_the_branch_and_the_reflog_tells_the_way_back(shop: Ana) -> None:
    shop("reset", "--hard", "HEAD~1")
    assert len(shop("log", "--json").json["commits"]) == 1
    assert shop("reflog", "--json").json["moves"][0]["verb"] == "reset"
    shop("reset", "--hard", "@{1}")
    assert len(shop("log", "--json").json["commits"]) == 2


def test_stashes_are_cleared_and_nothing_need_be_added(shop: Ana) -> None:
    for price in (1, 2):
        shop("sql", f"UPDATE orders SET price = {price}")
        shop("stash", "push", "-m", f"price {price}")
    assert shop("stash", "clear").out == "Given up: price 2\nGiven up: price 1\n"
    assert shop("stash", "list", "--json").json["stashes"] == []
    assert shop("stash", "clear").out == "Nothing was set aside.\n"
    assert "staged already" in shop("add", "orders", fails=2).err


@pytest.mark.parametrize("command", [("history",), ("blame",), ("table", "show", "--at", "HEAD"), ("log", "--")])
def test_a_table_that_is_only_staged_is_hinted_at(staged: Ana, command: tuple[str, ...]) -> None:
    hint = "staged only, on main: `ana commit` publishes it"
    assert staged(*command, "customers", fails=3).err.splitlines()[1] == f"hint: it is {hint}"
    misspelt = staged(*command, "custmers", fails=3).err.splitlines()[1]
    assert misspelt == f"hint: did you mean 'customers'? It is {hint}"
    assert "did you mean 'orders'?" in staged(*command, "ordres", fails=3).err


def test_names_that_are_staged_are_known_where_what_is_staged_is_read(staged: Ana) -> None:
    assert "did you mean 'customers'?\n" in staged("table", "show", "custmers", fails=3).err
    assert "there: customers, orders\n" in staged("table", "show", "xyz", fails=3).err


def test_several_statements_on_a_table_count_what_they_come_to(shop: Ana) -> None:
    for status in ("a", "b", "new"):
        shop("sql", f"UPDATE orders SET status = '{status}' WHERE id = 1")
    assert shop("diff").out == "Nothing differs.\n"
    assert shop("status").out.splitlines()[-1] == "  changed  orders  no change"
    shop("sql", "UPDATE orders SET status = 'c' WHERE id = 1")
    (orders,) = shop("status", "--json").json["staged"]
    assert (orders["inserted"], orders["updated"], orders["deleted"], orders["exact"]) == (0, 1, 0, True)
    said = shop("sql", "SELECT name, inserted, updated, deleted FROM ana.status", "--format", "csv").out
    assert said.splitlines()[1:] == ["orders,0,1,0"]


def test_a_commit_counts_what_it_is_not_what_led_to_it(shop: Ana) -> None:
    shop("sql", "UPDATE orders SET status = 'a' WHERE id = 1")
    shop("sql", "INSERT INTO orders (id, status) VALUES (9, 'new')")
    shop("sql", "DELETE FROM orders WHERE id = 9")
    (orders,) = shop("commit", "-m", "net", "--json").json["staged"]
    (change,) = shop("show", "--json").json["changes"]
    counts = [[found[word] for word in ("inserted", "updated", "deleted")] for found in (orders, change)]
    assert counts == [[0, 1, 0]] * 2
    shop("sql", "UPDATE orders SET status = 'b' WHERE id = 1")
    shop("sql", "UPDATE orders SET status = 'c' WHERE id = 1")
    assert shop("commit", "-m", "again").out.splitlines()[1:] == ["  changed  orders  1 updated"]


def test_status_says_about_rather_than_start_spark(shop: Ana) -> None:
    for status in ("a", "b"):
        shop("sql", f"UPDATE orders SET status = '{status}' WHERE id = 1")
    done = shop("--engine", "spark", "status")
    assert done.out.splitlines()[-1] == "  changed  orders  about 2 updated"
    assert done.err == ""


def test_what_is_given_up_of_a_stash_is_counted_too(shop: Ana) -> None:
    for status in ("a", "b"):
        shop("sql", f"UPDATE orders SET status = '{status}' WHERE id = 1")
    shop("stash")
    assert shop("stash", "drop", "--json").json["dropped"]["staged"][0]["updated"] == 1
