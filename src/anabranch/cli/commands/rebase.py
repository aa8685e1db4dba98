"""`ana rebase`: make the commits of a branch again on top of another."""

from __future__ import annotations

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import command as make_command
from anabranch.cli.options import rules
from anabranch.cli.output.conflicts import STRICTNESSES
from anabranch.cli.session import Session
from anabranch.cli.staging import tell_commits
from anabranch.errors import InvalidRequest


@make_command("rebase", short_help="Make a branch's commits again on top of another.")
@click.argument("onto", shell_complete=refs)
@click.argument("branch", required=False, shell_complete=branches)
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@click.option("--strictness", type=click.Choice(STRICTNESSES), default="cell", help="What conflicts (cell).")
def command(session: Session, onto: str, branch: str | None, rule: dict[str, str], strictness: str) -> None:
    """Make the commits that BRANCH (the current one) has and ONTO lacks again on top of ONTO; all or none.

    \b
    $ ana rebase main
    $ ana rebase main dev

    JSON: branch, commits (as in log, oldest first; none if there was nothing to do).
    """
    moved = branch or session.branch
    if session.working_set(moved):
        hint = "`ana commit` it, or give it up with `ana restore .`"
        raise InvalidRequest(f"there are staged changes on {moved!r}", hint=hint)
    top = session.repo.show(session.ref(onto)).hash
    before = session.repo.show(moved).hash
    with session.progress(f"rebasing {moved} onto {onto}"):
        made = session.repo.rebase(moved, session.ref(onto), rules=rule, strictness=strictness)
    after = session.repo.show(moved).hash
    said = f"{moved} is on top of {onto} already" if after == before else f"{moved} moved on to {top[:10]}"
    tell_commits(session, moved, made, said)
    session.exit_code = 0
