"""`ana init`: make a repository, or connect a folder to one on a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

import anabranch
from anabranch.cli import remembered as state
from anabranch.cli.failures import BadUsage, say
from anabranch.cli.options import make_command
from anabranch.cli.preferences import load_user
from anabranch.cli.session import Session
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.addresses import is_server, read_address, shown_location
from anabranch.model.store_folder import CATALOG, FOLDER, is_there
from anabranch.repo.context.trusted import note_typed, servers_of


@make_command("init", short_help="Make a repository.")
@click.argument("store", metavar="[PATH|URL]", required=False)
@click.option("--objects", metavar="DIR|URL", help="Where the objects go; a store on a server needs it.")
@click.option("--branch", metavar="NAME", default="main", help="The first branch (main).")
def command(session: Session, store: str | None, objects: str | None, branch: str) -> None:
    """Make a repository in a folder (here, or what --store or ANABRANCH_STORE names), or in PostgreSQL.

    With postgresql://… this folder remembers the address, never a password; a repository that is there already is
    connected to.

    \b
    $ ana init
    $ ana init --objects s3://bucket/shop?region=eu-central-1
    $ ana init postgresql://db.example/data --objects /data/objects

    JSON: store, repository, branch, made.
    """
    chosen = session.choices.store
    if store and chosen and store != chosen and not session.choices.store_by_habit:
        raise BadUsage(
            f"init was told two places: {shown_location(store)} and --store {shown_location(chosen)}", hint="name one"
        )
    store = store or chosen or "."
    if is_server(store) or "://" in store:
        _init_server(session, store, objects, branch)
    else:
        _init_folder(session, Path(store).expanduser(), objects, branch)


def _init_folder(session: Session, folder: Path, objects: str | None, branch: str) -> None:
    remembered = state.load(folder)
    if remembered.store:
        hint = f"remove {folder / FOLDER / state.FILE}, or choose another folder"
        raise InvalidRequest(f"{folder} is connected to {remembered.store}", hint=hint)
    try:
        repo = anabranch.init(
            folder, repository=session.choices.repository, objects=objects, branch=branch, author=_author()
        )
    except AlreadyExists as error:
        error.hint = "it is ready to use (`ana status`); --repository makes another one in this store"
        raise
    with repo:
        _remember(folder, repo, remembered)
        _report(session, str(folder.resolve() / FOLDER), repo.name, branch, made=True)


def _init_server(session: Session, url: str, objects: str | None, branch: str) -> None:
    name, folder, safe = session.choices.repository, Path.cwd(), read_address(url).kept
    if is_there(folder, CATALOG):
        raise InvalidRequest(f"{folder} has a store of its own", hint="choose another folder")
    made = False
    try:
        repo = anabranch.open(url, repository=name or _only_one(url) or "main")
    except NotFound:
        repo, made = anabranch.init(url, repository=name, objects=objects, branch=branch, author=_author()), True
    with repo:
        _trust(url)
        _remember(folder, repo, state.State(store=safe))
        _report(session, safe, repo.name, repo.default_branch, made=made)
    if read_address(url).has_secrets:
        say("note: the password is not kept", "give it in PGPASSWORD or in ~/.pgpass")


def _trust(url: str) -> None:
    """List the server that was typed, so that this folder may name it from now on."""
    failed = note_typed(servers_of(read_address(url)))
    if failed is not None:
        reason = failed.strerror or str(failed)
        say(f"note: this server could not be listed as trusted: {reason}", "name it with --store, or see `ana trust`")


def _only_one(url: str) -> str | None:
    """The repository that is meant where none is named: the only one that the store has."""
    found = anabranch.repositories(url)
    return found[0] if len(found) == 1 else None


def _author() -> str | None:
    """Who makes the first commit, if the user chose that for all folders."""
    return load_user().get("author")


def _remember(folder: Path, repo: anabranch.Repository, before: state.State) -> None:
    after = replace(before, repository=repo.name)
    state.save(folder, after.on_branch(repo.name, repo.default_branch))


def _report(session: Session, store: str, repository: str, branch: str, *, made: bool) -> None:
    what = "Made repository" if made else "Connected to repository"
    session.tell(
        {"store": store, "repository": repository, "branch": branch, "made": made},
        f"{what} {repository} in {store}, on branch {branch}",
    )
