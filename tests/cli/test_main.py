"""The front door: errors in one line with a hint, exit codes by kind, global options on either side of the command."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NoReturn

import click
import pytest

import anabranch.cli.commands.verify
from anabranch import errors
from anabranch.cli.failures import EXIT_CODES, INTERRUPTED, PIPE_CLOSED, UNEXPECTED
from anabranch.cli.main import COMMANDS, cli
from anabranch.cli.output.text import OutputClosed
from tests.cli.conftest import Ana


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(anabranch.cli.commands.verify.command, "callback", fail)


def test_every_kind_of_error_has_an_exit_code_of_its_own() -> None:
    assert set(EXIT_CODES) == set(errors.AnabranchError.__subclasses__())
    others = (UNEXPECTED, INTERRUPTED, PIPE_CLOSED)
    assert len({*EXIT_CODES.values(), *others}) == len(EXIT_CODES) + len(others)
    assert all(0 < code < 128 for code in EXIT_CODES.values())


@pytest.mark.parametrize("kind", EXIT_CODES)
def test_an_error_is_one_line_and_a_hint_and_the_exit_code_of_its_kind(
    ana: Ana, monkeypatch: pytest.MonkeyPatch, kind: type[errors.AnabranchError]
) -> None:
    raising(monkeypatch, kind("it went\nwrong", hint="do this\nnext"))
    done = ana("verify", fails=EXIT_CODES[kind])
    assert done.err == "error: it went wrong\nhint: do this next\n"
    assert done.out == ""


def test_an_error_without_a_hint_is_one_line(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, errors.NotFound("it is gone"))
    assert ana("verify", fails=3).err == "error: it is gone\n"


def test_an_unexpected_error_is_one_line_too(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ZeroDivisionError("division by zero"))
    done = ana("verify", fails=UNEXPECTED)
    assert done.err.startswith("error: unexpected ZeroDivisionError: division by zero\nhint: ")
    assert "Traceback" not in done.err


def test_debug_shows_the_traceback(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, errors.NotFound("it is gone"))
    done = ana("verify", "--debug", fails=3)
    assert done.err.startswith("Traceback (most recent call last)")
    assert done.err.endswith("error: it is gone\n")


def test_an_interrupt_ends_with_130(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert ana("verify", fails=INTERRUPTED).err == "error: interrupted\n"


def test_a_closed_pipe_is_quiet(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, OutputClosed())
    assert ana("verify", fails=PIPE_CLOSED).err == ""


def test_no_error_text_can_act_on_the_terminal(ana: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, errors.NotFound("there is no \x1b[31mtable"))
    assert ana("verify", fails=3).err == "error: there is no \\x1b[31mtable\n"


@pytest.mark.parametrize(
    ("arguments", "line", "hint"),
    [
        (["stauts"], "there is no command 'stauts'", "did you mean `ana status`?"),
        (
            ["remote", "-v"],
            "there is no command 'remote'",
            "there are no remotes: a store on a server is shared, `ana --store PATH|URL status` opens another",
        ),
        (
            ["help", "merge"],
            "there is no command 'help'",
            "`ana COMMAND --help` describes a command, `ana --help` lists them",
        ),
        (["diff", "--name-only"], "no such option '--name-only'", "`ana diff --stat` lists what changed"),
        (
            ["merge", "dev", "-X", "theirs"],
            "no such option '-X'",
            "`ana merge SOURCE --ours` or --theirs takes a side, --rule TABLE.COLUMN=RULE decides by column",
        ),
        (["frobnicate"], "there is no command 'frobnicate'", "see `ana --help` for all commands"),
        (["log", "--xyz"], "no such option '--xyz'", "see `ana log --help`"),
        (["resolve", "t", "--take", "ours"], "no such option '--take'", "--ours, --theirs or --base takes a side"),
        (["reset", "--to", "main~1"], "no such option '--to'", "name the ref alone: `ana reset --hard REF`"),
        (["restore", "--all"], "no such option '--all'", "`ana restore .` gives up all that is staged"),
        (["commit"], "a commit needs a message", "say what it does and why: ana commit -m MESSAGE"),
        (["table", "orders"], "`ana table` has no command 'orders'", "did you mean `ana table show orders`?"),
        (["stash", "pup"], "`ana stash` has no command 'pup'", "did you mean `ana stash pop`?"),
        (["stash", "away"], "`ana stash` has no command 'away'", "it has push, list, pop, drop, clear, show"),
        (["reset", "v1"], "reset moves the branch to v1 and gives up what is staged", "say so with --hard"),
        (["table", "show"], "missing argument 'NAME'", "see `ana table show --help`"),
        (
            ["--engine", "flink", "log"],
            "invalid value for '--engine': 'flink' is not one of 'auto', 'spark', 'duck'",
            None,
        ),
    ],
)
def test_a_command_line_that_cannot_be_read_says_what_is_wrong(
    ana: Ana, arguments: list[str], line: str, hint: str | None
) -> None:
    said = ana(*arguments, fails=2).err.splitlines()
    assert said[0] == f"error: {line}"
    assert said[1] == f"hint: {hint or 'see `ana --help`'}"


def test_without_a_command_help_is_shown(ana: Ana) -> None:
    assert "Commands:" in ana(fails=2).err
    assert "Commands:" in ana("--help").out


def test_the_version_is_shown(ana: Ana) -> None:
    assert ana("--version").out == f"anabranch {anabranch.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_tells_its_json(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    commands = [found] if not isinstance(found, click.Group) else list(found.commands.values())
    for command in commands:
        assert command.help
        assert "JSON: " in command.help
        assert "--json" in command.get_help(click.Context(command, click.Context(cli, **cli.context_settings)))


def test_global_options_stand_before_or_after_the_command_or_in_the_environment(
    shop: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    shop("branch", fails=3)
    before = shop("--store", str(folder), "--json", "branch").json
    after = shop("branch", "--json", "--store", str(folder)).json
    monkeypatch.setenv("ANABRANCH_STORE", str(folder))
    assert before == after == shop("branch", "--json").json


def test_the_debug_log_tells_the_choice_of_the_engine(shop: Ana) -> None:
    said = shop("table", "show", "orders", "--debug").err
    assert "debug: anabranch.engines: reading orders runs on duck: " in said
    assert shop("table", "show", "orders").err == ""
    assert logging.getLogger("anabranch").level == logging.NOTSET


def test_an_engine_can_be_forced(shop: Ana) -> None:
    done = shop("table", "show", "orders", "--engine", "duck", "--where", "upper(status) = 'NEW'", fails=2)
    assert "runs on Spark only" in done.err


def test_one_run_does_not_know_the_options_of_the_run_before(shop: Ana) -> None:
    assert shop("log", "--json").out.startswith("{")
    assert shop("log").out.startswith("commit ")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["log", "orders"], "it is a table: `ana table show orders` shows its rows, `ana log -- orders` its commits"),
        (["show", "orders"], "it is a table: `ana table show orders` shows its rows"),
        (["show", "HEAD:orders"], "it is a table: `ana table show orders --at HEAD` shows its rows\n"),
        (["branch", "-d", "nothing"], "there: main; make the branch first"),
        (["config", "user.name", "ann"], "`ana config author NAME` says who you are"),
    ],
)
def test_what_users_of_git_type_is_hinted_at(shop: Ana, arguments: list[str], hint: str) -> None:
    assert hint in shop(*arguments, fails=3).err


def test_a_table_that_is_only_staged_can_be_imported_anew(shop: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text("id,n\n1,NA\n2,5\n")
    shop("import", "t", "t.csv")
    refused = shop("import", "t", "t.csv", "--null", "NA", fails=4).err
    assert "--overwrite replaces them all; `ana restore t` gives up what is staged" in refused
    shop("restore", "t")
    shop("import", "t", "t.csv", "--null", "NA", "-m", "load")
    assert "ana restore" not in shop("import", "t", "t.csv", fails=4).err
