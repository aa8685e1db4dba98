"""Long texts go through a pager, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

import click

from anabranch.cli.output.looks import looks
from anabranch.cli.output.text import colourful, emit

pager_option = click.option("--pager/--no-pager", default=True, help="Whether to use a pager on a terminal (yes).")


def show_lines(lines: Iterable[str], *, paged: bool) -> None:
    """Print lines; on a terminal with a pager, unless it was declined."""
    if not paged or looks.pager == "never" or not sys.stdout.isatty():
        for line in lines:
            emit(line)
        return
    os.environ.setdefault("LESS", "FRX")  # as git does: a text that fits the screen is just printed
    if looks.pager:
        os.environ["PAGER"] = looks.pager
    click.echo_via_pager(_ended(lines), color=colourful(sys.stdout))


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"{line}\n"
