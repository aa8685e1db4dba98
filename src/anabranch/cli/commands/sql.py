"""`ana sql`: run statements of SQL, from the command line, a file, a pipe, or a shell of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import refs
from anabranch.cli.options import make_command, paragraphs
from anabranch.cli.output.commits import commit_line
from anabranch.cli.output.text import emit, emit_json
from anabranch.cli.session import Session
from anabranch.cli.staging import publish

if TYPE_CHECKING:
    from anabranch.model.commits import Commit
    from anabranch.repo.read.sql_result import SqlResult
    from anabranch.repo.sql.sql import SqlSession
    from anabranch.settings import SafeSettings

FORMATS = ("table", "json", "ndjson", "csv")


@make_command("sql", short_help="Run SQL, or open a shell for it.")
@click.argument("statements", required=False, metavar="[SQL]")
@click.option("-f", "--file", type=click.File(encoding="utf-8"), help="Read the statements from a file; - for a pipe.")
@click.option(
    "--at", metavar="REF", shell_complete=refs, help="Where to read; else the current branch, with what is staged."
)
@click.option(
    "--arg",
    "args",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value for :NAME; a number, true, false or null as in JSON, else text.",
)
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="Commit what is written, with this message.")
@click.option("--author", help="Who commits.")
@click.option("--safe", is_flag=True, help="The text is somebody else's: one query, computed apart, within limits.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="With --safe: how long it may run (30).")
@click.option("--memory-mb", type=click.IntRange(min=1), help="With --safe: memory that it may take (512).")
@click.option("--rows", type=click.IntRange(min=1), help="With --safe: rows that it may give (100000).")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="How rows are printed (table).")
def command(session: Session, statements: str | None, file: Any, at: str | None, **how: Any) -> None:
    """Run statements of SQL, one after the other; without any, on a terminal, open a shell.

    Queries are Spark SQL; a table may be read at any ref (orders VERSION AS OF 'v1'). What is written is staged on the
    current branch until COMMIT 'message', `ana commit` or -m. A script that fails leaves nothing behind of what it
    wrote since the last COMMIT. docs/sql.md lists the statements.

    With --safe the text may be a stranger's: it is one query that reads tables, and nothing else (docs/strangers.md).

    \b
    $ ana sql "SELECT status, count(*) FROM orders GROUP BY status"
    $ ana sql "UPDATE orders SET qty = qty + 1 WHERE id = :id" --arg id=1 -m "one more"
    $ ana sql --safe --seconds 5 -f from_elsewhere.sql

    JSON: results, a list of columns, types, rows, and for what writes inserted, updated, deleted; commit.
    """
    message, author = how["message"], how["author"]
    text = _text(statements, file)
    limits = _safe_settings(session, how)
    if limits is not None:
        _run_safe(session, text, at, how, limits)
        return
    if text is None:
        from anabranch.cli.sql_shell import run_shell

        run_shell(session, author)
        return
    if at is not None and message is not None:
        raise BadUsage("--at reads and -m writes", hint="leave one of them out")
    opened = session.repo.sql_session(session.branch, author=author)
    opened.at = session.ref(at) if at is not None else None
    with session.progress("running SQL"):
        results = opened.execute(text, _args(how["args"]))
        commit = _publish(session, opened, message, author)
        shown = [(result, result.arrow()) for result in results]
    _report(session, shown, commit, "json" if session.json else how["form"])


def _safe_settings(session: Session, how: Mapping[str, Any]) -> SafeSettings | None:
    """The limits of a text of somebody else's; None for one's own."""
    given = {name: how[name] for name in ("seconds", "memory_mb", "rows") if how[name] is not None}
    if not how["safe"]:
        if given:
            raise BadUsage("--seconds, --memory-mb and --rows are limits of --safe", hint="add --safe")
        return None
    if how["message"] is not None or how["author"] is not None:
        raise BadUsage("--safe only reads", hint="leave -m and --author out")
    limits = session.repo._ctx.settings.safe
    return replace(
        limits,
        seconds=given.get("seconds", limits.seconds),
        memory_bytes=given["memory_mb"] << 20 if "memory_mb" in given else limits.memory_bytes,
        row_limit=given.get("rows", limits.row_limit),
    )


def _run_safe(session: Session, text: str | None, at: str | None, how: Mapping[str, Any], limits: SafeSettings) -> None:
    """Run a query of somebody else's and print its rows."""
    if text is None:
        raise BadUsage("--safe needs a query", hint="give it as an argument or with --file")
    ref = session.ref(at) if at is not None else session.branch
    with session.progress("running SQL"):
        result = session.repo.sql(text, ref, args=_args(how["args"]), safe=limits)
        rows = result.arrow()
    _report(session, [(result, rows)], None, "json" if session.json else how["form"])


def _text(statements: str | None, file: Any) -> str | None:
    """The script: given, in a file, or from a pipe; None for a shell."""
    if statements is not None and file is not None:
        raise BadUsage("SQL was given twice", hint="give it as an argument or with --file")
    if statements is not None:
        return statements
    if file is None and sys.stdin.isatty():
        return None
    text: str = (file or sys.stdin).read()
    return text.removeprefix("\ufeff")  # the byte order mark of some editors


def _args(given: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise BadUsage(f"--arg is {text!r}", hint="such as --arg id=7")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _publish(session: Session, opened: SqlSession, message: str | None, author: str | None) -> Commit | None:
    staged = session.repo.working_set(opened.branch) if message is not None else None
    return publish(staged, message, author) if staged is not None and message is not None else None


def _report(session: Session, shown: Sequence[tuple[SqlResult, Any]], commit: Commit | None, form: str) -> None:
    from anabranch.cli.output.sql_results import document, show_result

    if form == "json":
        described = [document(result, rows) for result, rows in shown]
        emit_json({"results": described, "commit": commit.hash if commit else None})
        return
    for result, rows in shown:
        show_result(result, rows, form)
    if commit is not None:
        emit(commit_line(session.branch, commit))
