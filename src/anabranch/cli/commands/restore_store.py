"""`ana restore-store`: make a store from a backup."""

from __future__ import annotations

from dataclasses import asdict

import click

import anabranch
from anabranch.cli.options import make_command
from anabranch.cli.output.text import plural, size
from anabranch.cli.session import Session


@make_command("restore-store", short_help="Make a store from a backup.")
@click.argument("folder", metavar="FOLDER|URL")
@click.argument("store", metavar="PATH|URL")
@click.option("--objects", metavar="DIR|URL", help="Where the objects go; a store on a server needs it.")
def command(session: Session, folder: str, store: str, objects: str | None) -> None:
    """Make a store from a backup, in a folder or in PostgreSQL, where there is none yet.

    Every file is compared with its hash. The new store has the same repositories, commits and hashes.

    \b
    $ ana restore-store ../backup ../restored
    $ ana restore-store ../backup postgresql://db.example/data --objects /data/objects

    JSON: store, folder, file_count, size_bytes, copied_count, copied_bytes.
    """
    with session.progress_of_store("copying"):
        done = anabranch.restore_store(folder, store, objects=objects)
    session.tell(
        asdict(done), f"{done.store}: {plural(done.file_count, 'file')} ({size(done.size_bytes)}) from {done.folder}"
    )
