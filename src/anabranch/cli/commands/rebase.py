"""`ana rebase`: make the commits of a branch again on top of another; all, or as a list of steps says."""

from __future__ import annotations

from typing import Any

import click

from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command, rules
from anabranch.cli.output.conflicts import STRICTNESSES
from anabranch.cli.output.text import emit
from anabranch.cli.sequences import begin, go_on, way_of, ways_on
from anabranch.cli.session import Session
from anabranch.cli.staging import NOTHING, report_commits
from anabranch.errors import InvalidRequest, MergeConflict


@make_command("rebase", short_help="Replay a branch's commits on top of another.")
@click.argument("onto", required=False, shell_complete=refs)
@click.argument("branch", required=False, shell_complete=branches)
@click.option("-i", "--interactive", is_flag=True, help="Choose in an editor what to do with each commit.")
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@click.option("--strictness", type=click.Choice(STRICTNESSES), default="cell", help="What conflicts (cell).")
@click.option("--on", metavar="BRANCH", shell_complete=branches, help="With --continue: the branch (the current one).")
@ways_on
def command(session: Session, onto: str | None, branch: str | None, on: str | None, **chosen: Any) -> None:
    """Replay the commits that BRANCH (the current one) has and ONTO lacks on top of ONTO.

    At conflicts it stops (exit code 1): settle them with `ana resolve`, then go on with --continue, or leave the commit
    out with --skip. The branch moves when all are made; until then --abort leaves everything as it was.
    With -i an editor ($EDITOR) shows the commits: pick, reword, squash, fixup or drop each, in any order. A list that
    can't be done is kept in a file. What is to be squashed into a commit that becomes empty stays a commit of its own.

    \b
    $ ana rebase main
    $ ana rebase main dev
    $ ana rebase -i HEAD~3
    $ ana rebase --continue

    JSON: branch, commits (as in log, oldest first; none if there was nothing to do); or open, made, left, conflicts.
    """
    moved, way = branch or on or session.branch, way_of("rebase", [onto] if onto else [], chosen)
    if way or onto is None:
        go_on(session, "rebase", moved, way or "continue")
        return
    if session.working_set(moved):
        hint = "`ana commit` it, or give it up with `ana restore .`"
        raise InvalidRequest(f"there are staged changes on {moved!r}", hint=hint)
    _rebase(session, moved, onto, **chosen)


def _rebase(session: Session, moved: str, onto: str, interactive: bool, rule: dict[str, str], strictness: str) -> None:
    session.refuse_open(moved)
    top = session.ref(onto)
    how: dict[str, Any] = {"rules": rule, "strictness": strictness}
    steps = _steps(session, moved, onto) if interactive else None
    if steps == []:
        emit("No steps are left: nothing was done.")
        session.exit_code = NOTHING
        return
    before, target = session.repo.show(moved).hash, session.repo.show(top).hash
    said = f"{moved} moved on to {target[:10]}"
    if steps:
        begin(session, moved, lambda: session.repo.start_rebase(moved, top, steps=steps, **how), said)
        return
    try:
        with session.progress(f"rebasing {moved} onto {onto}"):
            made = session.repo.rebase(moved, top, **how)
    except MergeConflict:
        begin(session, moved, lambda: session.repo.start_rebase(moved, top, **how), said)
        return
    said = said if session.repo.show(moved).hash != before else f"{moved} is on top of {onto} already"
    report_commits(session, moved, made, said)
    session.exit_code = 0


def _steps(session: Session, moved: str, onto: str) -> list[tuple[str, ...]]:
    """What the user makes of the steps, in an editor."""
    from anabranch.cli.editor import edited_steps

    commits = [commit for _, commit in session.repo.rebase_steps(moved, session.ref(onto))]
    return edited_steps(commits, moved, onto, session.repo.show)
