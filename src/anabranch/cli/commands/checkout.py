"""`ana checkout`: the older name of switch; of a folder, all files of a commit are written into it."""

from __future__ import annotations

import shlex

import click

from anabranch.cli.commands.switch import go
from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command
from anabranch.cli.output.text import clean, plural
from anabranch.cli.session import Session
from anabranch.errors import AlreadyExists, NotFound


@make_command("checkout", short_help="The older name of switch; or write files into a folder.")
@click.argument("name", metavar="BRANCH|FOLDER", shell_complete=branches)
@click.argument("at", required=False, shell_complete=refs)
@click.option("-b", "create", is_flag=True, help="Make the branch first, at AT (the current branch).")
@click.option("--force", is_flag=True, help="Into a folder: what was changed there and not added is lost.")
def command(session: Session, name: str, at: str | None, create: bool, force: bool) -> None:
    """Go to another branch: switch by its older name. With a FOLDER (`work/`, `./work`), write all files into it.

    \b
    $ ana checkout -b qa
    $ ana checkout work/ main             all files of main, to work on

    JSON: branch, commit, made; for a folder folder, ref, files (how many).
    """
    if name.endswith("/") or name.startswith((".", "/")):
        try:
            _write(session, name, session.ref(at), force)
        except AlreadyExists as error:
            error.hint = f"{error.hint}; `ana restore .` gives up what is staged" if name == "." else error.hint
            raise
    else:
        try:
            go(session, name, at, create)
        except NotFound as error:
            folder = f"{error.hint}; `ana checkout {clean(name)}/` writes the files into a folder of that name"
            error.hint = _restoring(session, name) or folder
            raise
        except BadUsage as error:
            error.hint = _restoring(session, at, name) or error.hint
            raise


def _restoring(session: Session, name: str | None, to: str = "REF") -> str | None:
    """The hint for a table's name, for which git restores a file; None if it is no table."""
    staged = session.working_set()
    known = {table.name for table in session.repo.tables(session.branch)} | set(staged.status() if staged else ())
    if name not in known:
        return None
    restore = f"`ana restore {shlex.quote(clean(name))}"
    discarding, returning = f"{restore}` gives up what is staged of it", f"{restore} --to {clean(to)}`"
    return f"it is a table: {discarding}, {returning} makes it what it was there"


def _write(session: Session, folder: str, ref: str, force: bool) -> None:
    """Write the files of a commit into a folder."""
    with session.progress(f"writing {folder}") as described:
        tree = session.repo.files(ref)
        count = session.repo.folder(folder).checkout(tree, ref, force=force, progress=described.so_far)
    session.tell(
        {"folder": folder, "ref": ref, "files": count},
        f"{plural(count, 'file')} of {ref} in {clean(folder)}; `ana status {clean(folder)}` shows what you change.",
    )
