"""Folders and files that a user may not look into, and what is the machine's fault rather than a bug."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli import failures
from anabranch.cli.failures import EXIT_CODES
from anabranch.cli.session import Session
from tests.bound import ana_bound, forbidden, run_bound
from tests.cli.conftest import Ana


@pytest.mark.parametrize("arguments", [("status",), ("init",), ("--store", ".", "log"), ("sql", "SELECT 1")])
@pytest.mark.parametrize("closed", [".anabranch", ".anabranch/catalog.db"])
def test_a_store_that_may_not_be_looked_into_is_told(tmp_path: Path, closed: str, arguments: tuple[str, ...]) -> None:
    ab.init(tmp_path, author="ann").close()
    with forbidden(tmp_path / closed):
        done = ana_bound(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (EXIT_CODES[ab.Unavailable], "")
    assert "permissions" in done.stderr
    assert "bug" not in done.stderr


def test_a_folder_that_may_not_be_looked_into_is_told_in_python_too(tmp_path: Path) -> None:
    ab.init(tmp_path, author="ann").close()
    script = "import anabranch, sys\ntry: anabranch.open(sys.argv[1])\nexcept anabranch.Unavailable as e: print(e)"
    with forbidden(tmp_path / ".anabranch"):
        assert "permission denied" in run_bound(script, str(tmp_path)).stdout


def test_a_folder_that_is_gone_is_told(ana: Ana, folder: Path) -> None:
    folder.rmdir()
    assert "current folder" in ana("status", fails=6).err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "out of memory"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out.csv"), "out.csv can't be written"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "in.csv"), "in.csv can't be used"),
    ],
)
def test_what_the_machine_lacks_is_no_bug(error: BaseException, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(error, Session()) == EXIT_CODES[ab.Unavailable]
    assert told in capsys.readouterr().err
