"""`ana objects`: what a state is stored in, where each object lies, and which are on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.name_completion import refs
from anabranch.cli.options import CommandGroup
from anabranch.cli.output.tables import Heading, drawn
from anabranch.cli.output.text import number, plural, size
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.repo.read.object_list import ObjectList


def _choice(function: Callable[..., Any]) -> Callable[..., Any]:
    at = click.option("--at", metavar="REF", shell_complete=refs, help="Of which commit; else the current branch.")
    return click.argument("table", required=False)(at(function))


def _found(session: Session, table: str | None, at: str | None) -> ObjectList:
    return session.repo.objects(session.ref(at), table=table)


@click.group("objects", cls=CommandGroup)
def command() -> None:
    """List the objects of a state, fetch them to this machine, or remove the copies."""


@command.command("ls")
@_choice
def list_(session: Session, table: str | None, at: str | None) -> None:
    """List the objects that all tables and files are read from, or one table.

    \b
    $ ana objects ls
    $ ana objects ls orders --at v1

    JSON: objects (list of id, name, kind, row_count, size_bytes, sha256, where, here).
    """
    found = _found(session, table, at)
    names = ("object", "of", "kind", "rows", "size", "here")
    headings = [Heading(name, right=name in ("rows", "size")) for name in names]
    rows = [(o.id, o.name, o.kind, number(o.row_count), size(o.size_bytes), "yes" if o.here else "no") for o in found]
    session.tell({"objects": [asdict(o) for o in found]}, drawn(headings, rows))


@command.command("where")
@click.argument("object_id", metavar="OBJECT")
@click.option("--at", metavar="REF", shell_complete=refs, help="Of which commit; else the current branch.")
def where(session: Session, object_id: str, at: str | None) -> None:
    """Say where an object lies, by its id or the beginning of it.

    \b
    $ ana objects where oab

    JSON: id, name, kind, row_count, size_bytes, sha256, where, here.
    """
    found = _found(session, None, at).find(object_id)
    session.tell(asdict(found), found.where)


@command.command("download")
@_choice
def download(session: Session, table: str | None, at: str | None) -> None:
    """Fetch the objects of a state that are not on this machine, so that it can be read offline.

    \b
    $ ana objects download orders

    JSON: count, size_bytes.
    """
    with session.progress("fetching"):
        done = _found(session, table, at).download()
    session.tell(asdict(done), f"fetched {plural(done.count, 'object')} ({size(done.size_bytes)})")


@command.command("evict")
@_choice
def evict(session: Session, table: str | None, at: str | None) -> None:
    """Remove the copies on this machine of objects that lie elsewhere; a read fetches them again.

    \b
    $ ana objects evict

    JSON: count, size_bytes.
    """
    done = _found(session, table, at).evict()
    session.tell(
        asdict(done),
        f"removed {number(done.count)} {'copy' if done.count == 1 else 'copies'} ({size(done.size_bytes)})",
    )
