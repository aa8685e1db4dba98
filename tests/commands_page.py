"""Writes docs/commands.md, the manual of the command line, from what `--help` says: `python -m tests.commands_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from anabranch.cli.main import COMMANDS, cli

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
OPENING = """\
# The command line

What `ana --help` and every command's `--help` say, written from the code by `python -m tests.commands_page`.
Exit codes are those of the [errors](reference.md#errors); `--json` prints one JSON document instead of text.
"""


def page() -> str:
    """The whole page, as the code is now."""
    return OPENING + "".join(f"\n{section}\n" for section in _sections())


def _sections() -> Iterator[str]:
    top = _context(cli, "ana")
    yield _section("ana", top)
    for name in COMMANDS:
        found = cli.get_command(top, name)
        assert found is not None, name
        yield from _described(found, name, top)


def _described(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """A command, and those below it."""
    ctx = _context(command, name, parent)
    yield _section(ctx.command_path, ctx)
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None, below
            yield from _described(found, below, ctx)


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, parent, name, **{**command.context_settings, "terminal_width": 100})


def _section(path: str, ctx: click.Context) -> str:
    lines = ctx.command.get_help(ctx).splitlines()
    text = "\n".join(line.rstrip() for line in lines)
    return f"## {path}\n\n```text\n{text}\n```"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
