"""`ana diff`: what differs between two commits, or what is staged."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import refs_then_tables
from anabranch.cli.options import TablesLast, make_command
from anabranch.cli.output.conflicts import goes_on, open_text
from anabranch.cli.output.text import emit_json, pager_option, show_lines
from anabranch.cli.session import Session
from anabranch.documents.diff import Wanted, document, file_documents
from anabranch.errors import NotFound

if TYPE_CHECKING:
    from anabranch.repo.compare.file_diff import FileDiff
    from anabranch.repo.compare.table_diff import Diff, NamespaceDiff, TableDiff
    from anabranch.repo.merge.open_conflicts import OpenConflicts

FORMATS = ("table", "json", "ndjson", "csv", "sql", "html")
DIFFERENT = 1
"""The exit code of --exit-code when something differs, as in git."""
_SHOWN = 100


@dataclass(frozen=True)
class DiffRequest:
    """What is to be shown."""

    tables: Sequence[TableDiff]
    namespaces: Sequence[NamespaceDiff]
    rows: Wanted
    stat: bool
    summary: bool

    @property
    def differs(self) -> bool:
        if self.namespaces or self.summary:
            return bool(self.namespaces or self.tables)
        return any(not table.is_empty for table in self.tables)


@make_command("diff", cls=TablesLast, short_help="Show what differs, row by row and cell by cell.")
@click.argument("refs", metavar="[A [B]] [-- TABLE...]", nargs=-1, shell_complete=refs_then_tables)
@click.option("--stat", is_flag=True, help="Only how many rows and cells differ.")
@click.option("--summary", is_flag=True, help="Only which tables differ and how; reads no data.")
@click.option("--where", metavar="EXPR", help="Only rows for which this holds before or after.")
@click.option("--key", metavar="[COLUMN=]VALUE", multiple=True, help="Only the row with this key.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most so many rows of each table.")
@click.option("--format", type=click.Choice(FORMATS), default="table", help="How to write rows (table).")
@click.option("--staged", "--cached", is_flag=True, help="What is staged, against A (the last commit).")
@click.option("--exit-code", is_flag=True, help="Exit code 1 if something differs, 0 if not.")
@pager_option
def command(session: Session, refs: tuple[str, ...], stat: bool, summary: bool, **chosen: Any) -> None:
    """Show what differs from A to B; without B to the current branch with what is staged, without both what is staged.

    A..B is the same as A B, A...B is what B did since the two parted. Tables may be named after `--`, or after the
    refs. While a merge, cherry-pick, revert or rebase is open and nothing is staged, it is what that would change now;
    `ana conflicts` shows what is in conflict. Shown are 100 rows of each table, in csv, json, ndjson and sql all;
    --limit says otherwise. --summary counts a row that was changed twice as two.

    \b
    $ ana diff                            what is staged
    $ ana diff main                       from main to here, with what is staged
    $ ana diff main dev -- orders         one table, from main to dev
    $ ana diff main...dev --stat          what dev did since it left main
    $ ana diff HEAD~1 --key 7             one row
    $ ana diff HEAD~1 --format sql        statements that do the same

    JSON: before, after (refs; after is null without B), open (if that is shown: merge, rebase and so on), tables (list
    of name, change: added, dropped or changed, renamed_from, schema: list of change, name, before, after; inserted,
    updated, deleted, cells; rows: list of change, key, before, after, columns; more), namespaces (list of name, change,
    renamed_from, schema). --stat leaves out rows and more, --summary the cells, too; its counts are null where only
    rows can tell. Where files differ, files (list of path, change, before_bytes, after_bytes, appended_bytes,
    moved_from).
    """
    format = "json" if session.json else chosen["format"]
    if stat and summary:
        raise BadUsage("--stat and --summary are two things", hint="give one of them")
    with session.repo.one_state():
        named, found, tables = find(session, refs, only_staged=chosen["staged"])
    if chosen["staged"] and named["after"] is not None:
        raise BadUsage("--staged is compared with one ref", hint="leave the other one out")
    wanted = Wanted(chosen["where"], chosen["key"], _limit(chosen["limit"], format))
    with nullcontext() if summary else session.progress("comparing"):
        picked = [found[name] for name in tables] if tables else list(found.candidates if summary else found)
        asked = DiffRequest(picked, () if tables else found.namespaces, wanted, stat, summary)
        files = () if tables else tuple(found.files)
        differs = asked.differs or bool(files)
        described = {**named, **_document(asked)} if format == "json" else _lines(format, asked)
        if files and (isinstance(described, dict) or format == "table" or stat or summary):
            shown = described if asked.differs or isinstance(described, dict) else []
            described = _with_files(shown, files, text=not (stat or summary))
    session.exit_code = DIFFERENT if chosen["exit_code"] and differs else 0
    if isinstance(described, dict):
        emit_json(described)
    else:
        show_lines(described, paged=chosen["pager"] and (format == "table" or stat or summary))


def _with_files(described: dict[str, Any] | list[str], files: Sequence[FileDiff], *, text: bool) -> Any:
    """What differs in files, after what differs in tables."""
    if isinstance(described, dict):
        return {**described, "files": file_documents(files)}
    from anabranch.cli.output.diff_text import file_lines

    return [*described, *file_lines(files, text=text)]


def _document(asked: DiffRequest) -> dict[str, Any]:
    return document(asked.tables, asked.namespaces, asked.rows, stat=asked.stat, summary=asked.summary)


def _lines(format: str, asked: DiffRequest) -> list[str]:
    """The text to print; all of it is known before any of it is shown."""
    if asked.stat or asked.summary or format == "table":
        from anabranch.cli.output.diff_text import overview, whole_text

        if asked.stat or asked.summary:
            return list(overview(asked.tables, asked.namespaces, exact=asked.stat))
        return list(whole_text(asked.tables, asked.namespaces, asked.rows))
    from anabranch.cli.output.diff_formats import written

    if format == "csv":
        _check_csv(asked)
    return list(written(format, asked.tables, asked.namespaces, asked.rows))


def _check_csv(asked: DiffRequest) -> None:
    if len(asked.tables) > 1:
        names = ", ".join(table.name for table in asked.tables)
        raise BadUsage(f"CSV has one table, and {len(asked.tables)} differ", hint=f"name one after `--`: {names}")
    if asked.rows.limit is not None:
        raise BadUsage("CSV has all rows that differ", hint="choose some with --where or --key, not with --limit")


def find(
    session: Session, given: Sequence[str], *, only_staged: bool = False
) -> tuple[dict[str, str | None], Diff, tuple[str, ...]]:
    """The two refs that are compared, what differs, and the tables that were named."""
    refs, tables = _split(session, given)
    if len(refs) == 1 and ".." in refs[0]:
        before, _, after = refs[0].rpartition("..")
        return {"before": before.rstrip("."), "after": after}, session.repo.diff(refs[0]), tables
    if len(refs) == 2:
        return {"before": refs[0], "after": refs[1]}, session.repo.diff(*refs), tables
    staged = session.working_set()
    waiting = [] if refs else session.all_open(session.branch)
    if waiting and not staged and not only_staged:
        _tell_open(session, waiting[-1], "this is what it would change now, where nothing is in conflict")
        return {"before": session.branch, "after": None, "open": waiting[-1].verb}, waiting[-1].diff(), tables
    if waiting:
        _tell_open(session, waiting[-1], "this is what is staged beside it")
    before = refs[0] if refs else staged.parent if staged else session.branch
    found = staged.diff(before) if staged else session.repo.diff(before, session.branch)
    return {"before": before, "after": None}, found, tables


def _tell_open(session: Session, kept: OpenConflicts, shown: str) -> None:
    """Say on standard error what is open, and what is shown; programs that asked for JSON read no prose."""
    if not session.json:
        click.echo(f"{open_text(kept)}; {shown}. See `ana conflicts`; {goes_on(kept.verb)}.", err=True)


def _split(session: Session, given: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Tell refs from tables: what stands after `--` is a table, and so is what follows the first that is no ref."""
    named: tuple[str, ...] | None = click.get_current_context().meta.get("tables")
    refs: list[str] = []
    for i, text in enumerate(given):
        if ".." in text and not refs:
            return [session.ref(text)], (*given[i + 1 :], *(named or ()))
        try:
            session.repo.show(session.ref(text))
        except NotFound:
            if named is not None or not _is_table(session, text, refs):
                raise
            return refs, tuple(given[i:])
        refs.append(session.ref(text))
    if len(refs) > 2:
        raise BadUsage(f"two refs can be compared, {len(refs)} were given", hint="name tables after `--`")
    return refs, named or ()


def _is_table(session: Session, name: str, refs: Sequence[str]) -> bool:
    staged = session.working_set() if len(refs) < 2 else None
    at = {table.name for ref in (*refs, session.branch) for table in session.repo.tables(ref)}
    return name in at or bool(staged and name in staged.status())


def _limit(given: int | None, format: str) -> int | None:
    return _SHOWN if given is None and format in ("table", "html") else given
