"""Backups on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Ana


def test_a_backup_is_restored_where_no_store_is(
    shop: Ana, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop("backup", "../saved")
    before = shop("log", "--oneline").out
    elsewhere = tmp_path / "another machine"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    done = shop("restore-store", "../saved", "shop")
    assert done.out.startswith("shop: ")
    assert done.out.endswith(f" from {tmp_path / 'saved'}\n")
    monkeypatch.chdir(elsewhere / "shop")
    assert shop("log", "--oneline").out == before


def test_a_store_of_several_repositories_is_backed_up_whole(shop: Ana, folder: Path, tmp_path: Path) -> None:
    shop("init", "--repository", "second")
    store = str(folder)
    told = shop("--store", store, "backup", "../saved").out
    assert told.startswith(f"{tmp_path / 'saved'}: ")
    shop("restore-store", "../saved", "../new")
    assert shop("--store", "../new", "--repository", "second", "log", "--oneline").out.endswith("start\n")
