"""`ana blame`: who changed a row, or a cell, last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.commands.history import key_of
from anabranch.cli.name_completion import columns, refs, tables
from anabranch.cli.options import make_command
from anabranch.cli.output.tables import Heading, fits_whole, key_line, print_table
from anabranch.cli.output.text import emit, emit_json, local, plural, short, subject
from anabranch.cli.session import Session
from anabranch.documents.records import commit_document

if TYPE_CHECKING:
    from anabranch import Commit
    from anabranch.model.schema import Column, Schema
    from anabranch.repo.compare.blame import BlameEntry


@make_command("blame", short_help="Show who changed each row, or cell, last.")
@click.argument("table", shell_complete=tables)
@click.option("--cells", is_flag=True, help="For each cell, not each row.")
@click.option("--column", metavar="NAME", shell_complete=columns, help="Who changed this cell of each row last.")
@click.option("--at", metavar="REF", shell_complete=refs, help="Where to look (the current branch).")
@click.option("--key", metavar="[COLUMN=]VALUE", multiple=True, help="Only the row with this key.")
@click.option("--where", metavar="EXPR", help="Only rows for which this SQL expression holds.")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=100, metavar="N", help="At most so many rows (100).")
def command(
    session: Session, table: str, cells: bool, at: str | None, key: tuple[str, ...], limit: int, **chosen: Any
) -> None:
    """Show the commit that last changed each row of TABLE, or with --cells each cell.

    \b
    $ ana blame orders
    $ ana blame orders --key 1 --cells
    $ ana blame orders --column price

    JSON: table, ref, rows (list of key, row, commit, and with --cells cells: commits by column), commits (as in log,
    by hash), more.
    """
    ref = session.ref(at)
    with session.progress(f"reading the past of {table}"):
        with session.repo.one_state():
            columns = _by_weight(session.repo.table(table, ref).schema, chosen["column"])
            found_key = key_of(session, table, ref, key)
            blame = session.repo.blame(table, ref, cells=cells, key=found_key, limit=limit + 1, **chosen)
        found = blame.rows()
    shown, more = found[:limit], len(found) > limit
    if session.json:
        commits = {c.hash: c for entry in shown for c in (entry.commit, *entry.cells.values())}
        described = {hash_: commit_document(commit) for hash_, commit in commits.items()}
        facts = {"table": table, "ref": ref, "rows": [_document(entry, cells) for entry in shown]}
        emit_json({**facts, "commits": described, "more": more})
        return
    if cells:
        _report_cells(shown)
    else:
        _report_rows(shown, columns)
    emit(f"{plural(len(shown), 'row')}, and there are more (--limit)" if more else plural(len(shown), "row"))


def _by_weight(schema: Schema, chosen: str | None) -> list[Column]:
    """The columns, on a narrow screen the ones that matter first: that which was asked for, and the key."""
    if chosen is None:
        return list(schema)
    return sorted(schema, key=lambda c: (c.name != schema.column(chosen).name, c.id not in (schema.key or ())))


def _document(entry: BlameEntry, cells: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"key": entry.key, "row": entry.row, "commit": entry.commit.hash}
    return {**described, "cells": {name: c.hash for name, c in entry.cells.items()}} if cells else described


def _report_rows(shown: Sequence[BlameEntry], columns: Sequence[Column]) -> None:
    headings = [Heading(name) for name in ("commit", "author", "date", "message")]
    headings += [Heading(column.name, right=column.type.is_number) for column in columns]
    timed, dated = (
        [[*_who(entry.commit, day), *(entry.row[c.name] for c in columns)] for entry in shown] for day in (False, True)
    )
    print_table(headings, timed if fits_whole(headings, timed) else dated)


def _report_cells(shown: Sequence[BlameEntry]) -> None:
    keys = list(shown[0].key) if shown else []
    headings = [*keys, "column", "value", "commit", "author", "date", "message"]
    rows = [
        [*entry.key.values(), name, entry.row[name], *_who(commit)]
        for entry in shown
        for name, commit in entry.cells.items()
        if name not in keys
    ]
    if fits_whole([Heading(h) for h in headings], rows):
        print_table([Heading(h) for h in headings], rows)
        return
    for entry in shown:  # the key in a line of its own leaves room for what matters
        if entry.key:
            emit(key_line(entry.key))
        cells = [(n, entry.row[n], *_who(c, day=True)) for n, c in entry.cells.items() if n not in keys]
        print_table([Heading(h) for h in headings[len(keys) :]], cells)


def _who(commit: Commit, day: bool = False) -> tuple[str, str, str, str]:
    when = local(commit.finished_at)
    return short(commit.hash), commit.author, when[:10] if day else when, subject(commit.message)
