"""`ana changes`: every change of every commit to a table."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.commands.history import key_of
from anabranch.cli.name_completion import columns, refs, tables
from anabranch.cli.options import make_command, names
from anabranch.cli.output.tables import Heading, Styled, print_table
from anabranch.cli.output.text import emit, plural
from anabranch.cli.session import Session

_STYLES = {"insert": "green", "delete": "red", "update_preimage": "dim", "update_postimage": "yellow"}

_FIRST = ("_change_type", "_commit_version")


@make_command("changes", short_help="List every change of every commit to a table.")
@click.argument("table", shell_complete=tables)
@click.option("--since", metavar="REF", shell_complete=refs, help="Only commits after this one.")
@click.option("--to", metavar="REF", shell_complete=refs, help="Only commits up to this one (the current branch).")
@click.option(
    "--columns", metavar="A,B", callback=names, shell_complete=columns, help="Only these columns, and changes of them."
)
@click.option("--where", metavar="EXPR", help="Only changes of rows for which this holds before or after.")
@click.option("--key", metavar="[COLUMN=]VALUE", multiple=True, help="Only the row with this key.")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=100, metavar="N", help="At most so many rows (100).")
def command(
    session: Session, table: str, since: str | None, to: str | None, key: tuple[str, ...], limit: int, **chosen: Any
) -> None:
    """List every change of every commit to TABLE, oldest first; an update is two rows, before and after.

    \b
    $ ana changes orders
    $ ana changes orders --since HEAD~1 --where 'price > 1'

    JSON: table, since, to, rows (list of the columns, _change_type, _commit_version, _commit_timestamp and more), more.
    """
    start, end = session.ref(since) if since else None, session.ref(to)
    with session.progress(f"reading the changes of {table}"):
        with session.repo.one_state():
            wanted = key_of(session, table, end, key)
            numbers = {c.name for c in session.repo.table(table, end).schema if c.type.is_number}
            feed = session.repo.changes(table, start, end, key=wanted, **chosen)
        rows = feed.rows()
    shown, more = rows[:limit], len(rows) > limit
    if session.told({"table": table, "since": start, "to": end, "rows": shown, "more": more}):
        return
    if shown:
        order = sorted(shown[0], key=lambda name: name not in _FIRST)  # What does not fit is cut at the end.
        headings = [Heading(name, right=name in numbers) for name in order]
        print_table(headings, [[Styled(row[n], _STYLES[row["_change_type"]]) for n in order] for row in shown])
    emit(f"{plural(len(shown), 'row')}, and there are more (--limit)" if more else plural(len(shown), "row"))
