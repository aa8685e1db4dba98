"""`ana table`: show rows or columns of a table, at any ref or with what is staged; drop it; rename it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.name_completion import columns, refs, tables
from anabranch.cli.options import CommandGroup, names, paragraphs
from anabranch.cli.output.commits import commit_line
from anabranch.cli.output.tables import Heading, drawn, print_table
from anabranch.cli.output.text import clean, emit, emit_json, number, plural
from anabranch.cli.session import Session
from anabranch.cli.staging import Writing, writing
from anabranch.documents.records import columns_document, commit_document

if TYPE_CHECKING:
    from anabranch.model.schema import Column
    from anabranch.repo.read.table import Table


class TableGroup(CommandGroup):
    """The commands on a table; what is no command of theirs may be meant for another."""

    def _nearest(self, ctx: click.Context, word: str) -> str:
        if word in ("schema", "describe", "columns"):
            return "`ana table show TABLE --schema` shows the columns and the key"
        if word in ("list", "ls"):
            return "`ana ls` lists tables"
        if word in ("create", "make"):
            return "`ana import TABLE FILE --key KEY` makes one of a file, `ana sql 'CREATE TABLE …'` an empty one"
        if get_close_matches(word, self.commands, n=1):
            return super()._nearest(ctx, word)
        return f"did you mean `{ctx.command_path} show {word}`?"


@click.group("table", cls=TableGroup)
def command() -> None:
    """Show rows or columns of a table; drop or rename it."""


@command.command("drop")
@click.argument("name", shell_complete=tables)
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Commit at once, with all that is staged.")
def drop(session: Session, name: str, message: str | None) -> None:
    """Drop a table; earlier commits still show it. Staged, unless -m commits it.

    \b
    $ ana table drop orders -m 'no longer needed'

    JSON: branch, table, dropped, commit (null if staged).
    """
    with writing(session, message, None) as made:
        made.transaction.table(name).drop()
    _report_made(session, made, {"table": name, "dropped": True}, f"{clean(name)}: dropped")


@command.command("rename")
@click.argument("name", shell_complete=tables)
@click.argument("new")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Commit at once, with all that is staged.")
def rename(session: Session, name: str, new: str, message: str | None) -> None:
    """Give a table another name, or another namespace; its history stays with it. Staged, unless -m commits it.

    \b
    $ ana table rename orders sales

    JSON: branch, table, renamed (the new name), commit (null if staged).
    """
    with writing(session, message, None) as made:
        made.transaction.table(name).rename(new)
    _report_made(session, made, {"table": name, "renamed": new}, f"{clean(name)}: renamed to {clean(new)}")


def _report_made(session: Session, made: Writing, facts: dict[str, Any], said: str) -> None:
    if session.json:
        emit_json({"branch": session.branch, **facts, "commit": commit_document(made.commit) if made.commit else None})
    elif made.commit:
        emit(commit_line(session.branch, made.commit))
        emit(f"  {said}")
    else:
        emit(f"{said}; staged on {session.branch}")
        emit("Publish it with `ana commit -m MESSAGE`.")


@command.command("show")
@click.argument("name", shell_complete=tables)
@click.option(
    "--at", metavar="REF", shell_complete=refs, help="Where to read; else the current branch, with what is staged."
)
@click.option("--where", metavar="EXPR", help="Only rows for which this SQL expression holds.")
@click.option("--columns", metavar="A,B", callback=names, shell_complete=columns, help="Only these columns.")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=20, metavar="N", help="At most so many rows (20).")
@click.option("--schema", is_flag=True, help="Show the columns and the key instead of rows.")
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

    \b
    $ ana table show orders --where 'price > 1'
    $ ana table show orders --schema --at dev

    JSON: table, ref, key, columns (list of name, type, nullable, default, key, comment), row_count, and unless --schema
    is given rows and more (whether more rows are there than --limit). Decimals are text, times ISO 8601, bytes
    hexadecimal digits.
    """
    with session.repo.one_state():
        opened = opener(session, name, at)
        whole, chosen = opened(), opened(columns=columns, where=where)
    shown = whole.schema.select(columns)
    facts: dict[str, Any] = {
        "table": name,
        "ref": session.ref(at),
        "key": whole.key,
        "columns": columns_document(shown, whole.key),
    }
    if schema:
        _report_schema(session, facts, whole)
        return
    with session.progress(f"reading {name}"):
        rows = chosen.head(limit + 1)
    facts |= {"row_count": whole.count(), "rows": rows[:limit], "more": len(rows) > limit}
    _report_rows(session, facts, shown, filtered=where is not None)


def opener(session: Session, name: str, at: str | None) -> Callable[..., Table]:
    """How to open a table: at a ref; without one, as the working set shows it."""
    staged = session.working_set() if at is None else None
    return partial(staged.table, name) if staged else partial(session.repo.table, name, session.ref(at))


def _report_schema(session: Session, facts: dict[str, Any], table: Table) -> None:
    if session.told({**facts, "row_count": table.count()}):
        return
    known = ("column", "type", "null", "default", "key", "comment")
    names = known if any(c["comment"] for c in facts["columns"]) else known[:-1]
    rows = [
        (
            c["name"],
            c["type"],
            "yes" if c["nullable"] else "no",
            c["default"] or "",
            "key" if c["key"] else "",
            c["comment"] or "",
        )
        for c in facts["columns"]
    ]
    print_table([Heading(name) for name in names], [row[: len(names)] for row in rows])
    emit(plural(table.count(), "row"))


def _report_rows(session: Session, facts: dict[str, Any], shown: Sequence[Column], *, filtered: bool) -> None:
    headings = [Heading(column.name, right=column.type.is_number) for column in shown]
    footer = _footer(len(facts["rows"]), facts["row_count"], facts["more"], filtered)
    session.tell(facts, drawn(headings, [list(row.values()) for row in facts["rows"]]), footer)


def _footer(shown: int, total: int, more: bool, filtered: bool) -> str:
    if filtered and more:
        return f"{plural(shown, 'row')}, and there are more (--limit)"
    return f"{number(shown)} of {plural(total, 'row')}" if filtered or more else plural(shown, "row")
