"""`ana conflicts`: what an open merge still needs decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.name_completion import branches, tables
from anabranch.cli.options import make_command
from anabranch.cli.output.conflicts import conflict_lines, conflicts_document, goes_on, next_steps, thing_text
from anabranch.cli.output.tables import Heading, cell, fits_whole, key_line, print_table, screen_width
from anabranch.cli.output.text import clean, cut, emit, emit_json, plural, show_lines, width_of
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch.repo.merge.open_conflicts import OpenConflicts

_KEY_LINES = 3
"""So many lines of the screen a key may take."""


@make_command("conflicts", short_help="List the conflicts of an open merge.")
@click.argument("table", required=False, shell_complete=tables)
@click.option(
    "--into", metavar="BRANCH", shell_complete=branches, help="The branch that is merged into (the current one)."
)
@click.option("-n", "--limit", type=click.IntRange(min=0), default=100, metavar="N", help="At most so many rows (100).")
def command(session: Session, table: str | None, into: str | None, limit: int) -> None:
    """List the conflicts that are left, or those of the rows of TABLE with base, ours and theirs.

    \b
    $ ana conflicts
    $ ana conflicts orders

    JSON: branch, sources, count, tables (list of table, count), files (list of path, kind, column, moved_to, base,
    ours, theirs), schema, objects, violations (each a list of table, kind and more); of one table:
    table, count, rows (list of key, kind, column, base, ours, theirs), things (of the table and its columns),
    violations.
    """
    branch = session.branch_or_current(into)
    kept = session.open_work(branch)
    with session.progress("looking for conflicts"):
        conflicts = kept.conflicts
    if table is not None:
        _show(session, kept, table, limit)
    elif session.json:
        emit_json({"branch": branch, "sources": kept.sources, **conflicts_document(conflicts)})
    elif not conflicts:
        emit(f"No conflicts are left; {goes_on(kept.verb)}.")
    else:
        what = f"{plural(conflicts.count(), 'conflict')} of {clean(', '.join(kept.sources))} with {branch}"
        emit(f"{what}:")
        show_lines([*conflict_lines(conflicts), *next_steps(conflicts, branch, session.branch, kept.verb)])


def _show(session: Session, kept: OpenConflicts, table: str, limit: int) -> None:
    conflicts = kept.conflicts
    things = [t for t in (*conflicts.objects, *conflicts.schema) if t["table"] == table]
    broken = [v for v in conflicts.violations if v["table"] == table]
    rows = conflicts[table].rows() if table in conflicts else []
    if not (rows or things or broken):
        from anabranch.repo.merge.open_conflicts import need_table

        need_table(kept, table)
    if session.json:
        facts = {"table": table, "count": len(rows) + len(things) + len(broken), "rows": rows[:limit]}
        emit_json({**facts, "things": things, "violations": broken[:limit]})
        return
    if not (rows or things or broken):
        others = f"there are conflicts in: {conflicts.summary()}" if conflicts else goes_on(kept.verb)
        emit(f"No conflicts of {clean(table)} are left; {clean(others)}.")
        return
    if rows:
        keys = list(rows[0]["key"])
        headings = [*keys, "kind", "column", "base", "ours", "theirs"]
        drawn = [Heading(h) for h in headings], [_row(row, keys) for row in rows[:limit]]
        if fits_whole(*drawn):
            print_table(*drawn)
        else:
            _stand_up(rows[:limit])
    for thing in things:
        emit(f"{clean(thing['column'] or table)}: {thing_text(thing)}")
    if broken:
        headings = [Heading("would break"), *(Heading(name) for name in broken[0]["row"])]
        print_table(headings, [(f"{v['kind']} {v['name']}", *v["row"].values()) for v in broken[:limit]])
    more = ", not all of them shown (--limit)" if max(len(rows), len(broken)) > limit else ""
    emit(plural(len(rows) + len(things) + len(broken), "conflict") + more)


def _stand_up(rows: list[dict[str, Any]]) -> None:
    """Conflicts one below the other, each side in a line: for keys and values that are too wide for a table."""
    width = screen_width()
    for row in rows:
        key, what = key_line(row["key"]), f"{clean(row['column'] or 'whole row')} ({row['kind']})"
        fits = width_of(f"{key}: {what}") <= width
        show_lines([f"{key}: {what}"] if fits else [cut(key, _KEY_LINES * width), what])
        for side in ("base", "ours", "theirs"):
            emit(cut(f"  {side:<6}  {cell(_side(row[side], row['column']), width)}", width))


def _row(row: dict[str, Any], keys: list[str]) -> list[Any]:
    sides = [_side(row[side], row["column"]) for side in ("base", "ours", "theirs")]
    return [*(row["key"][k] for k in keys), row["kind"], row["column"] or "whole row", *sides]


def _side(value: Any, column: str | None) -> Any:
    """A cell, or a row in a line; a row that is not there was deleted or never made."""
    if column is not None:
        return value
    return "(no row)" if value is None else ", ".join(f"{name}={cell(v)}" for name, v in value.items())
