"""`ana checkout`: the older name of switch."""

from __future__ import annotations

import click

from anabranch.cli.commands.switch import go
from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import command as make_command
from anabranch.cli.session import Session


@make_command("checkout", short_help="The older name of switch.")
@click.argument("name", shell_complete=branches)
@click.argument("at", required=False, shell_complete=refs)
@click.option("-b", "create", is_flag=True, help="Make the branch first, at AT (the current branch).")
def command(session: Session, name: str, at: str | None, create: bool) -> None:
    """Go to another branch: switch by its older name.

    \b
    $ ana checkout -b qa

    JSON: branch, commit, made.
    """
    go(session, name, at, create)
