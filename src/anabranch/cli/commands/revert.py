"""`ana revert`: undo a commit by a new one."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import command as make_command
from anabranch.cli.options import paragraphs, rules
from anabranch.cli.sequences import begin, go_on, way_of, ways_on
from anabranch.cli.session import Session


@make_command("revert", short_help="Undo commits with new ones.")
@click.argument("commits", metavar="[COMMIT]...", nargs=-1, shell_complete=refs)
@click.option("--on", metavar="BRANCH", shell_complete=branches, help="The branch that moves (the current one).")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="What the new commit says.")
@click.option("--parent", type=click.IntRange(min=1), metavar="N", help="Of a merge: the parent to go back to.")
@click.option("--three-way", is_flag=True, help="Undo it by a merge, even if later commits changed the same rows.")
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@ways_on
def command(session: Session, commits: tuple[str, ...], on: str | None, rule: dict[str, str], **chosen: Any) -> None:
    """Undo each COMMIT with a new commit. Refused if later commits build on it; see --three-way.

    A range such as HEAD~3..HEAD stands for its commits, newest first. With --three-way it stops at conflicts (exit code
    1): settle them with `ana resolve`, then --continue, or --skip the commit. The branch moves when all are undone.

    \b
    $ ana revert HEAD
    $ ana revert HEAD~3..HEAD
    $ ana revert HEAD~2 --three-way

    JSON: branch, commits (as in log; none if there was nothing to undo); or open, made, left, conflicts; or aborted.
    """
    branch, way = on or session.branch, way_of("revert", commits, chosen)
    if way:
        go_on(session, "revert", branch, way)
        return
    named = [session.ref(commit) for commit in commits]
    nothing = f"nothing of {', '.join(named)} is left to undo on {branch}"
    begin(session, branch, lambda: session.repo.start_revert(named, branch, rules=rule, **chosen), nothing)
