"""Making repositories in folders and on servers, and finding them again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.cli.main import run
from tests.cli.conftest import Ana
from tests.postgres import PostgresServer


def remembered(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / ".anabranch" / "cli.json").read_text())
    return found


def test_a_folder_becomes_a_store(ana: Ana, folder: Path) -> None:
    said = ana("init").out
    assert said == f"Made repository shop in {folder}/.anabranch, on branch main\n"
    assert remembered(folder) == {"repository": "shop", "branches": {"shop": "main"}}
    assert (folder / ".anabranch" / "catalog.db").is_file()


def test_another_folder_and_another_first_branch_can_be_named(ana: Ana, folder: Path) -> None:
    made = ana("init", "deep/down", "--branch", "trunk", "--repository", "sales", "--json").json
    assert made == {
        "store": str(folder / "deep" / "down" / ".anabranch"),
        "repository": "sales",
        "branch": "trunk",
        "made": True,
    }
    assert ana("--store", "deep/down", "status", "--json").json["branch"] == "trunk"


def test_a_store_is_not_made_twice(ana: Ana) -> None:
    ana("init")
    done = ana("init", fails=4)
    assert "`ana status`" in done.err


def test_a_store_holds_several_repositories(ana: Ana) -> None:
    ana("init")
    ana("init", "--repository", "sales", "--branch", "trunk")
    assert ana("status", "--json").json["repository"] == "sales"
    assert ana("status", "--json", "--repository", "shop").json["branch"] == "main"
    ana("--repository", "shop", "switch", "-c", "dev")
    assert ana("status", "--json", "--repository", "shop").json["branch"] == "dev"
    assert ana("status", "--json").json["branch"] == "trunk"


def test_the_store_is_found_from_a_folder_below(shop: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert shop("status", "--json").json["repository"] == "shop"


def test_objects_can_lie_elsewhere(ana: Ana, folder: Path, tmp_path: Path) -> None:
    ana("init", "--objects", str(tmp_path / "elsewhere"))
    assert ana("status").out.startswith("On branch main of shop, at ")


def test_a_folder_without_a_store_is_told(ana: Ana) -> None:
    done = ana("log", fails=3)
    assert done.err.splitlines()[1] == "hint: make one with `ana init`, or name one with --store"


@pytest.mark.parametrize("password", ["secret", "x/secret", "secret?", "#secret#", "a:b@secret", "%2Fsecret"])
def test_a_folder_remembers_a_server_without_its_password(
    ana: Ana, folder: Path, tmp_path: Path, postgres: PostgresServer, password: str
) -> None:
    url = postgres.create_database()
    with_password = url.replace("@", f":{password}@", 1)
    done = ana("init", with_password, "--objects", str(tmp_path / "objects"), "--debug")
    assert "note: the password is not kept" in done.err
    assert "secret" not in done.out + done.err + (folder / ".anabranch" / "cli.json").read_text()
    assert remembered(folder) == {"store": url, "repository": "main", "branches": {"main": "main"}}
    ana("switch", "-c", "dev")
    assert ana("status", "--json").json["branch"] == "dev"


@pytest.mark.parametrize("debug", [(), ("--debug",)])
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:/hunter2?#@127.0.0.1:1/db",
        "postgresql://ann:hunter2@/x@127.0.0.1:1/db",
        "postgresql:/ann:hunter2@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?password=hunter2",
        "mysql://ann:hunter2@127.0.0.1/db",
    ],
)
def test_no_message_has_a_password(
    folder: Path, url: str, debug: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("init", url, "--objects", "o"), ("--store", url, "log"), ("--store", url, "switch", "dev")):
        assert run((*debug, *arguments)) in (2, 6)
    printed = capsys.readouterr()
    assert "hunter2" not in printed.out + printed.err


def test_a_second_folder_connects_to_the_same_server(
    ana: Ana, folder: Path, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.create_database()
    ana("init", url, "--objects", str(tmp_path / "objects"), "--repository", "sales")
    ana("branch", "dev")
    second = tmp_path / "second"
    second.mkdir()
    monkeypatch.chdir(second)
    done = ana("init", url, "--repository", "sales")
    assert done.out == f"Connected to repository sales in {url}, on branch main\n"
    assert ana("branch", "--json").json["branches"][0]["name"] == "dev"


def test_a_server_that_no_folder_remembers_has_no_current_branch_to_change(
    ana: Ana, folder: Path, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.create_database()
    ana("init", url, "--objects", str(tmp_path / "objects"))
    monkeypatch.chdir(tmp_path)
    assert ana("--store", url, "status", "--json").json["branch"] == "main"
    done = ana("--store", url, "switch", "-c", "dev", fails=2)
    assert f"hint: run `ana init {url}` in a folder" in done.err
    assert [b["name"] for b in ana("--store", url, "branch", "--json").json["branches"]] == ["main"]


def test_a_folder_belongs_to_one_store(ana: Ana, folder: Path, tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.create_database()
    ana("init")
    assert "has a store of its own" in ana("init", url, "--objects", "objects", fails=2).err


def test_the_store_that_was_named_before_the_command_is_made(
    ana: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ana("--store", "there", "init", "--json").json["store"] == str(folder / "there" / ".anabranch")
    assert "two places" in ana("--store", "there", "init", "elsewhere", fails=2).err
    monkeypatch.setenv("ANABRANCH_STORE", str(folder / "by-habit"))
    assert ana("init", "--json").json["store"] == str(folder / "by-habit" / ".anabranch")
    assert ana("init", "typed", "--json").json["store"] == str(folder / "typed" / ".anabranch")
    assert ana("status", "--json").json["repository"] == "by-habit"
    assert not (folder / ".anabranch").exists()


def test_errors_under_json_are_json(ana: Ana) -> None:
    ana("init")
    for words, kind, code in (
        (("log", "nowhere"), "NotFound", 3),
        (("log", "--nothing"), "InvalidRequest", 2),
        (("sql", "SELEC 1"), "InvalidRequest", 2),
    ):
        told = json.loads(ana(*words, "--json", fails=code).err)["error"]
        assert (told["kind"], told["exit_code"]) == (kind, code)
        assert told["message"]
        assert told["hint"]
