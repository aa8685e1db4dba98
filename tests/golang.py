"""Programs for the tests that Go builds from their source: the first run builds one for minutes, the next find it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(os.environ.get("ANABRANCH_TEST_GO") or Path.home() / ".cache" / "anabranch-tests" / "go")


class Missing(Exception):
    """There is no Go on this machine, or no way to the module."""


def program(module: str, version: str, package: str) -> Path:
    """The file of a program, built if it is not here."""
    place = FOLDER / f"{module.rpartition('/')[2]}-{version}"
    found = place / package.rpartition("/")[2]
    if not found.is_file():
        _build(f"{module}@{version}", f"{module}/{package}@{version}", place)
    return found


def _build(module: str, package: str, place: Path) -> None:
    if shutil.which("go") is None:
        raise Missing("there is no go on PATH, which builds the server from its source")
    place.mkdir(parents=True, exist_ok=True)
    fetched = _go(place, "mod", "download", module)
    if fetched.returncode != 0:
        raise Missing(f"Go can't fetch {module}: {fetched.stderr[-500:]}")
    built = _go(place, "install", package)
    if built.returncode != 0:
        raise RuntimeError(f"Go can't build {package}: {built.stderr[-2000:]}")


def _go(place: Path, *what: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GOBIN": str(place)}
    return subprocess.run(["go", *what], cwd=place, env=environment, capture_output=True, text=True, check=False)
