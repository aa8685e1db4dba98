"""`ana history`: the commits that touched a table, or one row of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.name_completion import refs, tables
from anabranch.cli.options import make_command
from anabranch.cli.output.commits import counts_text
from anabranch.cli.output.text import clean, columns, local, paint, short, subject
from anabranch.cli.session import Session
from anabranch.documents.records import commit_document

if TYPE_CHECKING:
    from anabranch.repo.compare.history import RowHistoryEntry, TableHistoryEntry

_COLOURS = {"insert": "green", "delete": "red", "update": "yellow"}


@make_command("history", short_help="List the commits that touched a table or a row.")
@click.argument("table", shell_complete=tables)
@click.option("--key", metavar="[COLUMN=]VALUE", multiple=True, help="Only what became of the row with this key.")
@click.option("--at", metavar="REF", shell_complete=refs, help="Where to start (the current branch).")
@click.option("--author", metavar="NAME", help="Only commits of this author.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most so many commits.")
def command(session: Session, table: str, key: tuple[str, ...], at: str | None, **chosen: Any) -> None:
    """List the commits that touched TABLE, newest first; with --key, each state of one row.

    \b
    $ ana history orders
    $ ana history orders --key 1

    JSON: table, ref, entries (list of commit, as in log, and operations, inserted, updated, deleted; with --key
    change, before, after, columns).
    """
    ref = session.ref(at)
    with session.progress(f"reading the history of {table}"), session.repo.one_state():
        wanted = key_of(session, table, ref, key)
        found: Any = session.repo.history(table, wanted, at=ref, **chosen)
    facts = {"table": table, "ref": ref, "entries": [_document(entry) for entry in found]}
    session.tell(facts, _table_lines(found) if wanted is None else _row_lines(found))


def key_of(session: Session, table: str, ref: str, given: tuple[str, ...]) -> dict[str, Any] | None:
    """The key that was asked for, in the types of the table."""
    if not given:
        return None
    from anabranch.repo.read.look_up import key_of_text

    return key_of_text(session.repo.table(table, ref).schema, given, table)


def _document(entry: RowHistoryEntry | TableHistoryEntry) -> dict[str, Any]:
    return {**vars(entry), "commit": commit_document(entry.commit)}


def _table_lines(found: Sequence[TableHistoryEntry]) -> list[str]:
    rows = [
        (
            short(e.commit.hash),
            local(e.commit.finished_at),
            clean(e.commit.author),
            ", ".join(e.operations),
            counts_text(vars(e)),
            subject(e.commit.message),
        )
        for e in found
    ]
    return columns(rows) if rows else ["no commit touched it"]


def _row_lines(found: Sequence[RowHistoryEntry]) -> Iterator[str]:
    """A line for each commit, and below what it did to the row."""
    from anabranch.cli.output.tables import cell

    for entry in found:
        commit = entry.commit
        yield f"{short(commit.hash)}  {local(commit.finished_at)}  {clean(commit.author)}  {subject(commit.message)}"
        before, after = entry.before or {}, entry.after or {}
        parts = [f"{clean(n)}: {cell(before.get(n))} → {cell(after.get(n))}" for n in entry.columns]
        parts = parts or [f"{clean(name)}: {cell(value)}" for name, value in (after or before).items()]
        yield "  " + paint(f"{entry.change}  {', '.join(parts)}", _COLOURS[entry.change])
    if not found:
        yield "no commit touched this row"
