"""`ana config`: settings of a folder and of the user, and that commands go by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.cli.output import text
from anabranch.cli.output.text import looks
from anabranch.cli.preferences import user_file
from tests.cli.conftest import Ana


def test_the_author_of_the_folder_makes_the_commits(shop: Ana, folder: Path) -> None:
    shop("config", "author", "Bea")
    (folder / "more.csv").write_text("id,status,price\n9,new,1.0\n")
    shop("import", "orders", "more.csv", "--append", "-m", "more")
    assert shop("log", "-n", "1", "--json").json["commits"][0]["author"] == "Bea"
    assert shop("config", "author").out == "Bea\n"


def test_the_author_is_used_for_what_was_staged_before(shop: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n9,new,1.0\n")
    shop("import", "orders", "more.csv", "--append")
    shop("config", "author", "Bea")
    assert shop("commit", "-m", "more", "--json").json["commit"]["author"] == "Bea"


def test_the_folder_goes_before_the_user(shop: Ana) -> None:
    shop("config", "--global", "author", "Everywhere")
    assert json.loads(user_file().read_text()) == {"author": "Everywhere"}
    shop("tag", "v1")
    assert shop("tag", "--json").json["tags"][0]["author"] == "Everywhere"
    shop("config", "author", "Here")
    assert shop("config", "author", "--json").json == {"name": "author", "value": "Here", "where": "folder"}
    shop("config", "--unset", "author")
    assert shop("config", "author", "--json").json["where"] == "user"
    shop("config", "--unset", "author", "--global")
    assert shop("config", "author", fails=1).out == ""


def test_a_new_store_begins_with_the_users_author(ana: Ana) -> None:
    ana("config", "--global", "author", "Bea")
    ana("init")
    assert ana("log", "--json").json["commits"][0]["author"] == "Bea"


def test_the_engine_is_the_one_that_is_set_unless_an_option_says_otherwise(
    shop: Ana, caplog: pytest.LogCaptureFixture
) -> None:
    shop("config", "engine", "duck")
    assert "engine is duck" in shop("config", "engine", "duck").out
    caplog.set_level("DEBUG", "anabranch.engines")
    shop("table", "show", "orders")
    by_setting = caplog.text
    caplog.clear()
    shop("table", "show", "orders", "--engine", "auto")
    assert by_setting != caplog.text


def test_colours_are_as_they_are_set(shop: Ana) -> None:
    assert "\x1b[" not in shop("status").out
    shop("config", "colour", "always")
    assert "\x1b[" in shop("status").out
    shop("config", "colour", "never")
    assert (shop("status").out.count("\x1b["), looks.colour) == (0, "never")


def test_the_pager_is_the_one_that_is_set(
    shop: Ana, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGER", "less")
    shop("config", "--global", "pager", "never")
    shop("status")
    assert looks.pager == "never"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(text.click, "echo_via_pager", lambda lines, color: print("paged", *lines))
    text.show_lines(["one"], paged=True)
    looks.pager = "more"
    text.show_lines(["two"], paged=True)
    assert capsys.readouterr().out == "one\npaged two\n\n"


def test_a_folder_can_not_choose_a_command_that_runs(shop: Ana, folder: Path) -> None:
    assert "--global" in shop("config", "pager", "touch owned", fails=2).err
    file = folder / ".anabranch" / "cli.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "config": {"pager": "touch owned", "colour": "never"}}))
    shop("log")
    assert (looks.pager, looks.colour) == (None, "never")
    shop("config", "--global", "pager", "less")
    shop("log")
    assert looks.pager == "less"
    assert ["pager", "less", "user"] in [line.split() for line in shop("config").out.splitlines()]


def test_switching_branches_and_settings_do_not_lose_each_other(shop: Ana, folder: Path) -> None:
    shop("config", "colour", "never")
    shop("switch", "-c", "dev")
    shop("config", "engine", "duck")
    kept = json.loads((folder / ".anabranch" / "cli.json").read_text())
    assert kept["config"] == {"colour": "never", "engine": "duck"}
    assert kept["branches"] == {"shop": "dev"}


def test_all_settings_are_listed_with_where_they_come_from(shop: Ana) -> None:
    shop("config", "colour", "never")
    assert shop("config").out == shop("config", "--list").out
    assert [line.split() for line in shop("config").out.splitlines()] == [
        ["author", "-", "default"],
        ["engine", "auto", "default"],
        ["colour", "never", "folder"],
        ["pager", "-", "default"],
        ["url_allow", "-", "default"],
    ]


def test_settings_are_shown_where_there_is_no_store(ana: Ana) -> None:
    assert "engine" in ana("config").out
    assert "is in no store" in ana("config", "author", "Bea", fails=3).err


def test_what_is_no_setting_or_no_value_of_it_is_refused(shop: Ana) -> None:
    assert "did you mean 'colour'?" in shop("config", "color", fails=3).err
    assert "choose one of auto, spark, duck" in shop("config", "engine", "flink", fails=2).err
    assert "exclude each other" in shop("config", "author", "--unset", "author", fails=2).err


def test_a_damaged_file_of_the_users_is_named(shop: Ana) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("[]")
    assert "config.json can't be read" in shop("status", fails=8).err
