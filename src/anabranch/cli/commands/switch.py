"""`ana switch`: go to another branch."""

from __future__ import annotations

import click

from anabranch.cli import remembered as state
from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command
from anabranch.cli.output.text import plural, short
from anabranch.cli.session import Session
from anabranch.errors import AnabranchError, NotFound
from anabranch.model.commits import Branch


@make_command("switch")
@click.argument("name", shell_complete=branches)
@click.argument("at", required=False, shell_complete=refs)
@click.option("-c", "--create", is_flag=True, help="Make the branch first, at AT (the current branch).")
def command(session: Session, name: str, at: str | None, create: bool) -> None:
    """Go to another branch. What is staged stays with its branch.

    \b
    $ ana switch dev
    $ ana switch -c qa
    $ ana switch -                the branch before

    JSON: branch, commit, made.
    """
    go(session, name, at, create)


def go(session: Session, name: str, at: str | None, create: bool) -> None:
    """Make another branch the current one."""
    if at and not create:
        raise BadUsage("AT is for new branches", hint=f"`ana switch -c {name} {at}` makes one")
    state.save(session.folder, session.place.state)  # refuse before anything is made
    left, staged = session.branch, session.working_set()
    name = _previous(session) if name == "-" and not create else name
    target = session.repo.branch(name, session.ref(at)) if create else _find(session, name)
    session.switch_to(name, left)
    said = [f"Switched to {'new ' if create else ''}branch {target.name} at {short(target.commit)}"]
    if staged and name != left:
        said.append(f"What is staged on {left} ({plural(len(staged.status()), 'table')}) stays there.")
    session.tell({"branch": target.name, "commit": target.commit, "made": create}, said)


def _find(session: Session, name: str) -> Branch:
    try:
        return session.repo.find_branch(name)
    except NotFound as error:
        error.hint = f"{error.hint} ({_way(session, name)})"
        raise


def _way(session: Session, name: str) -> str:
    """How to get to where a name points: to a commit by a new branch there."""
    try:
        session.repo.show(session.ref(name))
    except AnabranchError:
        return f"`ana switch -c {name}` makes it"
    return f"`ana switch -c NAME {name}` makes a branch there"


def _previous(session: Session) -> str:
    found = session.place.state.previous.get(session.repo.name)
    if found is None:
        raise NotFound("no other branch was the current one before", hint="name one: `ana switch dev`")
    return found
