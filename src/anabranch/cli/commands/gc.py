"""`ana gc`: remove what nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from anabranch.cli.options import make_command
from anabranch.cli.output.tables import Heading, drawn
from anabranch.cli.output.text import number, size
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch import Collected

_WHAT = {
    "commits": "commits that nothing reaches",
    "views": "views that no ref reads",
    "objects": "objects let go of before",
    "files": "files that nothing names",
    "copies": "copies of killed readers",
}


@make_command("gc", short_help="Remove what is no longer needed.")
@click.option("-n", "--dry-run", is_flag=True, help="Only tell what would be removed.")
@click.option(
    "--grace",
    metavar="TIME",
    default="7d",
    show_default=True,
    help="How long files and objects stay that nothing names: for those who still read or write them.",
)
@click.option(
    "--keep",
    metavar="COUNT|TIME",
    default="0",
    show_default=True,
    help="Views to keep that no ref reads: so many of each table and line, or those younger than this.",
)
@click.option(
    "--reflog",
    metavar="TIME",
    default="90d",
    show_default=True,
    help="How long commits stay that branches left or that deleted branches had.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Say that no other catalogue, such as a copy of this one, uses the place of the objects any more.",
)
def command(session: Session, dry_run: bool, grace: str, keep: str, reflog: str, take_over: bool) -> None:
    """Remove what no commit, branch, tag, open commit or open merge needs. What refs show stays as it is.

    Times are such as 7d, 12h or 0. With --grace 0 somebody who reads or writes at this moment may get an error; nothing
    that is published is ever lost. Where another catalogue laid its token beside the objects, nothing is removed, and
    the error names it; see `docs/upkeep.md`.

    \b
    $ ana gc --dry-run
    $ ana gc
    $ ana gc --grace 0 --keep 30d

    JSON: dry_run, size_bytes (freed), later_bytes (freed by a gc after the time of grace), garbage (list of kind,
    count, size_bytes, later_bytes), notes (what was left alone, and why).
    """
    with session.progress("collecting"):
        found = session.repo.gc(dry_run=dry_run, grace=grace, keep=keep, reflog=reflog, take_over=take_over)
    facts = {**asdict(found), "size_bytes": found.size_bytes, "later_bytes": found.later_bytes}
    session.tell(facts, _lines(found))


def _lines(found: Collected) -> Iterator[str]:
    headings = (Heading("what"), *(Heading(name, right=True) for name in ("count", "size", "later")))
    rows = [(_WHAT[g.kind], number(g.count), size(g.size_bytes), size(g.later_bytes)) for g in found.garbage]
    yield from drawn(headings, rows)
    verb = "would free" if found.dry_run else "freed"
    later = f"; {size(found.later_bytes)} more after the time of grace" if found.later_bytes else ""
    yield f"{verb} {size(found.size_bytes)}{later}"
    yield from found.notes
