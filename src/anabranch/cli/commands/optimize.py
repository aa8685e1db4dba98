"""`ana optimize`: put together what lies on tables, so that they are read as fast as fresh ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from anabranch.cli.name_completion import refs, tables
from anabranch.cli.options import make_command
from anabranch.cli.output.tables import Heading, drawn
from anabranch.cli.output.text import number, size
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch import Optimized


@make_command("optimize", short_help="Fold changes and rewrite files, to read faster.")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=tables)
@click.option(
    "--on", metavar="REF", shell_complete=refs, help="The branch or commit whose tables are meant (the current branch)."
)
def command(session: Session, tables: tuple[str, ...], on: str | None) -> None:
    """Fold the changes of TABLEs, or of all tables, and rewrite the files that are worth it. History stays as it is.

    \b
    $ ana optimize orders

    JSON: tables (list of table, view, kept, rewritten, written, rows, objects_before, objects_after,
    size_bytes_before, size_bytes_after; view is null where there was nothing to do).
    """
    at = session.ref(on)
    with session.progress("optimizing"):
        names = tables or tuple(t.name for t in session.repo.tables(at))
        done = [session.repo.optimize(name, on=at) for name in names]
    numbers = ("kept", "rewritten", "rows", "objects", "size")
    headings = [Heading("table"), Heading("view"), *(Heading(name, right=True) for name in numbers)]
    session.tell({"tables": [asdict(one) for one in done]}, drawn(headings, [_row(one) for one in done]))


def _row(one: Optimized) -> tuple[str, ...]:
    objects = _changed(number(one.objects_before), number(one.objects_after))
    sizes = _changed(size(one.size_bytes_before), size(one.size_bytes_after))
    counts = map(number, (one.kept, one.rewritten, one.rows))
    return (one.table, one.view or "nothing to do", *counts, objects, sizes)


def _changed(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"
