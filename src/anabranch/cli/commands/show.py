"""`ana show`: one commit, and what it did to each table."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.commands.log import find_names, full_text
from anabranch.cli.name_completion import refs
from anabranch.cli.options import command as make_command
from anabranch.cli.output.tables import Heading, print_table
from anabranch.cli.output.text import emit, emit_json, number, short, size
from anabranch.cli.session import Session
from anabranch.documents.records import commit_document

if TYPE_CHECKING:
    from anabranch.repo.branches.log import TableChange


@make_command("show", short_help="Show a commit and what it did.")
@click.argument("ref", required=False, shell_complete=refs)
@click.option("-v", "--verbose", is_flag=True, help="List the objects that hold the change.")
def command(session: Session, ref: str | None, verbose: bool) -> None:
    """Show the commit at REF (the current branch), and what it did.

    \b
    $ ana show HEAD~1

    JSON: commit (as in log), changes (list of table, operations, row_count, inserted, updated, deleted, and with -v
    objects: id, kind, rows, size_bytes, place, path, sha256).
    """
    at = session.ref(ref)
    with session.repo.one_state():
        commit, changes = session.repo.show(at), session.repo.show_changes(at)
        names = find_names(session, [commit])
    if session.json:
        emit_json({"commit": commit_document(commit), "changes": [_document(c, verbose) for c in changes]})
        return
    for line in full_text(commit, names):
        emit(line)
    if changes:
        emit()
        _print_changes(changes)
    if verbose and any(change.objects for change in changes):
        emit()
        _print_objects(changes)


def _document(change: TableChange, verbose: bool) -> dict[str, Any]:
    found = asdict(change)
    return found if verbose else {name: value for name, value in found.items() if name != "objects"}


def _print_changes(changes: list[TableChange]) -> None:
    numbers = ("inserted", "updated", "deleted", "rows")
    headings = [Heading("table"), Heading("operations"), *(Heading(name, right=True) for name in numbers)]
    rows = [
        (c.table, ", ".join(c.operations), *map(number, (c.inserted, c.updated, c.deleted, c.row_count)))
        for c in changes
    ]
    print_table(headings, rows)


def _print_objects(changes: list[TableChange]) -> None:
    headings = [Heading("table"), Heading("object"), Heading("kind"), Heading("rows", True), Heading("size", True)]
    rows = [
        (c.table, o["id"], o["kind"], number(o["rows"]), size(o["size_bytes"]), o["place"], short(o["sha256"]))
        for c in changes
        for o in c.objects
    ]
    print_table([*headings, Heading("place"), Heading("sha256")], rows)
