"""The command line as tests run it: in this process, in a folder of its own, with a plain environment."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch.cli.main import run


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Ana = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder named `shop`, with nothing in the environment that changes the output."""
    made = tmp_path / "shop"
    made.mkdir()
    monkeypatch.chdir(made)
    for name in ("ANABRANCH_STORE", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return made


@pytest.fixture
def ana(folder: Path, capsys: pytest.CaptureFixture[str]) -> Ana:
    """Run a command line; `fails` is the exit code that is expected."""

    def call(*arguments: str, fails: int = 0) -> Done:
        capsys.readouterr()
        code = run(arguments)
        printed = capsys.readouterr()
        assert code == fails, f"ana {' '.join(arguments)}: exit code {code}\n{printed.out}\n{printed.err}"
        assert not logging.getLogger("anabranch").handlers
        return Done(code, printed.out, printed.err)

    return call


@pytest.fixture
def shop(ana: Ana, folder: Path) -> Ana:
    """A store with a table `orders` of three rows on main."""
    ana("init")
    (folder / "orders.csv").write_text("id,status,price\n1,new,9.5\n2,paid,20.0\n3,sent,\n")
    ana("import", "orders", "orders.csv", "--key", "id", "-m", "load orders")
    return ana
