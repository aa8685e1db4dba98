"""`ana import`: rows from files into a table."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage, say
from anabranch.cli.name_completion import files as complete_files
from anabranch.cli.name_completion import tables
from anabranch.cli.options import FORMATS, make_command, names, paragraphs, reading_options, renames, text_options
from anabranch.cli.output.commits import commit_line, counts_text
from anabranch.cli.output.text import clean, emit, emit_json, plural
from anabranch.cli.session import Session
from anabranch.cli.staging import Writing, writing
from anabranch.documents.records import commit_document, counts_document
from anabranch.errors import AlreadyExists, AnabranchError, InvalidRequest, NotFound, Unavailable
from anabranch.formats.rules.guesses import delimiter_guess
from anabranch.formats.rules.text import TextOptions
from anabranch.model.names import check_part
from anabranch.model.schema import Schema, make_schema

if TYPE_CHECKING:
    from anabranch import Counts
    from anabranch.cli.progress import Progress
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.write.table_writer import TableWriter


@dataclass(frozen=True)
class Request:
    """What is to be imported, and how."""

    table: str
    files: tuple[str, ...]
    key: tuple[str, ...] | None
    format: str | None
    schema: str | None
    bad_rows: str | None
    mode: str
    where: str | None
    rename: dict[str, str]
    options: dict[str, Any]


@dataclass(frozen=True)
class ImportOutcome:
    """What came of it."""

    created: bool
    counts: Counts
    bad_count: int
    notes: tuple[str, ...] = ()


@make_command("import", short_help="Import files into a table.")
@click.argument("table", shell_complete=tables)
@click.argument("files", metavar="FILE...|-", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--key", metavar="A,B", callback=names, help="The columns that identify a row of a new table.")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Commit at once, with all that is staged.")
@click.option("--author", metavar="NAME", help="The commit's author, with -m.")
@click.option("--append", is_flag=True, help="Add rows to a table that is there; their keys are new.")
@click.option("--upsert", is_flag=True, help="Add rows, or update those whose keys are there.")
@click.option("--overwrite", is_flag=True, help="Let the table hold just these rows; only what differs is stored.")
@click.option(
    "--replace-where",
    metavar="EXPR",
    help="Let these rows take the place of those for which this SQL expression holds, such as 'day = 2'.",
)
@click.option("--schema", metavar="DDL", help="Types of columns of a new table: 'id bigint, price decimal(12,2)'.")
@click.option("--format", type=click.Choice(FORMATS), help="Of the files; else by their names.")
@click.option(
    "--bad-rows", metavar="FILE", help="Set rows that can't be taken aside in this CSV; else they are refused."
)
@click.option(
    "--rename",
    metavar="OLD=NEW",
    multiple=True,
    callback=renames,
    help="Call a column of the files otherwise; may be repeated.",
)
@reading_options
def command(
    session: Session, table: str, files: tuple[str, ...], message: str | None, author: str | None, **chosen: Any
) -> None:
    """Import CSV, JSON (lines or an array) or Parquet into a table.

    FILE is a file, a folder (every file of a known format in it and below, names with a leading _ or . left out) or a
    pattern such as 'logs/**/*.csv.gz'; - is standard input, with --format. CSV and JSON may be compressed (.gz, .bz2,
    .zst, .xz); a .zip is read as a folder is. Folders named `year=2026` give a column. A column that a file lacks is
    null in its rows; with --upsert all files need the same columns.

    The rows are staged on the current branch; `ana commit` publishes them, -m does so at once. Types are those of the
    table or of --schema, else they are inferred over all rows. Large input is read on Spark.

    \b
    $ ana import customers customers.csv --key id
    $ ana import orders prices.csv --upsert -m 'new prices'
    $ ana import sales today.csv --replace-where "day = DATE'2026-11-02'"

    JSON: branch, table, created, inserted, updated, deleted, bad_rows (how many were set aside), notes (what may
    surprise in the files), commit (null if staged).
    """
    where = chosen["replace_where"]
    given = {mode: chosen.pop(mode.replace("-", "_")) for mode in ("append", "upsert", "overwrite", "replace-where")}
    modes = [mode for mode, asked in given.items() if asked not in (None, False)]
    if len(modes) > 1:
        raise BadUsage(f"--{modes[0]} and --{modes[1]} exclude each other", hint="choose one")
    own = {name: chosen.pop(name) for name in ("key", "schema", "format", "bad_rows", "rename")}
    if own["key"] == ():
        raise BadUsage("--key names no column", hint="leave it out for a table without a key")
    mode = modes[0] if modes else "create"
    with (
        _only_if_done(own["bad_rows"]),
        spooled(files, own["format"]) as named,
        session.progress(f"reading {plural(len(files), 'file')}") as progress,
        writing(session, message, author) as made,
    ):
        request = Request(table, named, **own, mode=mode, where=where, options=text_options(chosen))
        outcome = load(session, made.transaction, request, progress)
    _report(session, request, outcome, made, committed=message is not None)


@contextmanager
def _only_if_done(path: str | None) -> Iterator[None]:
    """Leave no new file of bad rows behind if the rest of them were refused."""
    if path is None or os.path.lexists(path):
        yield
        return
    try:
        yield
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(path)
        raise


def load(session: Session, tx: Transaction, request: Request, progress: Progress) -> ImportOutcome:
    """Read the files, and write their rows to the table; it is made if it is not there."""
    found = _find(tx, request)
    read = session.repo.read_files(
        request.files,
        format=request.format,
        schema=found.schema if found else request.schema,
        bad_rows=request.bad_rows,
        equal_columns=request.mode == "upsert",
        needed=request.key or (),
        rename=request.rename,
        key=found.key if found else request.key,
        progress=progress.phase,
        **request.options,
    )
    _check_columns(read.columns, found, request)
    progress.phase(f"writing {plural(read.row_count, 'row')} to {request.table}")
    with _advising(request, found.key if found else request.key), read.naming_places():
        counts = _create(tx, request, read.rows) if found is None else _write(found, request, read.rows)
    return ImportOutcome(found is None, counts, read.bad_count, read.notes)


@contextmanager
def _advising(request: Request, key: Sequence[str] | None) -> Iterator[None]:
    """Let an error that names keys say what helps with files, and one about a condition how it was given."""
    try:
        yield
    except InvalidRequest as error:
        if error.facts.get("repeated") and not request.bad_rows:
            error.hint = (
                "--bad-rows FILE takes the first of each and sets the others aside; or name more columns in --key"
            )
        elif set(error.facts.get("nulls", ())) & set(key or ()) and not request.bad_rows:
            error.hint = "correct the file, or set such rows aside with --bad-rows FILE"
        if request.mode == "replace-where":
            error.message = error.message.replace(": where=", ": --replace-where", 1)
        raise


def _write(found: TableWriter, request: Request, rows: Any) -> Counts:
    if request.mode == "replace-where":
        return found.overwrite(rows, where=request.where)
    return {"upsert": found.upsert, "overwrite": found.overwrite}.get(request.mode, found.insert)(rows)


def _find(tx: Transaction, request: Request) -> TableWriter | None:
    """The table to write to, or None for a new one, which is made unless an option says that it is there."""
    try:
        found = tx.table(request.table)
    except NotFound:
        if request.mode != "create" and not request.key:
            hint = f"leave --{request.mode} out, or name the columns that identify a row with --key, and it is made"
            raise NotFound(f"there is no table {request.table!r}", hint=hint, table=request.table) from None
        return None
    _check(found, request)
    return found


def _check(found: TableWriter, request: Request) -> None:
    if request.mode == "create":
        hint = "--append adds rows, --upsert also updates those that are there, --overwrite replaces them all"
        raise AlreadyExists(f"there is a table {request.table!r}", hint=hint, table=request.table)
    if request.key and tuple(request.key) != found.key:
        message = f"table {request.table!r} has the key {','.join(found.key)}, --key says {','.join(request.key)}"
        raise InvalidRequest(message, hint="leave --key out")
    if request.schema:
        raise InvalidRequest(f"table {request.table!r} has its columns already", hint="leave --schema out")


def _check_columns(columns: tuple[str, ...], found: TableWriter | None, request: Request) -> None:
    """Refuse columns that the table can't have or has not; they may just be called otherwise in the files."""
    guess = delimiter_guess(columns[0], TextOptions(**request.options)) if len(columns) == 1 else None
    missing = [name for name in request.key or () if name.lower() not in [c.lower() for c in columns]]
    if missing and columns:
        hint = f"the files seem to need {guess}" if guess else f"they have {', '.join(columns[:20])}"
        raise NotFound(f"there is no column {missing[0]!r} in the files, for the key", hint=hint, column=missing[0])
    for name in columns:
        option = f"--rename {shlex.quote(f'{name}=NEW')}"
        if found is None:
            try:
                check_part(name, "column")
            except InvalidRequest as error:
                raise InvalidRequest(error.message, hint=f"{option} gives it another name", column=name) from None
        elif found.schema.find(name) is None:
            hint = f"it has {', '.join(found.schema.names[:20])}; {guess or f'{option} says which of them is meant'}"
            raise InvalidRequest(f"table {found.name!r} has no column {name!r}", hint=hint, column=name)


def _create(tx: Transaction, request: Request, rows: Any) -> Counts:
    *namespaces, _ = request.table.split(".")
    for depth in range(len(namespaces)):
        with suppress(AlreadyExists):
            tx.create_namespace(".".join(namespaces[: depth + 1]))
    tx.create_table(request.table, rows, key=request.key, schema=_whole_schema(request, rows))
    return tx.counts[request.table]


def _whole_schema(request: Request, rows: Any) -> Schema | None:
    """The schema of a new table; columns that --schema leaves out have the types that they were read with."""
    if request.schema is None:
        return None
    from anabranch.frames.input import read_schema_argument

    declared = {column.name.lower(): column for column in read_schema_argument(request.schema)}
    read = {column.name.lower(): column for column in read_schema_argument(rows.schema)}
    if read.keys() <= declared.keys():
        return make_schema(tuple(declared.values()), ())
    for name in [column.name for lower, column in declared.items() if lower not in read]:
        hint = f"they have {', '.join(rows.schema.names[:20])}"
        raise NotFound(f"there is no column {name!r} in the files, for --schema", hint=hint, column=name)
    return make_schema(tuple((read | declared).values()), ())


def _report(session: Session, request: Request, outcome: ImportOutcome, made: Writing, *, committed: bool) -> None:
    if session.json:
        commit = commit_document(made.commit) if made.commit else None
        counts = counts_document(outcome.counts)
        facts = {"branch": session.branch, "table": request.table, "created": outcome.created, **counts}
        emit_json({**facts, "bad_rows": outcome.bad_count, "notes": list(outcome.notes), "commit": commit})
        return
    for note in outcome.notes:
        say(f"note: {note}", None)
    made_by = {"operations": ["create"]} if outcome.created else {}
    counted = counts_text(counts_document(outcome.counts) | made_by)
    said = f"{request.table}: {'created, ' if outcome.created else ''}{counted}"
    if outcome.bad_count:
        said += f", {plural(outcome.bad_count, 'bad row')} set aside in {clean(request.bad_rows or '')}"
    if made.commit:
        emit(commit_line(session.branch, made.commit))
        emit(f"  {said}")
        others = sorted(set(made.commit.tables) - {request.table})
        if others:
            emit(f"  with what was staged before: {', '.join(others)}")
    elif committed:
        emit(f"{said}; nothing changed, so no commit was made")
    elif not (outcome.created or outcome.counts.rows):
        emit(f"{said}; nothing to stage")
    else:
        emit(f"{said}; staged on {session.branch}")
        emit("Publish it with `ana commit -m MESSAGE`.")


STANDARD_INPUT = "-"


@contextmanager
def spooled(names: Sequence[str], format: str | None) -> Iterator[tuple[str, ...]]:
    """Give names of files that can be read repeatedly; - is standard input. Errors use the original names."""
    once = [name for name in dict.fromkeys(names) if name == STANDARD_INPUT or _is_pipe(name)]
    if not once:
        yield tuple(names)
        return
    if STANDARD_INPUT in once and format is None:
        raise BadUsage("standard input has no name that tells its format", hint="say --format csv, json or parquet")
    with tempfile.TemporaryDirectory(prefix="ana-") as folder:
        copies = {name: _copy(name, Path(folder), number) for number, name in enumerate(once)}
        try:
            yield tuple(copies.get(name, name) for name in names)
        except AnabranchError as error:
            for name, copy in copies.items():
                error.message = error.message.replace(copy, name)
            raise


def _is_pipe(name: str) -> bool:
    try:
        mode = Path(name).stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _copy(name: str, folder: Path, number: int) -> str:
    """Copy a pipe to a file with the same ending."""
    ending = "" if name == STANDARD_INPUT else "".join(Path(name).suffixes)
    made = folder / f"stdin{number or ''}{ending}"
    try:
        with made.open("wb") as target:
            if name == STANDARD_INPUT:
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with open(name, "rb") as source:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        message = f"{name!r} can't be read: {error.strerror or error}"
        raise Unavailable(message, hint="check what writes to it, and the space for temporary files") from error
    return str(made)
