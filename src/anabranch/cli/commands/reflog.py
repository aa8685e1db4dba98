"""`ana reflog`: the moves of a branch."""

from __future__ import annotations

import click

from anabranch.cli.name_completion import branches
from anabranch.cli.options import make_command
from anabranch.cli.output.text import clean, columns, local, short
from anabranch.cli.session import Session
from anabranch.documents.records import MOVE, record


@make_command("reflog", short_help="List the moves of a branch.")
@click.argument("branch", required=False, shell_complete=branches)
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most so many moves.")
def command(session: Session, branch: str | None, limit: int | None) -> None:
    """List the moves of BRANCH (the current one), newest first; of a deleted one too.

    \b
    $ ana reflog main

    JSON: branch, moves (list of before, after, moved_at, author, verb).
    """
    name = session.ref(branch)
    moves = session.repo.reflog(name, limit=limit)
    rows = [
        (short(move.after), f"{name}@{{{i}}}", move.verb, local(move.moved_at), clean(move.author))
        for i, move in enumerate(moves)
    ]
    session.tell({"branch": name, "moves": [record(move, *MOVE) for move in moves]}, columns(rows))
