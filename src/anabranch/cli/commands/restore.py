"""`ana restore`: give up what is staged of a table, or give it back what it was at a ref."""

from __future__ import annotations

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import refs, tables
from anabranch.cli.options import make_command, paragraphs
from anabranch.cli.output.text import clean
from anabranch.cli.session import Session
from anabranch.cli.staging import report_commits
from anabranch.errors import InvalidRequest, NotFound

ALL = "."


@make_command("restore", short_help="Discard staged changes, or bring a table back.")
@click.argument("tables", metavar="TABLE...|.", nargs=-1, required=True, shell_complete=tables)
@click.option(
    "--to", "-s", "--source", "to", metavar="REF", shell_complete=refs, help="What it was there, as a new commit."
)
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="What the new commit says, with --to.")
def command(session: Session, tables: tuple[str, ...], to: str | None, message: str | None) -> None:
    """Give up what is staged of TABLE (of all: `.`); with --to, make it what it was at REF, by a new commit.

    A table that was dropped since comes back.

    \b
    $ ana restore orders
    $ ana restore .
    $ ana restore orders --to HEAD~1

    JSON: branch, discarded (names), or with --to commits (as in log; none where nothing differs).
    """
    if to is not None:
        _go_back(session, tables, session.ref(to), message)
    elif message is not None:
        raise BadUsage("-m is for --to", hint="what is staged is given up without a commit")
    else:
        _discard(session, tables)


def _go_back(session: Session, tables: tuple[str, ...], to: str, message: str | None) -> None:
    if ALL in tables:
        raise BadUsage("--to takes names of tables", hint=f"`ana reset --hard {to}` moves the whole branch back")
    staged = session.working_set()
    for name in tables:
        if staged and name in staged.status():
            raise InvalidRequest(f"there are staged changes of {name!r}", hint=f"`ana restore {name}` gives them up")
    with session.progress(f"restoring {', '.join(tables)}"):
        made = [session.repo.restore(name, to, session.branch, message=message) for name in tables]
    names = clean(", ".join(tables))
    report_commits(session, session.branch, [commit for commit in made if commit], f"{names}: as at {to} already")


def _discard(session: Session, tables: tuple[str, ...]) -> None:
    staged = session.working_set()
    if staged is None:
        hint = "--to REF goes back to what a table was at a commit"
        raise NotFound(f"nothing is staged on {session.branch!r}", hint=hint)
    before = set(staged.status())
    if ALL in tables:
        staged.abort()
        gone = before
    else:
        for name in tables:
            staged.discard(name)
        gone = before - set(staged.status())
        if not staged.status():
            staged.abort()
    session.tell(
        {"branch": session.branch, "discarded": sorted(gone)},
        f"Given up: what was staged of {clean(', '.join(sorted(gone)))}",
    )
