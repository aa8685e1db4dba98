"""Repositories to try verbs on, once with each engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.connect import INTERPRETED, set_in


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run once with each engine, where a test names none itself; a run on Spark Connect has only that one."""
    named = any(mark.args[0] == "engine" for mark in metafunc.definition.iter_markers("parametrize"))
    if "engine" in metafunc.fixturenames and not named:
        engines = ["connect"] if metafunc.config.getoption("--connect") else ["duck", "spark"]
        metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Options that force one engine; Spark is started only where it is asked for.

    It does not compile its plans, unless `--all` or a mark asks: for a few rows, that takes longer than to run them."""
    if request.param == "duck":
        yield {"engine": "duck"}
        return
    session = request.getfixturevalue("spark")
    compiles = request.config.getoption("--all") or request.node.get_closest_marker("compiled")
    with nullcontext() if compiles else set_in(session, INTERPRETED):
        yield {"engine": "spark", "spark": session}


@pytest.fixture
def repo(tmp_path: Path, engine: dict[str, Any]) -> Iterator[ab.Repository]:
    """An empty repository in a folder."""
    with ab.init(tmp_path / "store", author="ann", **engine) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, so that errors name short paths."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[ab.Repository]:
    """An empty repository that needs no JVM."""
    with ab.init(tmp_path / "store", author="ann", engine="duck") as made:
        yield made
