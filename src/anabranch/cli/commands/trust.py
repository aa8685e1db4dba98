"""`ana trust`: the servers that a folder may name."""

from __future__ import annotations

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.options import make_command
from anabranch.cli.output.text import clean
from anabranch.cli.session import Session
from anabranch.errors import NotFound
from anabranch.repo.context import trusted


@make_command("trust", short_help="List the servers that a folder may name.")
@click.argument("servers", metavar="[HOST…]", nargs=-1)
@click.option("--remove", is_flag=True, help="Take HOST off the list.")
def command(session: Session, servers: tuple[str, ...], remove: bool) -> None:
    """List the servers that a folder may name, or put HOST on that list. HOST is a host, HOST:PORT, or an address.

    A folder may come from a stranger, and name a server to which your passwords (PGPASSWORD, ~/.pgpass) and keys of S3
    would be sent. So a server that only a folder names is contacted if this list of yours has it. `ana init` puts there
    what you type, and an address that you type is always trusted.

    \b
    $ ana trust
    $ ana trust db.example
    $ ana trust minio.example:9000
    $ ana trust --remove db.example

    JSON: servers (list), added (list), removed (list).
    """
    if remove and not servers:
        raise BadUsage("--remove needs a HOST", hint="`ana trust` lists them")
    names = [name for text in servers for name in trusted.read_servers(text)]
    added = [] if remove else trusted.trust(names)
    removed = [_removed(name) for name in names] if remove else []
    listed = trusted.trusted_servers()
    said = [f"Trusted: {clean(name)}" for name in added] + [f"Not trusted any more: {clean(name)}" for name in removed]
    if not servers:
        said = [clean(name) for name in listed] or ["No server is listed; `ana trust HOST` lists one."]
    session.tell({"servers": listed, "added": added, "removed": removed}, said)


def _removed(name: str) -> str:
    if not trusted.distrust(name):
        raise NotFound(f"{name} is not listed", hint="`ana trust` lists the servers")
    return name
