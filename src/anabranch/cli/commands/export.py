"""`ana export`: the rows of a table into a file, or to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from anabranch.cli.commands.table import opener
from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import columns, files, refs, tables
from anabranch.cli.options import FORMATS, make_command, names
from anabranch.cli.output.text import OutputClosed, clean, plural
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.formats.export_text import CsvStyle
    from anabranch.repo.read.table import Table


@make_command("export", short_help="Export a table to a file.")
@click.argument("table", shell_complete=tables)
@click.argument("file", metavar="FILE|-", shell_complete=files)
@click.option(
    "--at", metavar="REF", shell_complete=refs, help="Where to read; else the current branch, with what is staged."
)
@click.option("--where", metavar="EXPR", help="Only rows for which this SQL expression holds.")
@click.option("--columns", metavar="A,B", callback=names, shell_complete=columns, help="Only these columns.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most so many rows, by key.")
@click.option("--format", type=click.Choice(FORMATS), help="Else by the file's name; csv for -.")
@click.option("-f", "--force", is_flag=True, help="Replace a file that is there.")
@click.option("--array", is_flag=True, help="JSON: one array, not an object per line.")
@click.option("--delimiter", metavar="CHAR", help="CSV: between fields; `tab` too (,).")
@click.option("--header/--no-header", default=True, help="CSV: whether to name the columns first (yes).")
@click.option("--quote", metavar="CHAR", default='"', help='CSV: around fields that need it (").')
@click.option("--quote-all", is_flag=True, help="CSV: quotes around every value that is not null.")
@click.option("--null", metavar="TEXT", default="", help="CSV: what stands for null (nothing).")
def command(session: Session, table: str, file: str, at: str | None, **chosen: Any) -> None:
    """Export rows of a table, sorted by its key, as CSV, JSON or Parquet; - is standard output.

    CSV and JSON are compressed if the name says so (.gz, .bz2, .zst, .xz). The file appears when it is complete. What
    is exported can be imported again with the same values: in CSV an empty text has quotes and null has none; times
    are ISO 8601, those with a zone in UTC; bytes are hexadecimal digits; decimals in JSON are text.

    \b
    $ ana export orders orders.json --where 'price > 1'
    $ ana export orders - --at HEAD~1

    JSON: table, ref, file, format, row_count.
    """
    if file == "-" and session.json:
        raise BadUsage("--json and - both want standard output", hint="--format json gives rows as JSON")
    with session.repo.one_state():
        opened = opener(session, table, at)(**{name: chosen.pop(name) for name in ("columns", "where", "limit")})
    settings = {name: chosen.pop(name) for name in ("format", "array", "force")}
    settings["style"] = _style(file, **chosen)
    if file == "-":
        with _standard_output() as stream:
            _write(session, table, opened, stream, settings)
        return
    count = _write(session, table, opened, file, settings)
    facts = {"table": table, "ref": session.ref(at), "file": file, "format": settings["format"] or _format(file)}
    session.tell({**facts, "row_count": count}, f"{table}: {plural(count, 'row')} exported to {clean(file)}")


def _write(session: Session, name: str, table: Table, target: str | BinaryIO, settings: dict[str, Any]) -> int:
    with session.progress(f"exporting {name}"):
        return table.export(target, **settings)


def _style(file: str, **style: Any) -> CsvStyle:
    """How CSV is written, checked as `ana import` checks it."""
    from anabranch.formats.export import csv_style

    style["delimiter"] = style["delimiter"] or ("tab" if ".tsv" in file.lower() else ",")
    return csv_style(**style)


def _format(file: str) -> str:
    from anabranch.formats.rules.found_files import file_format

    return file_format(file)


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    """Standard output for bytes; whoever reads it may have had enough."""
    sys.stdout.flush()
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        raise OutputClosed from error
