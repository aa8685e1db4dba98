"""The first example of README and of each page runs where nothing is set up: by absolute path, nothing activated.

The environment has a home and a bare PATH, as of a machine on which Anabranch was just installed; with `--all` it is
installed anew, too, with the extras that README and docs/stores.md name and no others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.first_steps import FIRST_STEPS, ROOT, first_example, pages
from tests.postgres import PostgresServer
from tests.s3 import ENVIRONMENT, S3Server

BARE_PATH = "/usr/local/bin:/usr/bin:/bin"
FLIGHTS = ROOT / "examples" / "flights" / "run"
README_EXTRAS, STORES_EXTRAS = "spark", "postgres,s3"


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new virtual environment, with what README says to install."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    _install(python, README_EXTRAS)
    return python


@pytest.fixture(params=["here", pytest.param("fresh", marks=pytest.mark.more)])
def python(request: pytest.FixtureRequest) -> Path:
    """The interpreter that runs the tests, or that of a new installation; it is not on PATH."""
    found: Path = Path(sys.executable) if request.param == "here" else request.getfixturevalue("fresh")
    return found


def _install(python: Path, extras: str) -> None:
    said = f"{ROOT}[{extras}]"
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", said]
    subprocess.run(command, check=True, timeout=3000)


def run(command: list[str], folder: Path, more: Mapping[str, str] | None = None, text: str | None = None) -> str:
    """Run a program as a newcomer: in a folder of its own, with a home, a bare PATH and Java, if that is elsewhere."""
    (folder / "home").mkdir(exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    java = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    env = {"HOME": str(folder / "home"), "PATH": BARE_PATH, "LC_ALL": "C.UTF-8", **java, **(more or {})}
    done = subprocess.run(
        command, cwd=folder / "work", env=env, input=text, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_shell(python: Path, folder: Path, lines: str, more: Mapping[str, str] | None = None) -> str:
    """Run lines of a shell in which `ana` and `python` stand for those of this installation."""
    names = f'ana() {{ "{python.parent}/ana" "$@"; }}\npython() {{ "{python}" "$@"; }}\n'
    return run(["/bin/sh", "-e"], folder, more, text=f"{names}{lines}\n")


def run_example(page: str, python: Path, folder: Path) -> None:
    step, example = FIRST_STEPS[page], first_example(page)
    if step.way == "text":
        assert commands_in(run([str(python.parent / "ana"), "--help"], folder)) == commands_in(example)
    elif step.way == "session":
        (folder / "first.txt").write_text(example)
        assert run([str(python), "-m", "doctest", str(folder / "first.txt")], folder) == ""
    elif step.way == "script":
        text = example.replace("/data/shop", "shop")
        (folder / "first.py").write_text("\n".join((step.before, text, step.after)))
        run([str(python), str(folder / "first.py")], folder)
    else:
        run_shell(python, folder, "\n".join((step.before, example, step.after)))


def commands_in(help_text: str) -> list[str]:
    """The commands that a help text lists; what it says of each depends on the width of the terminal."""
    return re.findall(r"^  (\S+)", help_text.partition("Commands:")[2], flags=re.MULTILINE)


@pytest.mark.parametrize("page", [p for p, step in FIRST_STEPS.items() if not (step.needs_java or step.needs_servers)])
def test_the_first_example_of_a_page_runs(page: str, python: Path, tmp_path: Path) -> None:
    run_example(page, python, tmp_path)


@pytest.mark.jvm
@pytest.mark.parametrize("page", [page for page, step in FIRST_STEPS.items() if step.needs_java])
def test_the_first_example_of_a_page_runs_on_a_spark_that_we_start(page: str, python: Path, tmp_path: Path) -> None:
    run_example(page, python, tmp_path)


@pytest.mark.long
def test_the_pipeline_of_flights_tells_its_whole_story(python: Path, tmp_path: Path) -> None:
    settings = {"ANA": str(python.parent / "ana"), "NO_COLOR": "1", "COLUMNS": "100"}
    told = run(["/bin/sh", "-c", f"{FLIGHTS} {tmp_path}/story 2>&1"], tmp_path, settings)
    for said in (
        "clean_flights: departed  dropped, 37 rows break it",
        "1 of 1,963 rows break 'plausible'",
        "(exit code 9)",
        "daily_delays: incremental (clean_flights changed)  1 updated",
        "Nothing to do: no input changed.",
        "from story@",
    ):
        assert said in told


def test_a_store_moves_to_servers_in_three_commands(
    python: Path, tmp_path: Path, postgres: PostgresServer, s3_server: S3Server, request: pytest.FixtureRequest
) -> None:
    if str(python) != sys.executable:
        _install(python, STORES_EXTRAS)
    step = FIRST_STEPS["docs/stores.md"]
    backup, restore, connect = (line.removeprefix("$ ") for line in first_example("docs/stores.md").splitlines())
    url, root = postgres.create_database(), s3_server.new_root()
    lines = "\n".join((step.before, backup, restore, "cd ../there", connect, step.after))
    lines = lines.replace("postgresql://db.example/shop", url)
    lines = lines.replace("s3://data/shop?region=eu-central-1", root)
    assert "first" in run_shell(python, tmp_path, lines, ENVIRONMENT)


def test_every_page_with_an_example_is_run() -> None:
    assert sorted(FIRST_STEPS) == sorted(page for page in pages() if first_example(page))
