"""`ana revert`: undo a commit by a new one."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command, paragraphs, rules
from anabranch.cli.sequences import begin, go_on, way_of, ways_on
from anabranch.cli.session import Session


@make_command("revert", short_help="Undo commits with new ones.")
@click.argument("commits", metavar="[COMMIT]...", nargs=-1, shell_complete=refs)
@click.option("--on", metavar="BRANCH", shell_complete=branches, help="The branch that moves (the current one).")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="What the new commit says.")
@click.option("--no-edit", is_flag=True, expose_value=False, help="Accepted, as in git: no editor is opened.")
@click.option("--parent", type=click.IntRange(min=1), metavar="N", help="Of a merge: the parent to go back to.")
@click.option(
    "--three-way/--no-three-way",
    default=True,
    help="Undo it by a merge (the default), or refuse if later commits changed the same rows.",
)
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@ways_on
def command(session: Session, commits: tuple[str, ...], on: str | None, rule: dict[str, str], **chosen: Any) -> None:
    """Undo each COMMIT with a new commit.

    A range such as HEAD~3..HEAD stands for its commits, newest first. Where later commits changed the same cells it
    stops (exit code 1): settle the conflicts with `ana resolve`, then go on with --continue, or leave the commit as it
    is with --skip. The branch moves when all are undone; until then --abort leaves everything as it was.

    \b
    $ ana revert HEAD
    $ ana revert HEAD~3..HEAD

    JSON: branch, commits (as in log; none if there was nothing to undo); or open, made, left, conflicts; or aborted.
    """
    branch, way = session.branch_or_current(on), way_of("revert", commits, chosen)
    if way:
        go_on(session, "revert", branch, way)
        return
    named = [session.ref(commit) for commit in commits]
    nothing = f"nothing of {', '.join(named)} is left to undo on {branch}"
    begin(session, branch, lambda: session.repo.start_revert(named, branch, rules=rule, **chosen), nothing)
