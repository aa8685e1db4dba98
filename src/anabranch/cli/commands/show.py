"""`ana show`: one commit, and what it did to each table and file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.commands.log import find_names, full_text
from anabranch.cli.name_completion import refs
from anabranch.cli.options import make_command
from anabranch.cli.output.tables import Heading, print_table
from anabranch.cli.output.text import clean, emit, local, number, short, show_lines, size
from anabranch.cli.session import Session
from anabranch.documents.records import commit_document

if TYPE_CHECKING:
    from anabranch import Commit
    from anabranch.model.commits import Tag
    from anabranch.repo.compare.commit_changes import TableChange

_OF_SCHEMA = ("add", "drop", "rename", "alter", "set", "unset")


@make_command("show", short_help="Show a commit and what it did.")
@click.argument("ref", required=False, shell_complete=refs)
@click.option("-p", "--patch", is_flag=True, help="Show the rows that it changed, at most 100 of each table.")
@click.option("--stat", is_flag=True, help="Show how many rows and cells it changed.")
@click.option("-v", "--verbose", is_flag=True, help="List the objects that hold the change.")
def command(session: Session, ref: str | None, patch: bool, stat: bool, verbose: bool) -> None:
    """Show the commit at REF (the current branch), and what it did.

    \b
    $ ana show HEAD~1
    $ ana show -p

    JSON: commit (as in log), changes (list of table, operations, row_count, inserted, updated, deleted, and with -v
    objects: id, kind, rows, size_bytes, place, path, sha256).
    """
    at = session.ref(ref)
    with session.repo.one_state():
        commit, changes = session.repo.show(at), session.repo.show_changes(at)
        names, origins = find_names(session, [commit]), session.repo.origins([commit])
        tags = session.repo.tags(showing=[commit.hash])
    if session.told({"commit": commit_document(commit), "changes": [_document(c, verbose) for c in changes]}):
        return
    show_lines(line for tag in tags if tag.message for line in _tag_lines(tag))
    show_lines(full_text(commit, names, origins.get(commit.hash, ())))
    if patch or stat:
        from anabranch.cli.output.commit_changes import CommitChanges

        show_lines(_after_a_gap(CommitChanges(session.repo, patch, stat).lines(commit)))
    else:
        if changes:
            emit()
            _print_changes(changes)
            _print_columns(session, commit, changes)
        show_lines(_after_a_gap(_file_lines(session, commit)))
    if verbose and any(change.objects for change in changes):
        emit()
        _print_objects(changes)


def _tag_lines(tag: Tag) -> list[str]:
    """A tag and its message: in one line, or the message's lines below."""
    said = [clean(line).rstrip() for line in (tag.message or "").strip().split("\n")]
    head = f"tag {clean(tag.name)} of {local(tag.created_at)} by {clean(tag.author)}:"
    return [f"{head} {said[0]}"] if len(said) == 1 else [head, *(f"    {line}".rstrip() for line in said), ""]


def _after_a_gap(lines: list[str]) -> list[str]:
    return ["", *lines] if lines else []


def _file_lines(session: Session, commit: Commit) -> list[str]:
    """A line for each file that the commit changed."""
    if not (commit.parents and session.repo.has_file_changes(commit.hash)):
        return []
    from anabranch.cli.output.diff_text import file_lines

    return list(file_lines(session.repo.diff(commit.parents[0], commit.hash).files, text=False))


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


def _print_columns(session: Session, commit: Commit, changes: list[TableChange]) -> None:
    """Name the columns, checks and so on that the commit changed; of a new table, all are new."""
    from anabranch.cli.output.diff_text import schema_line

    altered = {c.table for c in changes if any(word.startswith(_OF_SCHEMA) for word in c.operations)}
    if not altered or not commit.parents:
        return
    for table in session.repo.diff(commit.parents[0], commit.hash).candidates:
        if table.name in altered and table.change == "changed":
            for change in table.schema:
                emit(f"{clean(table.name)}: {schema_line(change, table.columns.columns)}")


def _print_objects(changes: list[TableChange]) -> None:
    headings = [Heading("table"), Heading("object"), Heading("kind"), Heading("rows", True), Heading("size", True)]
    rows = [
        (c.table, o["id"], o["kind"], number(o["rows"]), size(o["size_bytes"]), o["place"], short(o["sha256"]))
        for c in changes
        for o in c.objects
    ]
    print_table([*headings, Heading("place"), Heading("sha256")], rows)
