"""`ana add`: what was changed in a folder that files were checked out into, taken into the working set."""

from __future__ import annotations

from pathlib import Path

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.options import make_command
from anabranch.cli.output.text import clean, emit, emit_json, plural
from anabranch.cli.session import Session
from anabranch.cli.staging import show_commit, writing
from anabranch.documents.records import commit_document


@make_command("add", short_help="Stage the changed files of a folder.")
@click.argument("folder")
@click.option("-m", "--message", metavar="TEXT", help="Publish at once, with this message.")
def command(session: Session, folder: str, message: str | None) -> None:
    """Take in what was added, changed and removed in a FOLDER that files were checked out into.

    What is written to tables needs no `add`: it is staged already.

    \b
    $ ana add work

    JSON: folder, added, changed, removed (lists of paths), commit (as in log, or null if it is staged).
    """
    if not Path(folder).is_dir():
        hint = "tables need no add: what is written is staged already, `ana commit -m MESSAGE` commits it"
        raise BadUsage(f"{folder!r} is no folder", hint=hint)
    with session.progress(f"reading {folder}"), writing(session, message, None) as made:
        found = session.repo.folder(folder).add(made.transaction)
    if session.json:
        commit = commit_document(made.commit) if made.commit else None
        emit_json({"folder": folder, **vars(found), "commit": commit})
    elif made.commit:
        show_commit(session, session.branch, made.commit)
    elif not found:
        emit(f"Nothing was changed in {clean(folder)}.")
    else:
        count = len(found.added) + len(found.changed) + len(found.removed)
        emit(f"Staged {plural(count, 'file')}; publish with `ana commit -m MESSAGE`.")
