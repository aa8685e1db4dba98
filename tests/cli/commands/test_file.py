"""`ana file`, `ana add` and folders of files: what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from tests.cli.conftest import Ana


@pytest.fixture
def filed(ana: Ana, folder: Path) -> Ana:
    (folder / "photos").mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / "photos" / name).write_text("the same\n")
    ana("init")
    ana("file", "put", "photos/", "photos/", "-m", "photos")
    return ana


def what(ana: Ana, *arguments: str) -> list[str]:
    """What a command says of the files that it changed, below the line of the commit."""
    return ana(*arguments).out.splitlines()[1:]


def test_a_commit_of_files_says_what_became_of_them(filed: Ana, folder: Path) -> None:
    (folder / "photos" / "c.txt").write_text("other\n")
    assert what(filed, "file", "put", "photos/", "photos/", "-m", "one more") == ["  files/  1 added"]
    assert what(filed, "file", "mv", "photos", "old", "-m", "away") == ["  files/  3 moved"]
    assert what(filed, "file", "rm", "old/c.txt", "-m", "less") == ["  files/  1 removed"]
    assert what(filed, "revert", "HEAD") == ["  files/  1 added"]


def test_what_changes_nothing_is_said_to_change_nothing(filed: Ana) -> None:
    assert filed("file", "put", "photos/", "photos/", "-m", "again").out == "Nothing changed, so no commit was made.\n"
    assert filed("file", "put", "photos/", "photos/").out == "Nothing changed, so nothing is staged.\n"


def test_staged_files_are_counted_with_the_words_of_their_diff(filed: Ana) -> None:
    assert filed("file", "cp", "photos", "copy").out.startswith("Staged 2 files at copy;")
    filed("file", "rm", "-r", "photos")
    assert "  changed  files/  2 added, 2 removed\n" in filed("status").out


def test_each_file_moved_to_one_place_and_a_copy_is_added(filed: Ana) -> None:
    filed("file", "mv", "photos", "old", "-m", "away")
    moved = ["file moved    old/a.txt (from photos/a.txt)", "file moved    old/b.txt (from photos/b.txt)"]
    assert filed("file", "diff", "HEAD~1", "HEAD").out.splitlines() == moved
    filed("file", "cp", "old/a.txt", "a-copy.txt", "-m", "copied")
    assert filed("file", "diff", "HEAD~2", "HEAD").out.splitlines() == ["file added    a-copy.txt", *moved]


def test_a_folder_that_is_not_changed_is_said_to_be_so(filed: Ana) -> None:
    assert filed("checkout", "work/").out == "2 files of main in work/; `ana status work/` shows what you change.\n"
    for command in (["status", "work"], ["add", "work"], ["add", "work", "-m", "nothing"]):
        assert filed(*command).out == "Nothing was changed in work.\n"


def test_a_name_that_is_no_branch_may_be_meant_as_a_folder(filed: Ana) -> None:
    told = filed("checkout", "work", fails=3).err
    assert "`ana checkout work/` writes the files into a folder of that name" in told


def test_a_folder_is_deleted_by_an_option_of_the_command_line(filed: Ana) -> None:
    assert "hint: --recursive deletes it with all of them" in filed("file", "rm", "photos", fails=2).err


@pytest.mark.parametrize(
    "give_up", [[["restore", "."]], [["reset", "--hard", "HEAD"]], [["stash"], ["stash", "drop"]]], ids=str
)
def test_a_folder_keeps_what_was_staged_from_it_and_given_up(
    filed: Ana, folder: Path, give_up: list[list[str]]
) -> None:
    filed("checkout", "work/")
    (folder / "work/photos/a.txt").write_text("edited\n")
    (folder / "work/new.txt").write_text("new\n")
    filed("add", "work")
    assert filed("status", "work").out == "Nothing was changed in work.\n"
    for command in give_up:
        filed(*command)
    found = filed("status", "work", "--json").json
    assert (found["added"], found["changed"]) == (["new.txt"], ["photos/a.txt"])
    assert "would be lost" in filed("checkout", "work/", fails=4).err
    assert (folder / "work/photos/a.txt").read_text() == "edited\n"
    filed("add", "work", "-m", "after all")
    assert filed("file", "cat", "new.txt").out == "new\n"


def test_an_edit_that_the_branch_has_already_is_no_change_once_it_was_added(filed: Ana, folder: Path) -> None:
    filed("checkout", "work/")
    for place in ("work/photos/a.txt", "photos/a.txt"):
        (folder / place).write_text("edited by both\n")
    filed("file", "put", "photos/a.txt", "photos/a.txt", "-m", "edited")
    assert "changed  photos/a.txt" in filed("status", "work").out
    filed("add", "work")
    assert filed("status", "work").out == "Nothing was changed in work.\n"


def test_a_part_of_a_folder_is_added_below_its_own_path(filed: Ana, folder: Path) -> None:
    filed("checkout", "work/")
    (folder / "work/photos/c.txt").write_text("c\n")
    (folder / "work/beside.txt").write_text("stays\n")
    filed("add", "work/photos", "-m", "c")
    assert [f["path"] for f in filed("file", "ls", "-r", "--json").json["files"]] == [
        f"photos/{name}.txt" for name in "abc"
    ]
    assert filed("status", "work", "--json").json["added"] == ["beside.txt"]


def test_a_file_against_a_folder_is_told_and_settled_as_the_command_line_says(filed: Ana) -> None:
    filed("branch", "dev")
    filed("file", "put", "photos/a.txt", "x/y", "-m", "folder")
    filed("switch", "dev")
    filed("file", "put", "photos/a.txt", "x", "-m", "file")
    filed("switch", "main")
    assert filed("merge", "dev", fails=1).out.splitlines() == [
        "The merge of dev into main is open: 1 conflict.",
        "  x  file/folder: x/y here, x there",
        "`ana resolve --file PATH --ours` (or --theirs) settles file/folder: the other side's goes;",
        "then `ana merge --continue` publishes the merge, `ana merge --abort` gives it up.",
    ]
    assert filed("resolve", "--file", "x", "--theirs").out.startswith("x: 1 resolved, none left")
    filed("merge", "--continue")
    assert [f["path"] for f in filed("file", "ls", "--json").json["files"] if f["path"] != "photos"] == ["x"]


def test_a_path_in_the_place_of_its_source_is_told(filed: Ana, folder: Path) -> None:
    for verb in ("put", "append"):
        said = filed("file", verb, "photos/new.txt", "photos/a.txt", fails=3)
        assert "there is no file or folder 'photos/new.txt' here" in said.err
        said = filed("file", verb, "photos/a.txt", "-", fails=2)
        assert "'-' is standard input" in said.err
        assert "`ana file put SOURCE PATH`" in said.err


def test_checkout_of_a_full_folder_says_how_to_give_up_what_is_staged_instead(filed: Ana, folder: Path) -> None:
    (folder / "mine.txt").write_text("mine")
    told = filed("checkout", ".", fails=4).err
    assert "use --force, or another folder; `ana restore .` gives up what is staged" in told
    (folder / "work").mkdir()
    (folder / "work/mine.txt").write_text("mine")
    assert "ana restore" not in filed("checkout", "work/", fails=4).err


def test_a_file_is_got_beside_others_of_any_name_and_never_as_gits_own(filed: Ana, folder: Path) -> None:
    with ab.open(folder) as repo, repo.commit("main", "hostile") as tx:
        tx.files._put_small("sub/.git", b"gitdir: /elsewhere\n", None)
    refused = filed("file", "get", "sub/.git", fails=2)
    assert "git would take it for its own" in refused.err
    assert not (folder / ".git").exists()
    filed("file", "get", "sub/.git", "copy.txt")
    assert (folder / "copy.txt").read_text() == "gitdir: /elsewhere\n"
    assert sorted(p.name for p in folder.iterdir() if p.name.startswith(".ana-")) == []
