"""`ana table show`: rows or columns of a table, at any ref or with what is staged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.documents import columns_document
from anabranch.cli.options import Group, names
from anabranch.cli.output import emit, emit_json, number
from anabranch.cli.session import Session
from anabranch.cli.tables import Heading, print_table

if TYPE_CHECKING:
    from anabranch.model.schema import Column
    from anabranch.repo.reading import Table

Row = dict[str, Any]


@click.group("table", cls=Group)
def command() -> None:
    """Look into tables."""


@command.command("show")
@click.argument("name")
@click.option("--at", metavar="REF", help="Where to read; else the current branch, with what is staged.")
@click.option("--where", metavar="EXPR", help="Only rows for which this SQL expression holds.")
@click.option("--columns", metavar="A,B", callback=names, help="Only these columns.")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=20, metavar="N", help="At most so many rows (20).")
@click.option("--schema", is_flag=True, help="Show the columns and the key instead of rows.")
@click.make_pass_decorator(Session)
def show(
    session: Session,
    name: str,
    at: str | None,
    where: str | None,
    columns: tuple[str, ...] | None,
    limit: int,
    schema: bool,
) -> None:
    """Show rows of a table, sorted by its key.

    JSON: table, ref, staged, key, columns (list of name, type, nullable, default, key), row_count, and rows and more
    (whether there are more rows than the limit) unless --schema is given. Decimals are text, times ISO 8601, bytes
    hexadecimal digits.
    """
    with session.progress(f"opening {name}") as progress:
        whole, staged = open_table(session, name, at, {})
        facts = {"table": name, "ref": session.ref(at), "staged": staged, "key": whole.key}
        if not schema:
            progress.phase(f"reading {name}")
            wanted = _with_key(columns, whole)
            chosen, _ = open_table(session, name, at, {"columns": wanted, "where": where, "limit": limit + 1})
            rows = sorted(chosen.rows(), key=lambda row: tuple(row[k] for k in whole.key))
    shown = whole.schema.select(columns)
    if schema:
        _tell_schema(session, facts, shown, whole)
    else:
        _tell_rows(session, facts, shown, whole, rows, limit, filtered=where is not None)


def open_table(session: Session, name: str, at: str | None, selection: dict[str, Any]) -> tuple[Table, bool]:
    """Open a table at a ref; without one as the working set shows it. Tells whether that is so."""
    staged = session.working_set() if at is None else None
    if staged is not None:
        return staged.table(name, **selection), True
    found: Table = session.repo.table(name, session.ref(at), **selection)
    return found, False


def _with_key(columns: tuple[str, ...] | None, table: Table) -> tuple[str, ...] | None:
    """The columns to read: the key too, to sort by."""
    if columns is None:
        return None
    chosen = [column.name for column in table.schema.select(columns)]
    return tuple(dict.fromkeys((*chosen, *table.key)))


def _tell_schema(session: Session, facts: dict[str, Any], shown: Sequence[Column], table: Table) -> None:
    described = columns_document(shown, table.key)
    if session.json:
        emit_json({**facts, "columns": described, "row_count": table.count()})
        return
    headings = [Heading("column"), Heading("type"), Heading("null"), Heading("default"), Heading("key")]
    print_table(
        headings,
        [
            (c["name"], c["type"], "yes" if c["nullable"] else "no", c["default"] or "", "key" if c["key"] else "")
            for c in described
        ],
    )
    emit(f"{number(table.count())} rows")


def _tell_rows(
    session: Session,
    facts: dict[str, Any],
    shown: Sequence[Column],
    table: Table,
    rows: list[Row],
    limit: int,
    *,
    filtered: bool,
) -> None:
    more, total = len(rows) > limit, table.count()
    kept = [{column.name: row[column.name] for column in shown} for row in rows[:limit]]
    if session.json:
        described = columns_document(shown, table.key)
        emit_json({**facts, "columns": described, "row_count": total, "rows": kept, "more": more})
        return
    headings = [Heading(column.name, right=column.type.is_number) for column in shown]
    print_table(headings, [list(row.values()) for row in kept])
    emit(_footer(len(kept), total, more, filtered))


def _footer(shown: int, total: int, more: bool, filtered: bool) -> str:
    if filtered:
        return f"{number(shown)} rows; there are more (--limit)" if more else f"{number(shown)} of {number(total)} rows"
    return f"{number(shown)} of {number(total)} rows" if more else f"{number(shown)} rows"
