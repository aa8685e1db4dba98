"""Long texts go through a pager, only on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

import click

from anabranch.cli.output.text import colourful, emit, looks

pager_option = click.option("--pager/--no-pager", default=True, help="Whether to use a pager on a terminal (yes).")


def show_lines(lines: Iterable[str], *, paged: bool) -> None:
    """Print lines; on a terminal through a pager, unless declined."""
    if not paged or looks.pager == "never" or not sys.stdout.isatty():
        for line in lines:
            emit(line)
        return
    os.environ.setdefault("LESS", "FRX")  # As git does: text that fits the screen is just printed.
    if looks.pager:
        os.environ["PAGER"] = looks.pager
    click.echo_via_pager(_ended(lines), color=colourful(sys.stdout))


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"{line}\n"
