"""The installed commands, in processes of their own: exit codes, streams, colours, and what is not imported."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.cli.failures import EXIT_CODES
from anabranch.errors import Unavailable
from tests.cli.conftest import Ana

BIN = Path(sys.executable).parent
HEAVY = ("duckdb", "pandas", "polars", "pyarrow", "pyspark", "sqlglot")


def execute(*arguments: str, name: str = "ana", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN / name, *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def imported(*arguments: str) -> set[str]:
    """Run a command in a fresh interpreter, and tell which libraries that carry weight it has loaded."""
    script = "import sys; from anabranch.cli.main import run; code = run(sys.argv[1:]);"
    tell = "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", script + tell, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name for name in done.stderr.split() if name in (*HEAVY, "numpy", "rich", "sqlalchemy")}


def on_terminal(*arguments: str, columns: int = 100, **environment: str) -> str:
    """Run a command on a terminal of its own, and return what is seen there."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    with subprocess.Popen(
        [BIN / "ana", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=settings
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:  # Linux tells the end of a terminal this way
            pass
        os.close(ours)
        assert process.wait() == 0
    return seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("name", ["ana", "anabranch"])
def test_both_names_are_installed(name: str) -> None:
    done = execute("--version", name=name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("anabranch ")


def test_results_go_to_stdout_and_errors_to_stderr_with_their_exit_codes(shop: Ana) -> None:
    good = execute("log", "--oneline")
    assert (good.returncode, good.stderr, len(good.stdout.splitlines())) == (0, "", 2)
    bad = execute("log", "nowhere")
    assert (bad.returncode, bad.stdout) == (3, "")
    assert bad.stderr.startswith("error: there is no branch, tag or commit 'nowhere'\nhint: ")
    assert execute("frobnicate").returncode == 2
    assert execute("commit", "-m", "nothing").returncode == 1


@pytest.mark.parametrize("arguments", [["log"], ["--help"], ["export", "orders", "-", "--format", "csv"]])
def test_a_full_disk_is_told(shop: Ana, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([BIN / "ana", *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == EXIT_CODES[Unavailable]
    assert done.stderr.startswith("error: the output can't be written: No space left on device\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["log"],
        ["log", "--graph", "--oneline", "--all"],
        ["branch"],
        ["tag"],
        ["status"],
        ["switch", "main"],
        ["--version"],
        ["--help"],
    ],
)
def test_commands_that_read_little_load_no_library(shop: Ana, arguments: list[str]) -> None:
    assert imported(*arguments) == set()


@pytest.mark.parametrize("arguments", [["log", "--table", "orders"], ["branch", "new"], ["tag", "new"], ["reflog"]])
def test_metadata_commands_load_sqlalchemy_at_most(shop: Ana, arguments: list[str]) -> None:
    assert imported(*arguments) == {"sqlalchemy"}


@pytest.mark.parametrize(
    "arguments", [["ls"], ["ls", "HEAD"], ["show"], ["show", "-v"], ["table", "show", "orders", "--schema"]]
)
def test_metadata_in_tables_loads_rich_and_nothing_else(shop: Ana, arguments: list[str]) -> None:
    assert imported(*arguments) == {"rich"}


def test_small_tables_start_no_jvm(shop: Ana) -> None:
    assert "pyspark" not in imported("table", "show", "orders", "--where", "id = 1")


def test_a_reader_that_goes_away_is_no_error(shop: Ana) -> None:
    with subprocess.Popen([BIN / "ana", "log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_a_terminal_gets_colours_and_a_pipe_does_not(shop: Ana) -> None:
    assert "\x1b[33mcommit " in on_terminal("log")
    assert "\x1b" not in on_terminal("log", "--no-pager", NO_COLOR="1")
    assert "\x1b" not in on_terminal("log", TERM="dumb")
    assert "\x1b" not in execute("log").stdout
    assert "\x1b[33mcommit " in execute("log", FORCE_COLOR="1").stdout


def test_a_table_is_cut_to_the_terminal(shop: Ana, folder: Path) -> None:
    (folder / "wide.csv").write_text(
        ",".join(f"column_{i}" for i in range(30)) + "\n" + ",".join(["long text " * 9] * 30)
    )
    shop("import", "wide", "wide.csv", "--key", "column_0", "-m", "wide")
    seen = on_terminal("table", "show", "wide", columns=70, NO_COLOR="1")
    table = seen[seen.index("column_0") :].splitlines()
    assert max(map(len, table)) <= 70
    assert table[2].count("…") == 4
    assert table[3].startswith("26 more columns: column_4, ")


@pytest.mark.long
def test_long_work_shows_its_progress_on_a_terminal_only(shop: Ana) -> None:
    assert "reading 1 file" in on_terminal("import", "t", "orders.csv", "--key", "id")
    assert execute("import", "u", "orders.csv", "--key", "id").stderr == ""
