"""`ana reset`: give up what is staged, and move the branch to another commit."""

from __future__ import annotations

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import refs
from anabranch.cli.options import make_command
from anabranch.cli.output.conflicts import open_text
from anabranch.cli.output.text import plural, short
from anabranch.cli.session import Session


@make_command("reset", short_help="Discard what is staged; move the branch.")
@click.argument("ref", required=False, shell_complete=refs)
@click.option("--hard", is_flag=True, help="Needed: what is staged is given up.")
def command(session: Session, ref: str | None, hard: bool) -> None:
    """Give up what is staged on the current branch; with REF, the branch moves there (see reflog for the way back).

    \b
    $ ana reset --hard
    $ ana reset --hard HEAD~1

    JSON: branch, commit, discarded (names of tables and namespaces).
    """
    if not hard:
        moves = f"moves the branch to {ref} and " if ref else ""
        raise BadUsage(f"reset {moves}gives up what is staged", hint="say so with --hard")
    at = session.ref(ref)
    target = session.repo.show(at).hash
    staged = session.working_set()
    discarded = sorted(staged.status()) if staged else []
    if staged:
        staged.abort()
    if ref is not None:
        session.repo.reset(session.branch, to=target)
    given_up = f"; {plural(len(discarded), 'staged change')} given up" if discarded else ""
    still = [
        f"{open_text(kept)} still; `ana {kept.verb} --abort` gives it up." for kept in session.all_open(session.branch)
    ]
    session.tell(
        {"branch": session.branch, "commit": target, "discarded": discarded},
        f"Branch {session.branch} is at {short(target)}{given_up}",
        still,
    )
