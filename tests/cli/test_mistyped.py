"""Addresses with a typo: refused wherever one is taken, the password is shown nowhere, and no folder has its name."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli.main import run
from anabranch.model.store_folder import check_folder
from tests.cli.conftest import Ana

SECRET = "hunter2"
MISTYPED = [
    f"postgresql//u:{SECRET}@h/x",
    f"postgresql:/u:{SECRET}@h/x",
    f"postgresql:u:{SECRET}@h/x",
    f"postgresql;//u:{SECRET}@h/x",
    f"postgresql/u:{SECRET}@h/x",
    f"psotgresql//u:{SECRET}@h/x",
    f"postgres//h/x?password={SECRET}",
    f"PostgreSQL+psycopg//u:{SECRET}@h/x",
    f"u:{SECRET}@h/x",
    f"//u:{SECRET}@h/x",
    f"s3//key:{SECRET}@bucket/p",
    f"s3:/key:{SECRET}@bucket/p",
    f"hdfs:/u:{SECRET}@h/x",
    f"s3//bucket/p?secret={SECRET}",
    f"https:/u:{SECRET}@h/x",
]


def nothing_made(folder: Path) -> None:
    names = [str(path) for path in folder.rglob("*")]
    assert not [name for name in names if SECRET in name]
    assert not [name for name in os.listdir(folder) if name.startswith(("post", "Post", "pso", "s3", "hdfs", "u:"))]


@pytest.mark.parametrize("address", MISTYPED)
def test_every_command_that_takes_an_address_refuses_and_shows_no_password(
    ana: Ana,
    folder: Path,
    address: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    ana("init", "here")
    commands = [
        ("init", address),
        ("init", address, "--debug"),
        ("--store", address, "status", "--debug"),
        ("--store", address, "init"),
        ("init", "there", "--objects", address),
        ("--store", "here", "backup", address),
        ("restore-store", address, "new"),
        ("--store", "here", "init", address),
    ]
    caplog.set_level(logging.DEBUG)
    for command in commands:
        for more in ((), ("--json",)):
            code = run((*command, *more))
            printed = capsys.readouterr()
            assert code in (2, 3, 4, 5), (command, printed)
            assert SECRET not in f"{printed.out}{printed.err}", command
            assert "unexpected" not in printed.err, command
    assert SECRET not in caplog.text
    nothing_made(folder)


@pytest.mark.parametrize("address", MISTYPED)
def test_every_verb_that_takes_an_address_refuses_and_shows_no_password(folder: Path, address: str) -> None:
    with ab.init("here", engine="duck") as repo:
        ab.backup("here", "kept")
        verbs: list[Callable[[], object]] = [
            lambda: ab.init(address),
            lambda: ab.open(address),
            lambda: ab.repositories(address),
            lambda: ab.init("there", objects=address),
            lambda: ab.backup("here", address),
            lambda: ab.backup(address, "elsewhere"),
            lambda: ab.restore_store(address, "new"),
            lambda: ab.restore_store("kept", address),
            lambda: ab.restore_store("kept", "new", objects=address),
            lambda: repo.add_location(address),
        ]
        for number, verb in enumerate(verbs):
            with pytest.raises(ab.AnabranchError) as caught:
                verb()
            assert SECRET not in f"{caught.value} {caught.value.facts}", number
    nothing_made(folder)


@pytest.mark.parametrize("name", ["postgres/data", "s3/x", "sql", "files//x", "a:b/c", "ann@home", "10:30", "pg"])
def test_folders_may_have_names_that_resemble_a_scheme(folder: Path, name: str) -> None:
    check_folder(name)
    with ab.init(name, repository="shop", engine="duck", objects=f"{name}/objects"):
        pass
    ab.open(name).close()


def test_a_folder_that_is_there_opens_whatever_it_is_called(folder: Path) -> None:
    (folder / "odd:name@x").mkdir()
    with ab.init("odd:name@x", repository="shop", engine="duck"):
        pass
    ab.open("odd:name@x").close()
