"""`ana pipeline watch` at work: what it prints, and how Ctrl-C ends it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from time import monotonic
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from tests.cli.conftest import Ana


def press_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.fixture
def replace(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Any], None]:
    """A function that replaces a name of a module of pipelines, where one is set up."""
    ana("init")
    ana("pipeline", "init", "sales")
    return lambda module, name, by: monkeypatch.setattr(import_module(f"anabranch.pipelines.{module}"), name, by)


@pytest.mark.parametrize("json", [False, True])
def test_ctrl_c_ends_waiting_in_silence_and_lets_others_run(ana: Ana, replace: Any, json: bool) -> None:
    replace("run", "time", SimpleNamespace(sleep=press_ctrl_c, monotonic=monotonic))
    done = ana("pipeline", "watch", *(["--json"] if json else []))
    assert done.json["run"] == 1 if json else "squares: full (it was not computed before)  3 inserted" in done.out
    assert done.err == ""
    assert "Nothing to do" in ana("pipeline", "run").out


def test_ctrl_c_in_the_middle_of_a_run_is_an_error(ana: Ana, replace: Any) -> None:
    replace("run", "check_queries", press_ctrl_c)
    assert "interrupted" in ana("pipeline", "watch", fails=130).err
    assert "failed" in ana("pipeline", "status").out
