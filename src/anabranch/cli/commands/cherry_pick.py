"""`ana cherry-pick`: make the change of a commit again on another branch."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command, paragraphs, rules
from anabranch.cli.output.conflicts import STRICTNESSES
from anabranch.cli.sequences import begin, go_on, way_of, ways_on
from anabranch.cli.session import Session


@make_command("cherry-pick", short_help="Apply the changes of commits to this branch.")
@click.argument("commits", metavar="[COMMIT]...", nargs=-1, shell_complete=refs)
@click.option("--on", metavar="BRANCH", shell_complete=branches, help="The branch that moves (the current one).")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Replace the commit's own message.")
@click.option("--parent", type=click.IntRange(min=1), metavar="N", help="Of a merge: the parent to compare with.")
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@click.option("--strictness", type=click.Choice(STRICTNESSES), default="cell", help="What conflicts (cell).")
@ways_on
def command(session: Session, commits: tuple[str, ...], on: str | None, rule: dict[str, str], **chosen: Any) -> None:
    """Apply the change of each COMMIT to the current branch, as a new commit with its author and message.

    A range such as main..dev stands for its commits, oldest first. At conflicts it stops (exit code 1): settle them
    with `ana resolve`, then go on with --continue, or leave the commit out with --skip. The branch moves when all are
    made; until then --abort leaves everything as it was.

    \b
    $ ana cherry-pick dev
    $ ana cherry-pick dev~3 main..qa
    $ ana cherry-pick dev~1 --rule '*=theirs'
    $ ana cherry-pick --continue

    JSON: branch, commits (as in log; none if they change nothing here); or open, made, left, conflicts; or aborted.
    """
    branch, way = session.branch_or_current(on), way_of("cherry-pick", commits, chosen)
    if way:
        go_on(session, "cherry-pick", branch, way)
        return
    named = [session.ref(commit) for commit in commits]
    nothing = f"{', '.join(named)} {'changes' if len(named) == 1 else 'change'} nothing on {branch}"
    begin(session, branch, lambda: session.repo.start_cherry_pick(named, branch, rules=rule, **chosen), nothing)
