"""`ana branch`: list, make, rename and delete branches."""

from __future__ import annotations

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import branches
from anabranch.cli.options import make_command
from anabranch.cli.output.text import columns, emit, emit_json, paint, short, subject
from anabranch.cli.session import Session
from anabranch.documents.records import branch_document
from anabranch.errors import InvalidRequest


@make_command("branch", short_help="List, make, rename or delete branches.")
@click.argument("names", metavar="[NAME [AT]]", nargs=-1, shell_complete=branches)
@click.option("-d", "--delete", is_flag=True, help="Delete the named branches.")
@click.option("-D", "--force-delete", "force", is_flag=True, help="Delete them even if their work is lost.")
@click.option("-m", "--move", is_flag=True, help="Rename: -m [OLD] NEW.")
@click.option("-v", "--verbose", is_flag=True, help="Show what the newest commit of each says.")
@click.option("--show-current", is_flag=True, help="Print the name of the current branch.")
def command(
    session: Session, names: tuple[str, ...], delete: bool, force: bool, move: bool, verbose: bool, show_current: bool
) -> None:
    """List branches, or make the branch NAME at AT (the current branch).

    \b
    $ ana branch -v
    $ ana branch qa HEAD~1
    $ ana branch -m dev qa

    JSON: branches (list of name, commit, created_at, current; with -v message); branch; deleted (names);
    renamed (from, to); or current.
    """
    if delete or force:
        _delete(session, names, force)
    elif move:
        _rename(session, names)
    elif names:
        if len(names) > 2:
            raise BadUsage(f"NAME and AT were expected, {len(names)} names were given", hint="see `ana branch --help`")
        make_branch(session, *names)
    elif show_current:
        session.tell({"current": session.branch}, session.branch)
    else:
        _list(session, verbose)


def make_branch(session: Session, name: str, at: str | None = None) -> None:
    """Make a branch and say so."""
    made = session.repo.branch(name, session.ref(at))
    session.tell({"branch": branch_document(made, session.branch)}, f"Made branch {made.name} at {short(made.commit)}")


def _list(session: Session, verbose: bool) -> None:
    found = session.repo.branches()
    said = {b.commit: session.repo.show(b.commit).message for b in found} if verbose else {}
    described = [{"message": said[b.commit]} if verbose else {} for b in found]
    documents = [branch_document(b, session.branch) | more for b, more in zip(found, described, strict=True)]
    if session.told({"branches": documents}):
        return
    cells = [(b.name, short(b.commit), *([subject(said[b.commit])] if verbose else [])) for b in found]
    for branch, line in zip(found, columns(cells), strict=True):
        emit(paint(f"* {line}", "green") if branch.name == session.branch else f"  {line}")


def _delete(session: Session, names: tuple[str, ...], force: bool) -> None:
    if not names:
        raise BadUsage("no branch is named", hint="ana branch -d NAME")
    for name in names:
        _delete_one(session, name, force)
    if session.json:
        emit_json({"deleted": names})


def _delete_one(session: Session, name: str, force: bool) -> None:
    if name == session.branch:
        raise InvalidRequest(f"{name!r} is the current branch", hint="go to another first, with `ana switch`")
    if session.working_set(name) and not force:
        raise InvalidRequest(f"there are staged changes on {name!r}", hint="commit them, or delete it with -D")
    session.repo.delete_branch(name, force=force)
    if not session.json:
        emit(f"Deleted branch {name}")


def _rename(session: Session, names: tuple[str, ...]) -> None:
    if len(names) not in (1, 2):
        message = f"-m takes [OLD] NEW, {len(names)} names were given"
        raise BadUsage(message, hint="see `ana branch --help`")
    old, new = (session.branch, *names)[-2:]
    session.repo.rename_branch(old, new)
    if old == session.branch and session.place.folder:
        session.switch_to(new)
    session.tell({"renamed": {"from": old, "to": new}}, f"Renamed branch {old} to {new}")
