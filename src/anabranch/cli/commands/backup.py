"""`ana backup`: copy the store into a folder or to an address, or what is new since the last time."""

from __future__ import annotations

from dataclasses import asdict

import click

import anabranch
from anabranch.cli.options import make_command
from anabranch.cli.output.text import plural, size
from anabranch.cli.session import Session


@make_command("backup", short_help="Copy the store into a folder, or to S3.")
@click.argument("folder", metavar="FOLDER|URL")
def command(session: Session, folder: str) -> None:
    """Copy the store with all its repositories into a folder or to an address, or what is new since.

    Others may go on writing: the copy is one state of the store. Every file is compared with its hash on the way. A
    backup that is broken off leaves the one before.

    \b
    $ ana backup ../backup
    $ ana backup s3://backups/shop?region=eu-central-1
    $ ana restore-store ../backup ../restored

    JSON: store, folder, file_count, size_bytes, copied_count, copied_bytes.
    """
    with session.progress_of_store("copying"):
        done = anabranch.backup(session.store, folder)
    new = f"{plural(done.copied_count, 'new file')} ({size(done.copied_bytes)})"
    session.tell(asdict(done), f"{done.folder}: {plural(done.file_count, 'file')} ({size(done.size_bytes)}), {new}")
