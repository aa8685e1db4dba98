"""`ana tag`: list, make and delete tags."""

from __future__ import annotations

from fnmatch import fnmatchcase

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import refs, tags
from anabranch.cli.options import make_command, paragraphs
from anabranch.cli.output.text import columns, local, short, subject
from anabranch.cli.session import Session
from anabranch.documents.records import TAG, record


@make_command("tag", short_help="List, make or delete tags.")
@click.argument("name", required=False, shell_complete=tags)
@click.argument("at", required=False, shell_complete=refs)
@click.option("-l", "--list", "only", is_flag=True, help="List; with NAME, only tags like it, such as 'v*'.")
@click.option("-d", "--delete", is_flag=True, help="Delete the tag.")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Say what the tag is for.")
@click.option(
    "-a", "--annotate", is_flag=True, expose_value=False, help="Accepted, as in git: any tag may have a message."
)
def command(session: Session, name: str | None, at: str | None, only: bool, delete: bool, message: str | None) -> None:
    """List tags, or give the commit at AT (the current branch) the name NAME for good.

    \b
    $ ana tag v1 HEAD~1
    $ ana tag -l 'v*'
    $ ana tag -m 'as sent to the auditors' audit-2026

    JSON: tags (list of name, commit, created_at, author, message); tag (name, commit); or deleted (names).
    """
    if delete:
        _delete(session, name)
    elif name and not only:
        _make(session, name, at, message)
    else:
        _list(session, name or "*")


def _delete(session: Session, name: str | None) -> None:
    if not name:
        raise BadUsage("no tag is named", hint="ana tag -d NAME")
    session.repo.delete_tag(name)
    session.tell({"deleted": [name]}, f"Deleted tag {name}")


def _make(session: Session, name: str, at: str | None, message: str | None) -> None:
    session.repo.tag(name, session.ref(at), message=message)
    made = session.repo.show(name)
    session.tell({"tag": {"name": name, "commit": made.hash}}, f"Tagged {short(made.hash)} ({made.id}) as {name}")


def _list(session: Session, pattern: str) -> None:
    found = [tag for tag in session.repo.tags() if fnmatchcase(tag.name, pattern)]
    rows = [(t.name, short(t.commit), local(t.created_at), t.author, subject(t.message or "")) for t in found]
    session.tell({"tags": [record(tag, *TAG) for tag in found]}, (line.rstrip() for line in columns(rows)))
