"""`ana verify`: check that the store is whole, and list what is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from anabranch.cli.failures import EXIT_CODES
from anabranch.cli.options import make_command
from anabranch.cli.output.text import plural, size
from anabranch.cli.session import Session
from anabranch.errors import Corrupt

if TYPE_CHECKING:
    from anabranch import Verification


_KNOWN_SHOWN = 10


@make_command("verify", short_help="Check the store for damage.")
@click.option("--deep", is_flag=True, help="Also read all rows, and compare each change with the states around it.")
@click.option("--repair", is_flag=True, help="First bring back files that are hidden, by a commit on each branch.")
def command(session: Session, deep: bool, repair: bool) -> None:
    """Check the whole store: that the catalogue contradicts itself nowhere, that every object is what was written,
    that every table of every branch can be read. All damages are listed; the exit code is 8 if there are any.

    \b
    $ ana verify
    $ ana verify --deep
    $ ana verify --repair

    What earlier versions wrote wrongly and does no harm any more is listed as known, and is no damage.

    JSON: damages (list of kind, where, what, affects with repository, branches, commit, table, object, and hint),
    objects (how many there are), size_bytes, rows (by table of the catalogue), tables, deep, known (like damages),
    repaired (the hashes of the commits that bring files back).
    """
    repaired = []
    if repair:
        with session.progress("looking for hidden files"):
            repaired = session.repo.repair()
    with session.progress("checking the store"):
        found = session.repo.verify(deep=deep)
    facts = {**asdict(found), "repaired": [commit.hash for commit in repaired]}
    session.tell(facts, [*(f"{c.hash[:12]} brings back hidden files" for c in repaired), *_lines(found)])
    session.exit_code = 0 if found.is_sound else EXIT_CODES[Corrupt]


def _lines(found: Verification) -> Iterator[str]:
    for fault in found.known[:_KNOWN_SHOWN]:
        yield f"known: {fault}"
        yield f"  {fault.hint}"
    if len(found.known) > _KNOWN_SHOWN:
        more = len(found.known) - _KNOWN_SHOWN
        yield f"known: {more} more, which `ana verify --json` lists"
    for damage in found.damages:
        yield f"damaged {damage.kind}: {damage}"
        described = "; ".join(f"{name} {value}" for name, value in damage.affects.parts.items())
        if described:
            yield f"  affects {described}"
        yield f"  hint: {damage.hint}"
    looked = f"{plural(found.objects, 'object')} ({size(found.size_bytes)}), {plural(found.tables, 'table')} of heads"
    if found.is_sound:
        yield f"{looked}, {plural(sum(found.rows.values()), 'row')} of the catalogue: all there, all as written"
    else:
        yield f"{plural(len(found.damages), 'damage')} in {looked}"
