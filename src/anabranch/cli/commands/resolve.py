"""`ana resolve`: settle conflicts of an open merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import branches, tables
from anabranch.cli.options import command as make_command
from anabranch.cli.options import pairs, side_of
from anabranch.cli.output.conflicts import goes_on
from anabranch.cli.output.text import clean, emit, emit_json, number
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.repo.merge.open_conflicts import OpenConflicts


@make_command("resolve", short_help="Settle conflicts of an open merge.")
@click.argument("table", shell_complete=tables)
@click.option("--ours", is_flag=True, help="Keep what the branch has.")
@click.option("--theirs", is_flag=True, help="Take what the source has.")
@click.option("--base", is_flag=True, help="Go back to what both started from.")
@click.option("--set", "values", metavar="COLUMN=EXPR", multiple=True, help="Set by SQL over base, ours and theirs.")
@click.option("--where", metavar="EXPR", help="Only rows for which this SQL expression holds.")
@click.option("--key", metavar="[COLUMN=]VALUE", multiple=True, help="Only the row with this key.")
@click.option("--column", "columns", metavar="NAME", multiple=True, help="Only cells of this column.")
@click.option(
    "--into", metavar="BRANCH", shell_complete=branches, help="The branch that is merged into (the current one)."
)
def command(session: Session, table: str, values: tuple[str, ...], into: str | None, **chosen: Any) -> None:
    """Settle conflicts of TABLE: all, or those of some rows and columns. Nothing is published yet.

    \b
    $ ana resolve orders --theirs --column price
    $ ana resolve orders --key 9 --set 'price=greatest(ours, theirs)'
    $ ana resolve orders --ours

    JSON: table, resolved, left (how many conflicts).
    """
    take = side_of(**{side: chosen[side] for side in ("ours", "theirs", "base")})
    if bool(take) == bool(values):
        raise BadUsage("say how: by a side, or by --set", hint="one of --ours, --theirs, --base, --set COLUMN=EXPR")
    kept = session.open_work(into or session.branch)
    settings: dict[str, Any] = {"set": pairs(values, "--set", "COLUMN=EXPR")} if values else {"take": take}
    with session.progress("settling conflicts"):
        key = _key(kept, table, chosen["key"])
        columns = chosen["columns"] or None
        count = kept.resolve(table, where=chosen["where"], key=key, columns=columns, **settings)
        left = kept.conflicts.count()
    if session.json:
        emit_json({"table": table, "resolved": count, "left": left})
        return
    rest = f"{number(left)} left" if left else f"none left; {goes_on(kept.verb)}"
    emit(f"{clean(table)}: {number(count)} resolved, {rest}")


def _key(kept: OpenConflicts, table: str, given: tuple[str, ...]) -> dict[str, Any] | None:
    if not given:
        return None
    from anabranch.repo.read.look_up import key_of_text

    found = kept.conflicts.decided(table) or [kept.conflicts[table]]
    return key_of_text(found[0].decision.schema, given, table)
