"""`ana rebase`: make the commits of a branch again on top of another; all, or as a list of steps says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command, rules
from anabranch.cli.output.conflicts import STRICTNESSES
from anabranch.cli.output.text import emit, plural, subject
from anabranch.cli.sequences import begin, go_on, way_of, ways_on
from anabranch.cli.session import Session
from anabranch.cli.staging import NOTHING, report_commits
from anabranch.errors import AnabranchError, InvalidRequest, MergeConflict, Unavailable
from anabranch.plan.merge.steps import WORDS

if TYPE_CHECKING:
    from anabranch import Commit


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
    moved = session.branch_or_current(on if branch is None else branch)
    way = way_of("rebase", [] if onto is None else [onto], chosen)
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

    commits = [commit for _, commit in session.repo.rebase_steps(moved, session.ref(onto))]
    return edited_steps(commits, moved, onto, session.repo.show)


_HELP = """
# {count} of {branch} onto {onto}, oldest first.
# Lines are done from top to bottom; change their words and their order:
# pick    make the commit again
# reword  the same with another message: write it after the hash, or be asked
# squash  put it together with the commit above, and both messages
# fixup   put it together with the commit above, under that one's message
# drop    leave it out, as if the line were deleted
# If no line is left, nothing is done.
"""


def edited(text: str, what: str) -> str:
    """Let the user edit a text; lines that begin with # are dropped."""
    if not any(os.environ.get(name) for name in ("VISUAL", "EDITOR")) and not sys.stdin.isatty():
        raise BadUsage(f"{what} is asked for by an editor, and there is none", hint="set EDITOR, such as EDITOR=vi")
    try:
        found = click.edit(text, require_save=False, extension=".txt")
    except click.ClickException as error:
        raise Unavailable(f"the editor failed: {error.message}", hint="see what EDITOR says") from error
    return "\n".join(line for line in (found or "").splitlines() if not line.startswith("#")).strip()


def edited_message(message: str) -> str:
    """Let the user edit a commit's message."""
    found = edited(f"{message}\n\n# What the commit does and why; lines that begin with # are left out.\n", "a message")
    if not found:
        raise InvalidRequest("a commit needs a message", hint="say what it does and why")
    return found


def edited_steps(
    commits: Sequence[Commit], branch: str, onto: str, find: Callable[[str], object]
) -> list[tuple[str, ...]]:
    """Let the user choose what a rebase does with each commit; `find` raises if a ref names none.

    The whole list is checked before any message is asked for; a list that is refused is kept in a file.
    """
    lines = [f"pick {commit.hash[:10]} {subject(commit.message)}\n" for commit in commits]
    described = _HELP.format(count=plural(len(commits), "commit"), branch=branch, onto=onto)
    found = edited("".join(lines) + described, "the list of steps")
    try:
        steps = [
            _ListedStep(number, *line.split(None, 2))
            for number, line in enumerate(found.splitlines(), 1)
            if line.strip()
        ]
        _check(steps, find)
        return [_asked(step, commits) for step in steps]
    except AnabranchError as error:
        error.hint = f"{error.hint}; {_keep(found, onto)}"
        raise


@dataclass(frozen=True)
class _ListedStep:
    """A line of the list: a word, a commit, and what stands behind it."""

    number: int
    said: str
    commit: str = ""
    rest: str = ""

    @property
    def word(self) -> str:
        return WORDS.get(self.said, self.said)


def _check(steps: Sequence[_ListedStep], find: Callable[[str], object]) -> None:
    """Refuse a list that can't be done, and name the line."""
    for step in steps:
        if step.word not in WORDS.values():
            raise InvalidRequest(f"line {step.number} says {step.said!r}", hint=f"say {', '.join(WORDS.values())}")
        if not step.commit:
            hint = "write a word and a hash, such as pick 3f2a91abcd"
            raise InvalidRequest(f"line {step.number} is {step.said!r}, which names no commit", hint=hint)
        try:
            find(step.commit)
        except AnabranchError as error:
            error.message = f"line {step.number}: {error.message}"
            error.hint = "write a hash as the list had it"
            raise
    first = next((step for step in steps if step.word != "drop"), None)
    if first and first.word in ("squash", "fixup"):
        message = f"line {first.number} says {first.word}, but no commit is above it to put it together with"
        raise InvalidRequest(message, hint="begin with pick or reword")


def _asked(step: _ListedStep, commits: Sequence[Commit]) -> tuple[str, ...]:
    """A step as a rebase takes it; a reword without a new message is asked for one."""
    if step.word != "reword":
        return (step.word, step.commit)
    known = next((c for c in commits if c.hash.startswith(step.commit)), None)
    said = step.rest.strip()
    if known is not None and said in ("", subject(known.message)):
        said = edited_message(known.message)
    return (step.word, step.commit, said)


def _keep(text: str, onto: str) -> str:
    """Keep a list that was refused; return how to go on with it."""
    handle, path = mkstemp(prefix="ana-rebase-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return f"your list is kept: mend {path}, then EDITOR='cp {path}' ana rebase -i {onto}"
