"""`ana revert`: undo a commit by a new one."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import command as make_command
from anabranch.cli.options import paragraphs, rules
from anabranch.cli.session import Session
from anabranch.cli.staging import tell_commits


@make_command("revert", short_help="Undo a commit by a new one.")
@click.argument("commit", shell_complete=refs)
@click.option("--on", metavar="BRANCH", shell_complete=branches, help="The branch that moves (the current one).")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="What the new commit says.")
@click.option("--parent", type=click.IntRange(min=1), metavar="N", help="Of a merge: the parent to go back to.")
@click.option("--three-way", is_flag=True, help="Merge it out where later commits changed the same rows.")
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
def command(session: Session, commit: str, on: str | None, rule: dict[str, str], **chosen: Any) -> None:
    """Undo what COMMIT did, as a new commit. Refused where later commits build on it, unless merged out.

    \b
    $ ana revert HEAD
    $ ana revert HEAD~2 --three-way

    JSON: branch, commits (as in log; none if there was nothing to undo).
    """
    branch, at = on or session.branch, session.ref(commit)
    with session.progress(f"reverting {at}"):
        made = session.repo.revert(at, branch, rules=rule, **chosen)
    tell_commits(session, branch, [made] if made else [], f"nothing of {at} is left to undo on {branch}")
