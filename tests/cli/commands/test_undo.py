"""Undoing and doing again: revert, cherry-pick, rebase, restore."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.commands.test_merge import shown, write
from tests.cli.conftest import Ana


@pytest.fixture
def parted(shop: Ana, folder: Path) -> Ana:
    """dev has two commits of its own, main one."""
    shop("branch", "dev")
    write(folder, "dev", "void it", status="'void'")
    with ab.open(folder, author="bob") as repo, repo.commit("dev", "five") as tx:
        tx.table("orders").insert([{"id": 5, "status": "new", "price": 1.0}])
    write(folder, "main", "cheaper", price=8.0)
    return shop


def test_a_commit_is_undone_by_a_new_one(parted: Ana, folder: Path) -> None:
    lines = parted("revert", "HEAD").out.splitlines()
    assert lines[0].endswith('] revert "cheaper"')
    assert lines[1:] == ["  orders  1 updated"]
    assert shown(parted)[1] == ("new", 9.5)
    done = parted("revert", "HEAD~1", "--no-three-way", fails=2)
    assert "later commits depend on it" in done.err
    assert "--three-way" in done.err
    assert parted("revert", "HEAD~1", fails=1).out == "nothing of main~1 is left to undo on main\n"
    parted("merge", "dev", "--no-ff")
    assert "--parent 1" in parted("revert", "HEAD", fails=2).err
    found = parted("revert", "HEAD", "--parent", "1", "-m", "without dev", "--json").json
    assert [(c["message"], found["branch"]) for c in found["commits"]] == [("without dev", "main")]
    assert shown(parted)[1] == ("new", 9.5)


def test_a_revert_with_conflicts_stays_open_as_a_cherry_pick_does(parted: Ana, folder: Path) -> None:
    write(folder, "main", "dearer", price=30.0)
    done = parted("revert", "HEAD~1", fails=1)
    assert "(cheaper) can't be made on 'main': 1 conflict." in done.out
    assert "`ana revert --continue` goes on" in done.out
    parted("resolve", "orders", "--theirs")
    assert parted("revert", "--continue").out.splitlines()[1:] == ["  orders  1 updated"]
    assert shown(parted)[1] == ("new", 9.5)
    hint = parted("revert", "--continue", fails=3).err
    assert "`ana revert COMMIT` keeps one open if there are conflicts" in hint


def test_only_what_a_branch_has_is_undone_there(parted: Ana) -> None:
    for how in ("--three-way", "--no-three-way"):
        assert "branch 'main' does not have this commit" in parted("revert", "dev", how, fails=2).err


def test_the_change_of_a_commit_is_made_again(parted: Ana) -> None:
    lines = parted("cherry-pick", "dev").out.splitlines()
    assert lines[0].endswith("] five")
    assert parted("log", "--json", "-n", "1").json["commits"][0]["author"] == "bob"
    assert parted("cherry-pick", "dev", fails=1).out == "dev changes nothing on main\n"
    assert sorted(shown(parted)) == [1, 2, 3, 5]


def test_a_branch_goes_on_top_of_another(parted: Ana) -> None:
    parted("switch", "dev")
    found = parted("rebase", "main", "--json").json
    assert [commit["message"] for commit in found["commits"]] == ["void it", "five"]
    assert shown(parted)[1] == ("void", 8.0)
    assert parted("rebase", "main").out == "dev is on top of main already\n"
    parted("switch", "main")
    assert parted("rebase", "dev").out.startswith("main moved on to ")


def test_a_rebase_leaves_no_staged_work_behind(parted: Ana) -> None:
    parted("import", "orders", "orders.csv", "--overwrite")
    assert "there are staged changes on 'main'" in parted("rebase", "dev", fails=2).err


def test_a_table_goes_back_to_what_it_was(parted: Ana, folder: Path) -> None:
    assert parted("restore", "orders", "--to", "HEAD~1").out.splitlines()[0].endswith("] restore orders to main~1")
    assert shown(parted)[1] == ("new", 9.5)
    assert parted("restore", "orders", "--to", "HEAD~2", fails=1).out == "orders: as at main~2 already\n"
    with ab.open(folder) as repo, repo.commit("main", "drop") as tx:
        tx.drop_table("orders")
    parted("restore", "orders", "-s", "HEAD~1", "-m", "back")
    assert sorted(shown(parted)) == [1, 2, 3]
    assert "names of tables" in parted("restore", ".", "--to", "HEAD~1", fails=2).err


def test_what_is_staged_is_given_up_table_by_table(parted: Ana, folder: Path) -> None:
    (folder / "customers.csv").write_text("id,name\n1,ann\n")
    parted("import", "customers", "customers.csv", "--key", "id")
    parted("import", "orders", "orders.csv", "--overwrite")
    assert "there are staged changes of 'orders'" in parted("restore", "orders", "--to", "HEAD~1", fails=2).err
    assert "nothing is staged of 'nope'" in parted("restore", "nope", fails=3).err
    assert parted("restore", "orders").out == "Given up: what was staged of orders\n"
    assert [s["name"] for s in parted("status", "--json").json["staged"]] == ["customers"]
    assert shown(parted)[1] == ("new", 8.0)
    parted("import", "orders", "orders.csv", "--overwrite")
    parted("restore", "customers")
    parted("commit", "-a", "-m", "only orders")
    assert parted("ls", "--json").json["tables"][0]["name"] == "orders"
    assert shown(parted)[1] == ("new", 9.5)
    parted("verify")


def test_all_that_is_staged_is_given_up(parted: Ana) -> None:
    parted("import", "orders", "orders.csv", "--overwrite")
    assert parted("restore", ".", "--json").json == {"branch": "main", "discarded": ["orders"]}
    assert parted("status", "--json").json["staged"] == []
    assert "nothing is staged on 'main'" in parted("restore", ".", fails=3).err


def test_what_others_need_stays_staged(parted: Ana, folder: Path) -> None:
    with ab.open(folder) as repo:
        work = repo.start("main", message="staged", working=True)
        work.create_namespace("sales")
        work.create_table("sales.new", [{"id": 1}], key="id")
        work.table("orders").rename("sales.old")
        work.create_table("orders", [{"id": 1}], key="id")
    assert "'sales' is needed by" in parted("restore", "sales", fails=2).err
    assert "is taken by another now" in parted("restore", "sales.old", fails=2).err
    parted("restore", "orders")
    parted("restore", "sales.old", "sales.new")
    parted("restore", "sales")
    assert parted("status", "--json").json["staged"] == []
    assert sorted(shown(parted)) == [1, 2, 3]


def test_the_newest_commit_is_made_again_with_what_is_staged(parted: Ana) -> None:
    before = parted("log", "-1", "--json").json["commits"][0]
    parted("sql", "UPDATE orders SET price = 7 WHERE id = 1")
    lines = parted("commit", "--amend", "--date", "2024-05-01").out.splitlines()
    assert lines[0].endswith("] cheaper")
    assert lines[1:] == ["  orders  1 updated"]
    after = parted("log", "-1", "--json").json["commits"][0]
    assert (after["parents"], after["message"]) == (before["parents"], "cheaper")
    assert "(work of 2024-05-01" in parted("show").out
    assert shown(parted)[1] == ("new", 7.0)
    assert parted("commit", "--amend", "-m", "cheap", "--author", "bob", "--json").json["commit"]["author"] == "bob"
    assert "-m MESSAGE" in parted("commit", fails=2).err


def test_several_commits_stop_at_a_conflict_and_go_on(parted: Ana, folder: Path) -> None:
    write(folder, "dev", "dearer", price=30.0)
    done = parted("cherry-pick", "main..dev", fails=1)
    assert "(dearer) can't be made on 'main': 1 conflict." in done.out
    assert "2 made, 1 left" in done.out
    assert "a cherry-pick of" in parted("merge", "dev", fails=2).err
    assert "`ana cherry-pick --continue` goes on" in parted("status").out
    assert "but a cherry-pick" in parted("merge", "--continue", fails=2).err
    assert parted("cherry-pick", "--continue", "--json", fails=1).json["left"] == 1
    assert "none left; `ana cherry-pick --continue` goes on" in parted("resolve", "orders", "--theirs").out
    assert len(parted("cherry-pick", "--continue", "--json").json["commits"]) == 3
    assert shown(parted)[1] == ("void", 30.0)
    parted("revert", "HEAD~3..HEAD")
    assert shown(parted)[1] == ("new", 8.0)
    parted("cherry-pick", "dev", fails=1)
    assert parted("cherry-pick", "--skip", fails=1).out.startswith("nothing was left")
    parted("cherry-pick", "dev", fails=1)
    assert parted("cherry-pick", "--abort").out == "The cherry-pick on main is given up; nothing was changed.\n"
    assert "no commit is named" in parted("cherry-pick", fails=2).err


def test_steps_of_a_rebase_are_chosen_in_an_editor(parted: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parted("switch", "dev")
    (folder / "edit").write_text("#!/bin/sh\nsed -i -e '1s/pick/reword/; 1s/void it/void all/; 2s/pick/squash/' $1\n")
    (folder / "edit").chmod(0o755)
    monkeypatch.setenv("EDITOR", str(folder / "edit"))
    found = parted("rebase", "-i", "main", "--json").json
    assert [commit["message"] for commit in found["commits"]] == ["void all\n\nfive"]
    assert shown(parted)[1] == ("void", 8.0)
    monkeypatch.setenv("EDITOR", "sed -i d")
    assert parted("rebase", "-i", "HEAD~1", fails=1).out == "No steps are left: nothing was done.\n"
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("EDITOR", "sed -i s/pick/pock/")
    assert "says 'pock'" in parted("rebase", "-i", "HEAD~1", fails=2).err
    monkeypatch.setenv("EDITOR", "false")
    assert "the editor failed" in parted("rebase", "-i", "HEAD~1", fails=6).err


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("2s/pick/pock/", "line 2 says 'pock'"),
        ("2s/pick .*/pick/", "line 2 is 'pick', which names no commit"),
        ("2s/pick [0-9a-f]*/pick fffff/", "line 2: "),
        ("1s/pick/fixup/", "line 1 says fixup, but no commit is above it"),
    ],
)
def test_a_bad_list_of_steps_is_told_before_messages_are_asked_for_and_kept(
    edit: str, problem: str, parted: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parted("switch", "dev")
    (folder / "edit").write_text(f"#!/bin/sh\necho asked >> asked\nsed -i -e '{edit}; 1s/pick/reword/' $1\n")
    (folder / "edit").chmod(0o755)
    monkeypatch.setenv("EDITOR", str(folder / "edit"))
    code = 3 if "fffff" in edit else 2
    done = parted("rebase", "-i", "main", fails=code)
    assert f"error: {problem}" in done.err
    assert (folder / "asked").read_text() == "asked\n"
    kept = Path(done.err.partition("mend ")[2].partition(",")[0])
    assert len(kept.read_text().splitlines()) == 2
    kept.write_text("\n".join(f"pick {c['hash']}" for c in parted("log", "main..dev", "--json").json["commits"][::-1]))
    monkeypatch.setenv("EDITOR", f"cp {kept}")
    assert len(parted("rebase", "-i", "main", "--json").json["commits"]) == 2
    kept.unlink()


def test_a_rebase_stops_at_a_conflict_and_goes_on(parted: Ana, folder: Path) -> None:
    write(folder, "dev", "dearer", price=30.0)
    parted("switch", "dev")
    assert "2 made, 1 left" in parted("rebase", "main", fails=1).out
    parted("resolve", "orders", "--ours")
    assert len(parted("rebase", "--continue", "--json").json["commits"]) == 2
    assert shown(parted)[1] == ("void", 8.0)


def test_staged_work_is_merged_with_what_came_meanwhile(parted: Ana, folder: Path) -> None:
    parted("sql", "UPDATE orders SET price = 100 WHERE id = 1")
    write(folder, "main", "beside", price=55.0)
    done = parted("commit", "-m", "mine", fails=1)
    assert "What is staged is merged with that:" in done.out
    assert "1 conflict" in done.out
    parted("resolve", "orders", "--set", "price=ours + theirs")
    assert parted("cherry-pick", "--continue").out.splitlines()[0].endswith("] mine")
    assert shown(parted)[1] == ("new", 155.0)
    assert "Nothing is staged." in parted("status").out


def test_a_revert_opens_no_editor_and_may_be_told_so(shop: Ana) -> None:
    shop("table", "drop", "orders", "-m", "gone")
    shop("revert", "HEAD", "--no-edit")
    assert [table["name"] for table in shop("ls", "--json").json["tables"]] == ["orders"]


@pytest.mark.parametrize("way", ["--continue", "--skip"])
def test_a_fixup_of_a_commit_that_became_empty_is_a_commit_of_its_own(
    way: str, parted: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "dev", "dearer", price=30.0)
    with ab.open(folder, author="bob") as repo, repo.commit("dev", "six") as tx:
        tx.table("orders").insert([{"id": 6, "status": "new", "price": 1.0}])
    parted("switch", "dev")
    monkeypatch.setenv("EDITOR", "sed -i -e '4s/pick/fixup/'")
    assert "2 made, 2 left" in parted("rebase", "-i", "main", fails=1).out
    if way == "--continue":
        parted("resolve", "orders", "--ours")
    said = parted("rebase", way).out
    assert "(dearer) became empty or was skipped, and was dropped;" in said
    assert "(six), which was to go into it, is a commit of its own." in said
    commits = parted("log", "main..dev", "--json").json["commits"]
    assert [commit["message"] for commit in commits] == ["six", "five", "void it"]


def test_a_rebase_of_which_nothing_is_left_says_where_the_branch_is(parted: Ana, folder: Path) -> None:
    write(folder, "dev", "dearest", price=40.0)
    parted("rebase", "dev", fails=1)
    said = parted("rebase", "--skip").out
    assert (
        said
        == f"main is at {parted('log', '-1', '--oneline', 'dev').out[:10]}: all commits of the rebase were left out\n"
    )
    assert shown(parted)[1] == ("void", 40.0)


def test_reset_tells_what_is_still_open(parted: Ana, folder: Path) -> None:
    write(folder, "main", "dearer", price=30.0)
    write(folder, "dev", "dearest", price=40.0)
    parted("merge", "dev", fails=1)
    told = parted("reset", "--hard").out.splitlines()[1]
    assert told == "A merge of dev into main is open still; `ana merge --abort` gives it up."


def test_a_dropped_table_is_told_in_one_word(parted: Ana) -> None:
    parted("table", "drop", "orders")
    assert parted("commit", "-m", "gone").out.splitlines()[1] == "  dropped  orders"
