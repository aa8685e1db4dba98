"""`ana ls`: the tables at a commit, or with what is staged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.name_completion import refs
from anabranch.cli.options import make_command
from anabranch.cli.output.text import number
from anabranch.cli.session import Session
from anabranch.repo.commit.draft_listing import state_of

if TYPE_CHECKING:
    from anabranch.repo.commit.open_commit import OpenCommit


@dataclass(frozen=True)
class Listed:
    """A table in the list; `staged` says what the working set did to it."""

    name: str
    row_count: int
    column_count: int
    key: tuple[str, ...]
    staged: str | None = None


@make_command("ls", short_help="List tables.")
@click.argument("ref", required=False, shell_complete=refs)
@click.option("--namespace", metavar="NAME", help="Only the tables of this namespace.")
def command(session: Session, ref: str | None, namespace: str | None) -> None:
    """List the tables at REF; without it those of the current branch, with what is staged.

    \b
    $ ana ls
    $ ana ls dev

    JSON: ref, tables (list of name, row_count, column_count, key, staged: created, changed or null).
    """
    at = session.ref(ref)
    with session.repo.one_state():
        entries = session.repo.tables(at, namespace)
        found = {e.name: Listed(e.name, e.row_count, e.column_count, e.key) for e in entries}
        if ref is None:
            _stage(found, session.working_set(), namespace)
    listed = [found[name] for name in sorted(found)]
    session.tell({"ref": at, "tables": [vars(table) for table in listed]}, _lines(listed))


def _stage(found: dict[str, Listed], opened: OpenCommit | None, namespace: str | None) -> None:
    """Put what is staged in the place of what is committed."""
    for name, what in opened.status().items() if opened else ():
        if what["kind"] != "table" or (namespace is not None and name.rpartition(".")[0] != namespace):
            continue
        if what["dropped"]:
            found.pop(name, None)
        elif opened:
            table = opened.table(name)
            found[name] = Listed(name, table.count(), len(table.schema), table.key, state_of(what))


def _lines(listed: list[Listed]) -> Iterator[str]:
    if not listed:
        yield "There are no tables. (`ana file ls` lists files.)"
        return
    from anabranch.cli.output.tables import Heading, drawn

    staged = any(table.staged for table in listed)
    headings = [Heading("table"), Heading("rows", right=True), Heading("columns", right=True), Heading("key")]
    yield from drawn([*headings, *([Heading("staged")] if staged else [])], [_row(table, staged) for table in listed])


def _row(table: Listed, staged: bool) -> list[Any]:
    row = [table.name, number(table.row_count), number(table.column_count), ", ".join(table.key)]
    return [*row, table.staged or ""] if staged else row
