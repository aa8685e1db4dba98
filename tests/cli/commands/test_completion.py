"""Completion in the shell: scripts for both names, and names of branches, tags and tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from anabranch.cli.commands.completion import SHELLS
from anabranch.cli.main import cli
from tests.cli.conftest import Ana

HEAVY = ("duckdb", "pandas", "polars", "pyarrow", "pyspark", "sqlglot")


def offered(*arguments: str, begun: str = "") -> list[str]:
    found = ShellComplete(cli, {}, "ana", "_ANA_COMPLETE").get_completions(list(arguments), begun)
    return [item.value for item in found]


@pytest.fixture
def busy(shop: Ana) -> Ana:
    """A store with branches, a tag, and a table that is staged."""
    shop("branch", "dev")
    shop("branch", "draft")
    shop("tag", "v1")
    shop("import", "drinks", "orders.csv", "--key", "id")
    return shop


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_serves_both_names(ana: Ana, shell: str) -> None:
    script = ana("completion", shell).out
    assert "_ANA_COMPLETE" in script
    assert "_ANABRANCH_COMPLETE" in script
    assert ana("completion", shell, "--json").json["script"] + "\n" == script


def test_branches_are_offered_where_a_branch_is_wanted(busy: Ana) -> None:
    assert offered("switch", begun="d") == ["dev", "draft"]
    assert offered("merge", "dev", "--into") == ["dev", "draft", "main"]


def test_refs_are_branches_tags_and_head_also_in_ranges(busy: Ana) -> None:
    assert offered("log") == ["HEAD", "dev", "draft", "main", "v1"]
    assert offered("diff", begun="main..d") == ["main..dev", "main..draft"]
    assert offered("blame", "orders", "--at", begun="v") == ["v1"]


def test_tables_are_offered_with_those_that_are_staged(busy: Ana) -> None:
    assert offered("table", "show") == ["drinks", "orders"]
    assert offered("history", begun="o") == ["orders"]


def test_tags_are_offered_where_a_tag_is_wanted(busy: Ana) -> None:
    assert offered("tag", "-d") == ["v1"]


def test_another_store_is_completed_if_it_is_named(busy: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert offered("switch") == []
    assert offered("--store", str(folder), "switch", begun="de") == ["dev"]


def test_the_shell_is_answered_without_anything_heavy(busy: Ana) -> None:
    script = "import sys; from anabranch.cli.main import cli\ntry: cli.main(prog_name='ana')\nfinally: "
    tell = f"print(*set({HEAVY!r}) & set(sys.modules), file=sys.stderr)"
    asked = {"_ANA_COMPLETE": "bash_complete", "COMP_WORDS": "ana switch d", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", script + tell], capture_output=True, text=True, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["plain,dev", "plain,draft"]
    assert done.stderr.split() == []


def test_columns_of_the_named_table_and_files_are_offered(busy: Ana) -> None:
    assert offered("blame", "orders", "--column", begun="p") == ["price"]
    assert offered("export", "orders", "x.csv", "--columns", begun="id,st") == ["id,status"]
    assert offered("export", "nowhere", "x.csv", "--columns") == []
    found = ShellComplete(cli, {}, "ana", "_ANA_COMPLETE").get_completions(["import", "orders"], "or")
    assert [(item.type, item.value) for item in found] == [("file", "or")]


def test_tables_are_offered_after_two_dashes(busy: Ana) -> None:
    assert offered("diff", "main", "dev", "--") == ["drinks", "orders"]
    assert offered("log", "--", begun="o") == ["orders"]


def test_local_files_are_offered_to_be_put(busy: Ana) -> None:
    for command in ("put", "append"):
        found = ShellComplete(cli, {}, "ana", "_ANA_COMPLETE").get_completions(["file", command], "or")
        assert [(item.type, item.value) for item in found] == [("file", "or")]


@pytest.mark.parametrize(("typed", "put"), [("my", r"my\ table"), (r"my\ t", r"my\ table"), ("ord", "orders")])
def test_bash_quotes_a_name_with_a_blank(busy: Ana, typed: str, put: str) -> None:
    busy("import", "my table", "orders.csv", "--key", "id")
    asked = f"COMP_WORDS=(ana table show '{typed}'); COMP_CWORD=3; _ana_completion {Path(sys.executable).parent}/ana"
    script = f'{busy("completion", "bash").out}\n{asked}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout == f"{put}\n"


def test_the_shells_are_named_where_none_is(ana: Ana) -> None:
    assert "Choose from: bash, zsh, fish\n" in ana("completion", fails=2).err
