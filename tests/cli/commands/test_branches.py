"""Branches, switching between them, tags, and the moves of a branch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.conftest import Ana


def names(ana: Ana) -> list[str]:
    return [branch["name"] for branch in ana("branch", "--json").json["branches"]]


def test_the_list_marks_the_current_branch(shop: Ana) -> None:
    shop("branch", "dev")
    lines = [re.sub(r"[0-9a-f]{10}", "#", line) for line in shop("branch").out.splitlines()]
    assert lines == ["  dev   #", "* main  #"]


def test_the_list_as_json(shop: Ana) -> None:
    found = shop("branch", "--json").json["branches"]
    assert [set(branch) for branch in found] == [{"name", "commit", "created_at", "current"}]
    assert found[0]["current"] is True


def test_the_list_tells_what_the_newest_commits_say(shop: Ana) -> None:
    shop("branch", "dev", "HEAD~1")
    lines = [re.sub(r"[0-9a-f]{10}", "#", line) for line in shop("branch", "-v").out.splitlines()]
    assert lines == ["  dev   #  start", "* main  #  load orders"]
    told = shop("branch", "-v", "--json").json["branches"]
    assert [(branch["name"], branch["message"]) for branch in told] == [("dev", "start"), ("main", "load orders")]


def test_the_current_branch_is_told_alone(shop: Ana) -> None:
    assert shop("branch", "--show-current").out == "main\n"
    assert shop("branch", "--show-current", "--json").json == {"current": "main"}


def test_a_branch_is_made_at_the_current_branch_or_at_a_ref(shop: Ana) -> None:
    shop("switch", "-c", "dev", "HEAD~1")
    shop("branch", "here")
    made = shop("branch", "there", "main", "--json").json["branch"]
    heads = {branch["name"]: branch["commit"] for branch in shop("branch", "--json").json["branches"]}
    assert heads["here"] == heads["dev"] != heads["main"]
    assert (made["name"], made["commit"], made["current"]) == ("there", heads["main"], False)


def test_a_branch_is_not_made_twice(shop: Ana) -> None:
    assert "there is a branch 'main'" in shop("branch", "main", fails=4).err


def test_a_branch_is_deleted_if_nothing_is_lost(shop: Ana, folder: Path) -> None:
    shop("branch", "old")
    assert shop("branch", "-d", "old").out == "Deleted branch old\n"
    shop("branch", "dev")
    with ab.open(folder) as repo, repo.commit("dev", "work") as tx:
        tx.table("orders").delete(where="id = 1")
    shop("branch", "-d", "dev", fails=2)
    assert shop("branch", "-D", "dev", "--json").json == {"deleted": ["dev"]}
    assert names(shop) == ["main"]


def test_several_branches_are_deleted_at_once(shop: Ana) -> None:
    for name in ("a", "b", "c"):
        shop("branch", name)
    shop("branch", "-d", "a", "b")
    assert names(shop) == ["c", "main"]


def test_the_current_branch_is_not_deleted(shop: Ana) -> None:
    shop("switch", "-c", "dev")
    assert "`ana switch`" in shop("branch", "-D", "dev", fails=2).err


def test_a_branch_with_staged_changes_is_deleted_only_by_force(shop: Ana) -> None:
    shop("switch", "-c", "dev")
    shop("import", "copy", "orders.csv", "--key", "id")
    shop("switch", "main")
    assert "staged changes on 'dev'" in shop("branch", "-d", "dev", fails=2).err
    shop("branch", "-D", "dev")
    shop("switch", "-c", "dev")
    assert shop("status", "--json").json["staged"] == []


def test_a_branch_is_renamed_and_stays_the_current_one(shop: Ana) -> None:
    shop("switch", "-c", "dev")
    assert shop("branch", "-m", "qa").out == "Renamed branch dev to qa\n"
    assert shop("status", "--json").json["branch"] == "qa"
    assert shop("branch", "-m", "main", "trunk", "--json").json == {"renamed": {"from": "main", "to": "trunk"}}
    assert names(shop) == ["qa", "trunk"]


def test_staged_changes_follow_a_branch_to_its_new_name(shop: Ana) -> None:
    shop("switch", "-c", "dev")
    shop("import", "copy", "orders.csv", "--key", "id")
    shop("branch", "-m", "qa")
    assert [what["name"] for what in shop("status", "--json").json["staged"]] == ["copy"]
    shop("commit", "-m", "copy")
    assert names(shop) == ["main", "qa"]


@pytest.mark.parametrize("arguments", [["a", "b", "c"], ["-d"], ["-m"], ["-m", "a", "b", "c"]])
def test_branch_refuses_too_many_or_too_few_names(shop: Ana, arguments: list[str]) -> None:
    assert "hint: " in shop("branch", *arguments, fails=2).err


def test_switching_is_remembered(shop: Ana) -> None:
    shop("branch", "dev", "HEAD~1")
    said = shop("switch", "dev").out
    assert re.fullmatch(r"Switched to branch dev at [0-9a-f]{10}\n", said)
    assert shop("status", "--json").json["branch"] == "dev"
    assert len(shop("log", "--json").json["commits"]) == 1


@pytest.mark.parametrize("command", [["switch", "-c"], ["checkout", "-b"]])
def test_a_branch_is_made_and_switched_to(shop: Ana, command: list[str]) -> None:
    found = shop(*command, "dev", "HEAD~1", "--json").json
    assert (found["branch"], found["made"]) == ("dev", True)
    assert shop("checkout", "main", "--json").json["branch"] == "main"


def test_a_branch_that_is_not_there_is_not_switched_to(shop: Ana) -> None:
    assert "hint: did you mean 'main'?" in shop("switch", "mian", fails=3).err
    assert "`ana switch -c feature` makes it" in shop("switch", "feature", fails=3).err
    assert "`ana switch -c dev v1`" in shop("switch", "dev", "v1", fails=2).err
    assert shop("status", "--json").json["branch"] == "main"


def test_a_current_branch_that_others_deleted_is_told(shop: Ana, folder: Path) -> None:
    shop("switch", "-c", "dev")
    with ab.open(folder) as repo:
        repo.delete_branch("dev")
    for command in ("status", "log", "ls"):
        assert "hint: it was the current branch; go to another with `ana switch`" in shop(command, fails=3).err
    shop("switch", "main")
    assert shop("status").code == 0


def test_tags_are_made_listed_and_deleted(shop: Ana) -> None:
    assert re.fullmatch(r"Tagged [0-9a-f]{10} \(main/0\) as v0\n", shop("tag", "v0", "HEAD~1").out)
    made = shop("tag", "v1", "--json").json["tag"]
    tags = shop("tag", "--json").json["tags"]
    assert [tag["name"] for tag in tags] == ["v0", "v1"]
    assert tags[1]["commit"] == made["commit"]
    assert set(tags[0]) == {"name", "commit", "created_at", "author", "message"}
    assert [line.split()[0] for line in shop("tag").out.splitlines()] == ["v0", "v1"]
    assert shop("tag", "-d", "v0").out == "Deleted tag v0\n"
    assert shop("tag", "-d", "v1", "--json").json == {"deleted": ["v1"]}
    assert shop("tag").out == ""


def test_a_tag_is_never_moved(shop: Ana) -> None:
    shop("tag", "v1")
    shop("tag", "v1", "HEAD~1", fails=4)
    shop("tag", "-d", "v2", fails=3)
    shop("tag", "-d", fails=2)


def test_the_reflog_tells_every_move(shop: Ana) -> None:
    lines = shop("reflog").out.splitlines()
    assert [line.split()[1:3] for line in lines] == [["main@{0}", "commit"], ["main@{1}", "init"]]
    shop("switch", "-c", "dev")
    found = shop("reflog", "--json").json
    assert (found["branch"], [move["verb"] for move in found["moves"]]) == ("dev", ["branch"])
    assert set(found["moves"][0]) == {"before", "after", "moved_at", "author", "verb"}
    assert len(shop("reflog", "main", "-n", "1").out.splitlines()) == 1


def test_the_reflog_of_a_deleted_branch_is_kept(shop: Ana) -> None:
    shop("branch", "dev")
    shop("branch", "-d", "dev")
    moves = shop("reflog", "dev", "--json").json["moves"]
    assert [move["verb"] for move in moves] == ["delete", "branch"]
    assert moves[0]["after"] is None


def test_a_dash_is_the_branch_before(shop: Ana) -> None:
    assert "no other branch" in shop("switch", "-", fails=3).err
    shop("switch", "-c", "dev")
    for branch in ("main", "dev"):
        assert shop("checkout", "-").out.startswith(f"Switched to branch {branch} at ")
        assert shop("status", "--json").json["branch"] == branch


def test_who_switches_to_a_commit_is_told_how_to_get_there(shop: Ana) -> None:
    assert "`ana switch -c NAME HEAD~1` makes a branch there" in shop("checkout", "HEAD~1", fails=3).err
    assert "`ana switch -c nope` makes it" in shop("switch", "nope", fails=3).err


def test_a_tag_may_say_what_it_is_for(shop: Ana) -> None:
    shop("tag", "-m", "as sent to the auditors", "audit")
    shop("tag", "plain")
    lines = shop("tag").out.splitlines()
    assert [line.endswith("as sent to the auditors") for line in lines] == [True, False]
    assert "tag audit of " in shop("show", "audit").out
    assert [tag["message"] for tag in shop("tag", "--json").json["tags"]] == ["as sent to the auditors", None]
    assert "as sent" in shop("sql", "SELECT message FROM ana.tags WHERE name = 'audit'").out


@pytest.mark.parametrize(
    ("arguments", "code", "to"), [(["--", "orders"], 3, "REF"), (["HEAD~1", "--", "orders"], 2, "HEAD~1")]
)
def test_checkout_of_a_table_hints_at_restore(shop: Ana, arguments: list[str], code: int, to: str) -> None:
    told = shop("checkout", *arguments, fails=code).err
    assert "hint: it is a table: `ana restore orders` gives up what is staged of it" in told
    assert f"`ana restore orders --to {to}` makes it what it was there" in told


def test_a_branch_with_work_of_its_own_is_deleted_only_by_force(shop: Ana) -> None:
    shop("switch", "-c", "dev")
    shop("table", "drop", "orders", "-m", "gone")
    shop("switch", "main")
    assert "hint: merge or tag it first, or delete it with -D\n" in shop("branch", "-d", "dev", fails=2).err
    assert shop("branch", "-D", "dev").out == "Deleted branch dev\n"


def test_tags_are_listed_by_a_pattern(shop: Ana) -> None:
    for name in ("v1", "v2", "audit"):
        shop("tag", name)
    assert [line.split()[0] for line in shop("tag", "-l").out.splitlines()] == ["audit", "v1", "v2"]
    assert [line.split()[0] for line in shop("tag", "-l", "v*").out.splitlines()] == ["v1", "v2"]


def test_the_lines_of_a_tag_are_shown_one_by_one(shop: Ana) -> None:
    shop("tag", "v1", "-m", "first line\nsecond line")
    lines = shop("show", "v1").out.splitlines()
    assert lines[0].endswith(" by ann:")
    assert lines[1:4] == ["    first line", "    second line", ""]
