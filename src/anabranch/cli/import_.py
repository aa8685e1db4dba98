"""`ana import`: rows from files into a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.documents import commit_document, counts_document
from anabranch.cli.failures import BadUsage
from anabranch.cli.options import command as make_command
from anabranch.cli.options import names, paragraphs
from anabranch.cli.output import emit, emit_json, plural
from anabranch.cli.session import Session
from anabranch.cli.staging import Writing, commit_line, counts_text, writing
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound

if TYPE_CHECKING:
    from anabranch import Counts
    from anabranch.cli.progress import Progress
    from anabranch.repo.transaction import TableWriter, Transaction


@dataclass(frozen=True)
class Request:
    """What is to be imported, and how."""

    table: str
    files: tuple[str, ...]
    key: tuple[str, ...] | None
    format: str | None
    schema: str | None
    nulls: tuple[str, ...]
    mode: str


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    created: bool
    counts: Counts


@make_command("import", short_help="Import files into a table.")
@click.argument("table")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--key", metavar="A,B", callback=names, help="The columns that identify a row; makes the table.")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Commit at once, with all that is staged.")
@click.option("--author", metavar="NAME", help="The commit's author, with -m.")
@click.option("--format", type=click.Choice(["csv", "json", "parquet"]), help="Of the files; else by their names.")
@click.option("--append", is_flag=True, help="Add rows with new keys to a table that is there.")
@click.option("--upsert", is_flag=True, help="Add rows, or update those whose keys are there.")
@click.option("--schema", metavar="DDL", help="Types of a new table: 'id bigint, price decimal(12,2)'.")
@click.option(
    "--null", "nulls", metavar="TEXT", multiple=True, help="CSV: a text that stands for null; empty always does."
)
def command(
    session: Session,
    table: str,
    files: tuple[str, ...],
    key: tuple[str, ...] | None,
    message: str | None,
    author: str | None,
    format: str | None,
    append: bool,
    upsert: bool,
    schema: str | None,
    nulls: tuple[str, ...],
) -> None:
    """Import CSV, JSON (lines or an array) or Parquet files into a table.

    The rows are staged on the current branch; `ana commit` publishes them, -m does so at once. CSV and JSON may be
    compressed (.gz).

    JSON: branch, table, created, inserted, updated, deleted, commit (null if staged).
    """
    if append and upsert:
        raise BadUsage("--append and --upsert exclude each other", hint="--upsert also adds rows")
    mode = "append" if append else "upsert" if upsert else "create"
    request = Request(table, files, key, format, schema, nulls, mode)
    with (
        session.progress(f"reading {plural(len(files), 'file')}") as progress,
        writing(session, message, author) as made,
    ):
        outcome = load(made.transaction, request, progress)
    _tell(session, request, outcome, made, committed=message is not None)


def load(tx: Transaction, request: Request, progress: Progress) -> Outcome:
    """Read the files, and write their rows to the table; it is made if a key is given."""
    from anabranch.repo.files import declared_columns, read_files

    found = _find(tx, request)
    columns = tuple(found.schema) if found else declared_columns(request.schema) if request.schema else ()
    rows = read_files(request.files, request.format, columns, request.nulls)
    progress.phase(f"writing {plural(rows.num_rows, 'row')} to {request.table}")
    if found is None:
        return Outcome(True, _create(tx, request, rows))
    return Outcome(False, found.upsert(rows) if request.mode == "upsert" else found.insert(rows))


def _find(tx: Transaction, request: Request) -> TableWriter | None:
    """The table to write to, or None for a new one."""
    try:
        found = tx.table(request.table)
    except NotFound:
        if not request.key:
            hint = "name the columns that identify a row with --key, and it is made"
            raise NotFound(f"there is no table {request.table!r}", hint=hint, table=request.table) from None
        return None
    _check(found, request)
    return found


def _check(found: TableWriter, request: Request) -> None:
    if request.mode == "create":
        hint = "--append adds rows with new keys, --upsert also updates rows that are there"
        raise AlreadyExists(f"there is a table {request.table!r}", hint=hint, table=request.table)
    if request.key and tuple(request.key) != found.key:
        message = f"table {request.table!r} has the key {','.join(found.key)}, --key says {','.join(request.key)}"
        raise InvalidRequest(message, hint="leave --key out")
    if request.schema:
        raise InvalidRequest(f"table {request.table!r} has its columns already", hint="leave --schema out")


def _create(tx: Transaction, request: Request, rows: Any) -> Counts:
    *namespaces, _ = request.table.split(".")
    for depth in range(len(namespaces)):
        _need_namespace(tx, ".".join(namespaces[: depth + 1]))
    tx.create_table(request.table, rows, key=request.key, schema=request.schema)
    return tx.counts[request.table]


def _need_namespace(tx: Transaction, name: str) -> None:
    try:
        tx.create_namespace(name)
    except AlreadyExists:
        return


def _tell(session: Session, request: Request, outcome: Outcome, made: Writing, *, committed: bool) -> None:
    if session.json:
        commit = commit_document(made.commit) if made.commit else None
        counts = counts_document(outcome.counts)
        emit_json(
            {"branch": session.branch, "table": request.table, "created": outcome.created, **counts, "commit": commit}
        )
        return
    said = f"{request.table}: {'created, ' if outcome.created else ''}{counts_text(outcome.counts)}"
    if made.commit:
        emit(commit_line(session.branch, made.commit))
        emit(f"  {said}")
        others = sorted(set(made.commit.tables) - {request.table})
        if others:
            emit(f"  with what was staged before: {', '.join(others)}")
    elif committed:
        emit(f"{said}; nothing changed, so no commit was made")
    else:
        emit(f"{said}; staged on {session.branch}")
        emit("Publish it with `ana commit -m MESSAGE`.")
