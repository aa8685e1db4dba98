"""Options about the text of files, for `ana import` and `ana export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

FORMATS = ("csv", "json", "parquet")


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how text files are written."""
    for option in reversed(_READING):
        function = option(function)
    return function


def text_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, under the repository's names."""
    return {name: value for name, value in given.items() if value is not None}


_READING = (
    click.option("--delimiter", metavar="CHAR", help="CSV: between fields; `tab` too (,)."),
    click.option("--header/--no-header", default=None, help="CSV: whether the first line names the columns (it does)."),
    click.option("--quote", metavar="CHAR", help='CSV: around fields; `none` for no quotes (").'),
    click.option("--escape", metavar="CHAR", help="CSV: before a quote in a field; else quotes are doubled."),
    click.option(
        "--null", "nulls", metavar="TEXT", multiple=True, help="CSV: a text that stands for null; empty always does."
    ),
    click.option("--encoding", metavar="NAME", help="utf-8, latin-1, cp1252 or utf-16 (utf-8)."),
    click.option("--skip", type=click.IntRange(min=0), metavar="N", help="CSV: lines before the header to leave out."),
    click.option("--decimal-comma", is_flag=True, default=None, help="CSV: numbers are written 1,5."),
    click.option("--date-format", metavar="FORMAT", help="How dates are written, such as %d/%m/%Y."),
    click.option("--timestamp-format", metavar="FORMAT", help="How times are written, such as '%d/%m/%Y %H:%M'."),
)
