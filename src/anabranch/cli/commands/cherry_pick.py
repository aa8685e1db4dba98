"""`ana cherry-pick`: make the change of a commit again on another branch."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import command as make_command
from anabranch.cli.options import paragraphs, rules
from anabranch.cli.output.conflicts import STRICTNESSES
from anabranch.cli.session import Session
from anabranch.cli.staging import tell_commits


@make_command("cherry-pick", short_help="Make the change of a commit again here.")
@click.argument("commit", shell_complete=refs)
@click.option("--on", metavar="BRANCH", shell_complete=branches, help="The branch that moves (the current one).")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Else what the commit says.")
@click.option("--parent", type=click.IntRange(min=1), metavar="N", help="Of a merge: the parent to compare with.")
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@click.option("--strictness", type=click.Choice(STRICTNESSES), default="cell", help="What conflicts (cell).")
def command(session: Session, commit: str, on: str | None, rule: dict[str, str], **chosen: Any) -> None:
    """Make the change of COMMIT again on the current branch, under its author and message.

    \b
    $ ana cherry-pick dev
    $ ana cherry-pick dev~1 --rule '*=theirs'

    JSON: branch, commits (as in log; none if it changes nothing here).
    """
    branch, at = on or session.branch, session.ref(commit)
    with session.progress(f"picking {at}"):
        made = session.repo.cherry_pick(at, branch, rules=rule, **chosen)
    tell_commits(session, branch, [made] if made else [], f"{at} changes nothing on {branch}")
