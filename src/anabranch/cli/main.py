"""The front door of the command line: finds the command, runs it, and turns errors into a line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from anabranch.cli import failures
from anabranch.cli.options import global_options
from anabranch.cli.output.text import close_output, flush
from anabranch.cli.session import Session

COMMANDS = (
    *("init", "import", "export", "status", "commit", "log", "show", "provenance", "diff", "branch", "switch"),
    *("checkout", "tag", "merge", "conflicts", "resolve", "revert", "cherry-pick", "rebase", "restore", "ls"),
    *("table", "file", "add", "sql", "reset", "stash", "reflog", "history", "blame", "changes", "pipeline"),
    *("job", "optimize", "gc", "verify", "objects", "backup", "restore-store", "config", "trust", "completion", "demo"),
)
"""Every command, in the order of the help; the module of its name is imported when it runs."""

HABITS = {
    "rm": "`ana table drop TABLE` drops a table, `ana file rm PATH` a file; `ana sql 'DELETE FROM …'` deletes rows",
    "drop": "`ana table drop TABLE` drops a table",
    "mv": "`ana table rename TABLE NAME` renames a table, `ana file mv SOURCE TARGET` a file",
    "cp": "`ana file cp SOURCE TARGET` copies a file or folder",
    "tables": "`ana ls` lists tables",
    **dict.fromkeys(("schema", "describe"), "`ana table show TABLE --schema` shows columns and key"),
    **dict.fromkeys(("select", "query"), "`ana sql 'SELECT …'` runs a query, `ana table show TABLE` shows rows"),
    "clone": "a store is opened where it lies: `ana --store PATH|URL status`, or `ana init URL` to connect this folder",
    **dict.fromkeys(("pull", "fetch"), "a store on a server is shared: what others commit is there at once"),
    "push": "a store on a server is shared: what you commit is there at once",
    "bisect": "`ana history TABLE --key KEY` lists what became of a row, `ana blame TABLE` who changed it last",
    "grep": "`ana table show TABLE --where \"COLUMN LIKE '%TEXT%'\"` finds rows, `ana log --grep TEXT` commits",
    "undo": "`ana revert HEAD` makes a commit that undoes the last one, `ana reset --hard HEAD~1` leaves it out",
    "help": "`ana COMMAND --help` describes a command, `ana --help` lists them",
    "remote": "there are no remotes: a store on a server is shared, `ana --store PATH|URL status` opens another",
    "cat": "`ana table show TABLE` shows rows, `ana export TABLE -` prints them, `ana file cat PATH` a file",
    "worktree": "`ana checkout FOLDER/ REF` writes the files of any state; tables are read at any with `--at REF`",
    "shortlog": "`ana log --oneline` is short, `--author NAME` chooses",
    "fsck": "`ana verify` checks every object against its hash",
    "vacuum": "`ana gc` removes what nothing needs any more",
}
"""Commands that users of git or SQL may try, and what to do instead."""


class LazyGroup(click.Group):
    """A group that imports a command's module on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name.replace("-", "_")
        found = import_module(f"anabranch.cli.commands.{module}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean `ana {near[0]}`?" if near else "see `ana --help` for all commands"
            hint = HABITS.get(name, hint)
            raise failures.BadUsage(f"there is no command {name!r}", hint=hint)
        return super().resolve_command(ctx, args)


def show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        import anabranch

        click.echo(f"anabranch {anabranch.__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version, help="Show the version."
)
def cli() -> None:
    """Version control for data on Spark.

    The store is the folder .anabranch here or in a parent folder, as in git. REF is a branch, a tag, a hash, HEAD,
    main~3, main^2, main/7 or main@{2026-11-01T00:00:00Z}.
    """


cli.params.extend(global_options())


def run(arguments: Sequence[str]) -> int:
    """Run one command line, and return the exit code."""
    session = Session()
    try:
        with session.logged(), cli.make_context("ana", list(arguments), obj=session) as ctx:
            cli.invoke(ctx)
        flush()
        return session.exit_code
    except BaseException as error:
        session.choices.json |= "--json" in arguments
        return failures.report(error, session)


def main() -> Any:
    """Entry point of `anabranch` and `ana`."""
    gc.disable()  # Saves a third of the start-up; work that shows progress enables it again.
    if "_ANA_COMPLETE" in os.environ or "_ANABRANCH_COMPLETE" in os.environ:
        return cli.main()
    code = run(sys.argv[1:])
    close_output()
    if "pyspark" not in sys.modules:  # Which has a JVM to shut down.
        os._exit(code)  # Everything is written and closed; tearing down modules is a tenth of a short command.
    sys.exit(code)
