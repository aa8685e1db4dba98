"""`ana commit`: publish what is staged on the current branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.options import make_command, paragraphs
from anabranch.cli.output.commits import commit_line, counts_text
from anabranch.cli.output.conflicts import goes_on
from anabranch.cli.output.text import clean, columns, emit, emit_json, show_lines
from anabranch.cli.sequences import end
from anabranch.cli.session import Session, with_zone
from anabranch.cli.staging import NOTHING, counted_in, publish, staged_documents
from anabranch.documents.records import commit_document
from anabranch.errors import BranchMoved

if TYPE_CHECKING:
    from anabranch import Commit, OpenCommit


@make_command("commit")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="What it does and why.")
@click.option("--author", metavar="NAME", help="The commit's author (you).")
@click.option("--date", metavar="TIME", help="When the work was done, if not now.")
@click.option("--amend", is_flag=True, help="Replace the newest commit, with what is staged added.")
@click.option("--no-edit", is_flag=True, help="Accepted, as in git: --amend without -m keeps the message.")
@click.option("-a", "--all", "everything", is_flag=True, help="Accepted, as in git: all that is staged is published.")
def command(
    session: Session, message: str | None, author: str | None, date: str | None, amend: bool, **_accepted: bool
) -> None:
    """Publish what is staged on the current branch. Exit code 1: there is nothing to commit.

    If others have changed the same rows since you staged yours, your work is merged with theirs; conflicts stay open,
    as with `ana cherry-pick`.

    --amend replaces the newest commit: same parents, what is staged added, and the same message and author unless you
    give others. `ana reflog` still has the old one.

    \b
    $ ana commit -m 'new prices'
    $ ana commit --amend -m 'new prices for 2027'

    JSON: branch, commit (null if there was nothing), staged (as in status, with the counts of the commit).
    """
    when = with_zone(date) if date else None
    if message is None and not amend:
        raise BadUsage("a commit needs a message", hint="say what it does and why: ana commit -m MESSAGE")
    opened = session.working_set()
    staged = staged_documents(opened, net=amend)
    try:
        with session.progress("publishing"):
            if amend:
                made: Commit | None = session.repo.amend(session.branch, message, author=author, date=when, work=opened)
            else:
                made = publish(opened, message, author or session.author, when) if opened and message else None
    except BranchMoved as moved:
        if amend or opened is None:
            raise
        _carry_over(session, opened, message, author, moved)
        return
    _report(session, made, staged, amend)


def _carry_over(
    session: Session, opened: OpenCommit, message: str | None, author: str | None, moved: BranchMoved
) -> None:
    """Merge what is staged with what came meanwhile; conflicts stay open."""
    if not session.json:
        emit(f"{clean(moved.message)}.")
        emit("What is staged is merged with that:")
    kept = session.repo.carry_over(opened, message, author=author or session.author)
    end(session, kept, f"all of it is on {session.branch} already")


def _report(session: Session, made: Commit | None, staged: list[dict[str, Any]], amend: bool) -> None:
    session.exit_code = 0 if made else NOTHING
    if session.json:
        shown = counted_in(session, made, staged) if made and not amend else staged
        emit_json({"branch": session.branch, "commit": commit_document(made) if made else None, "staged": shown})
    elif made is None:
        why = "what was staged changes nothing" if staged else "nothing is staged"
        emit(f"nothing to commit on {session.branch}: {why}")
        for waiting in session.all_open(session.branch):
            emit(f"A {waiting.verb} is open; {goes_on(waiting.verb)}.")
    else:
        emit(commit_line(session.branch, made))
        rows = _whole(session, made) if amend else _rows(counted_in(session, made, staged))
        show_lines(f"  {line}" for line in columns(rows))


def _rows(staged: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    things = [what for what in staged if what["kind"] != "namespace"]
    told = ["" if what["state"] == "dropped" else counts_text(what) for what in things]
    return [(what["state"], clean(what["name"]), text) for what, text in zip(things, told, strict=True)]


def _whole(session: Session, made: Commit) -> list[tuple[str, ...]]:
    """All that a commit does, not only what was added to it."""
    return [(clean(change.table), counts_text(vars(change))) for change in session.repo.show_changes(made.hash)]
