"""`ana commit`: publish what is staged on the current branch."""

from __future__ import annotations

import click

from anabranch.cli.options import command as make_command
from anabranch.cli.options import paragraphs
from anabranch.cli.output.commits import commit_line, counts_text
from anabranch.cli.output.text import clean, columns, emit, emit_json
from anabranch.cli.session import Session
from anabranch.cli.staging import NOTHING, publish, staged_documents
from anabranch.documents.records import commit_document


@make_command("commit")
@click.option("-m", "--message", multiple=True, required=True, callback=paragraphs, help="What it does and why.")
@click.option("--author", metavar="NAME", help="The commit's author (you).")
@click.option("-a", "--all", "everything", is_flag=True, help="Accepted, as in git: all that is staged is published.")
def command(session: Session, message: str, author: str | None, everything: bool) -> None:
    """Publish what is staged on the current branch. Exit code 1: there is nothing to commit.

    \b
    $ ana commit -m 'new prices'

    JSON: branch, commit (null if there was nothing), staged (as in status).
    """
    opened = session.working_set()
    staged = staged_documents(opened)
    with session.progress("publishing"):
        made = publish(opened, message, author or session.author) if opened else None
    session.exit_code = 0 if made else NOTHING
    if session.json:
        emit_json({"branch": session.branch, "commit": commit_document(made) if made else None, "staged": staged})
    elif made is None:
        why = "what was staged changes nothing" if opened else "nothing is staged"
        emit(f"nothing to commit on {session.branch}: {why}")
        if session.repo.open_merges(session.branch):
            emit("A merge is open; `ana merge --continue` publishes it.")
    else:
        emit(commit_line(session.branch, made))
        rows = [(what["state"], clean(what["name"]), counts_text(what)) for what in staged if what["kind"] == "table"]
        for line in columns(rows):
            emit(f"  {line}")
