"""`ana provenance`: what a commit was made from, or what was made from it, over all repositories of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from anabranch.cli.name_completion import refs
from anabranch.cli.options import make_command
from anabranch.cli.output.commits import origin_text
from anabranch.cli.output.text import short, subject
from anabranch.cli.session import Session
from anabranch.documents.records import PROVENANCE, record

if TYPE_CHECKING:
    from anabranch.repo.branches.provenance import ProvenanceEntry


@make_command("provenance", short_help="List what a commit was made from.")
@click.argument("ref", required=False, shell_complete=refs)
@click.option("--down", is_flag=True, help="The other way: the commits that were made from it.")
@click.option("--direct", is_flag=True, help="Only the nearest, one step away.")
@click.option("--graph", is_flag=True, help="Draw it as a flowchart in Mermaid.")
def command(session: Session, ref: str | None, down: bool, direct: bool, graph: bool) -> None:
    """List what the commit at REF (the current branch) was made from, nearest first, over all repositories.

    \b
    $ ana provenance
    $ ana provenance main~1 --down --direct
    $ ana provenance dev --graph

    A merge was made from what the commits that it brought in were made from.

    JSON: commit, entries (list of hash, repository, role, message, author, finished_at, source, depth, via), and with
    --graph graph.
    """
    from anabranch.repo.branches.provenance import as_mermaid

    with session.repo.one_state():
        start = session.repo.show(session.ref(ref)).hash
        follow = session.repo.derived if down else session.repo.provenance
        entries = follow(start, direct=direct)
    drawn = as_mermaid(entries, start, down=down) if graph else None
    document = {"commit": start, "entries": [record(entry, *PROVENANCE) for entry in entries]}
    session.tell(document | ({"graph": drawn} if graph else {}), drawn or _lines(start, entries, down))


def _lines(start: str, entries: Sequence[ProvenanceEntry], down: bool) -> Iterator[str]:
    """A line for each, indented by how far away it is."""
    if not entries:
        yield f"No commit names {short(start)} as its source." if down else f"{short(start)} names no sources."
    for entry in entries:
        message = f": {subject(entry.message)}" if entry.message else ""
        yield f"{'  ' * (entry.depth - 1)}{'to' if down else 'from'} {origin_text(entry)}{message}"
