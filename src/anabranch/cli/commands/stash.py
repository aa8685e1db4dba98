"""`ana stash`: set what is staged aside, and bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.options import CommandGroup, paragraphs
from anabranch.cli.output.commits import counts_text
from anabranch.cli.output.text import clean, columns, emit, emit_json, local, plural, show_lines
from anabranch.cli.session import Session
from anabranch.cli.staging import staged_documents

if TYPE_CHECKING:
    from anabranch.repo.commit.stash import Stash

_number = click.argument("number", metavar="[N]", type=click.IntRange(min=0), default=0)


_message = click.option("-m", "--message", multiple=True, callback=paragraphs, help="What it is, for the list.")


@click.group("stash", cls=CommandGroup, invoke_without_command=True, short_help="Set what is staged aside.")
@_message
@click.pass_context
def command(ctx: click.Context, message: str | None) -> None:
    """Set what is staged aside, and bring it back; without a command: push."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(push, message=message)
    elif message is not None:
        raise BadUsage("-m is for push", hint="ana stash push -m MESSAGE")


@command.command("push")
@_message
def push(session: Session, message: str | None) -> None:
    """Set what is staged on the current branch aside.

    \b
    $ ana stash push -m 'half of the new prices'

    JSON: stash (number, message, branch, started_at, staged: as in status).
    """
    made = session.repo.stash(session.branch, message)
    if session.json:
        emit_json({"stash": _document(made)})
    else:
        emit(f"Set aside: {_subject(made)}; `ana stash pop` brings it back")


@command.command("list")
def list_(session: Session) -> None:
    """List what was set aside, newest first.

    \b
    $ ana stash list

    JSON: stashes (list of number, message, branch, started_at, staged: as in status).
    """
    found = session.repo.stashes()
    if session.json:
        emit_json({"stashes": [_document(stash) for stash in found]})
        return
    rows = [(str(s.number), clean(s.branch), local(s.work.started_at), _subject(s)) for s in found]
    show_lines(columns(rows) if rows else ["Nothing was set aside."])


@command.command("pop")
@_number
def pop(session: Session, number: int) -> None:
    """Stage again what was set aside, on the current branch; N is its number in the list (the newest).

    On another branch than before it is refused if what it touched is not the same there.

    \b
    $ ana stash pop

    JSON: branch, staged (as in status).
    """
    made = session.repo.pop_stash(number, session.branch)
    staged = staged_documents(made)
    facts = {"branch": session.branch, "staged": staged}
    session.tell(facts, f"Staged again on {session.branch}:", _staged_lines(staged))


@command.command("drop")
@_number
def drop(session: Session, number: int) -> None:
    """Give up what was set aside; N is its number in the list (the newest).

    \b
    $ ana stash drop

    JSON: dropped (number, message, branch, started_at, staged: as in status).
    """
    described = _document(session.repo.find_stash(number)) if session.json else {}
    gone = session.repo.drop_stash(number)
    session.tell({"dropped": described}, f"Given up: {_subject(gone)} ({plural(len(gone.work.status()), 'change')})")


@command.command("clear")
def clear(session: Session) -> None:
    """Give up all that was set aside.

    \b
    $ ana stash clear

    JSON: dropped (list of number, message, branch, started_at, staged: as in status).
    """
    found = session.repo.stashes()
    gone = [_document(stash) for stash in found]
    for stash in reversed(found):
        session.repo.drop_stash(stash.number)
    session.tell({"dropped": gone}, [f"Given up: {_subject(stash)}" for stash in found] or "Nothing was set aside.")


@command.command("show")
@_number
def show(session: Session, number: int) -> None:
    """Show what was set aside; N is its number in the list (the newest).

    \b
    $ ana stash show

    JSON: stash (number, message, branch, started_at, staged: as in status).
    """
    found = session.repo.find_stash(number)
    described = _document(found)
    head = f"{_subject(found)}, staged on {clean(found.branch)}:"
    session.tell({"stash": described}, head, _staged_lines(described["staged"]))


def _document(stash: Stash) -> dict[str, Any]:
    facts = {"number": stash.number, "message": stash.message, "branch": stash.branch}
    return {**facts, "started_at": stash.work.started_at, "staged": staged_documents(stash.work)}


def _subject(stash: Stash) -> str:
    return clean(stash.message.split("\n", 1)[0])


def _staged_lines(staged: list[dict[str, Any]]) -> list[str]:
    return [f"  {line}" for line in columns([(s["state"], clean(s["name"]), counts_text(s)) for s in staged])]
