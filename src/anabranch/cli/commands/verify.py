"""`ana verify`: check that every object is there and is what was written."""

from __future__ import annotations

from anabranch.cli.options import command as make_command
from anabranch.cli.output.text import emit, emit_json, plural
from anabranch.cli.session import Session


@make_command("verify", short_help="Check every object against its hash.")
def command(session: Session) -> None:
    """Check every object of the repository against its hash.

    \b
    $ ana verify

    JSON: objects (how many there are).
    """
    with session.progress("checking objects"):
        count = session.repo.verify()
    if session.json:
        emit_json({"objects": count})
    else:
        emit(f"{plural(count, 'object')}: all there, all as written")
