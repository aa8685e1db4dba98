"""`ana resolve`: settle conflicts of an open merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import branches, columns, tables
from anabranch.cli.options import make_command, pairs, side_of
from anabranch.cli.output.conflicts import goes_on
from anabranch.cli.output.text import clean, number
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.repo.merge.open_conflicts import OpenConflicts


@make_command("resolve", short_help="Settle conflicts of an open merge.")
@click.argument("table", required=False, shell_complete=tables)
@click.option("--file", metavar="PATH", help="A versioned file instead of a table.")
@click.option(
    "--content", metavar="LOCAL", type=click.File("rb"), help="Let the file hold this one; - is standard input."
)
@click.option("--ours", is_flag=True, help="Keep what the branch has.")
@click.option("--theirs", is_flag=True, help="Take what the source has.")
@click.option("--base", is_flag=True, help="Go back to what both started from.")
@click.option("--set", "values", metavar="COLUMN=EXPR", multiple=True, help="Set by SQL over base, ours and theirs.")
@click.option("--where", metavar="EXPR", help="Only rows for which this SQL expression holds.")
@click.option("--key", metavar="[COLUMN=]VALUE", multiple=True, help="Only the row with this key.")
@click.option(
    "--column", "columns", metavar="NAME", multiple=True, shell_complete=columns, help="Only cells of this column."
)
@click.option(
    "--into", metavar="BRANCH", shell_complete=branches, help="The branch that is merged into (the current one)."
)
def command(session: Session, table: str | None, values: tuple[str, ...], into: str | None, **chosen: Any) -> None:
    """Settle conflicts of TABLE: all, or those of some rows and columns; or of a --file. Nothing is published yet.

    \b
    $ ana resolve orders --theirs --column price
    $ ana resolve orders --key 9 --set 'price=greatest(ours, theirs)'
    $ ana resolve orders --ours
    $ ana resolve --file raw/a.csv --theirs

    JSON: table (or the file), resolved, left (how many conflicts).
    """
    take: Any = side_of(**{side: chosen[side] for side in ("ours", "theirs", "base")})
    file, content = chosen["file"], chosen["content"]
    if (table is None) == (file is None):
        raise BadUsage("name a table, or a file by --file", hint="see `ana resolve --help`")
    how = [("--content FILE", content)] if file else [("--set COLUMN=EXPR", values)]
    if bool(take) == bool(how[0][1]):
        raise BadUsage(
            f"say how: by a side, or by {how[0][0].split()[0]}", hint=f"--ours, --theirs, --base, {how[0][0]}"
        )
    kept = session.open_work(session.branch_or_current(into))
    with session.progress("settling conflicts"):
        if table is None:
            count = kept.resolve(file=file, take=take, content=content.read() if content else None)
        else:
            count = _resolve_table(kept, table, take, values, chosen)
        left = kept.conflicts.count()
    rest = f"{number(left)} left" if left else f"none left; {goes_on(kept.verb)}"
    session.tell(
        {"table": table or file, "resolved": count, "left": left},
        f"{clean(table or file)}: {number(count)} resolved, {rest}",
    )


def _resolve_table(
    kept: OpenConflicts, table: str, take: Any, values: tuple[str, ...], chosen: Mapping[str, Any]
) -> int:
    settings: dict[str, Any] = {"set": pairs(values, "--set", "COLUMN=EXPR")} if values else {"take": take}
    key, columns = _key(kept, table, chosen["key"]), chosen["columns"] or None
    return kept.resolve(table, where=chosen["where"], key=key, columns=columns, **settings)


def _key(kept: OpenConflicts, table: str, given: tuple[str, ...]) -> dict[str, Any] | None:
    if not given:
        return None
    from anabranch.repo.read.look_up import key_of_text

    found = kept.conflicts.decided(table)
    return key_of_text(found[0].decision.schema if found else kept.table(table).schema, given, table)
