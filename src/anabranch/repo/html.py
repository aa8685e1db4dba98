"""How notebooks show what users hold: tables, differences, conflicts, changes and blame, their first rows each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.model.ddl import parse_type
from anabranch.model.html import ROWS, Heading, Line, block, changed, counted, note, table, title
from anabranch.model.types import DataType
from anabranch.repo.outputs import objects_of, to_dicts

if TYPE_CHECKING:
    from anabranch.model.schema import Schema
    from anabranch.repo.blame import Blame
    from anabranch.repo.changes import Changes
    from anabranch.repo.conflicts import Conflicts, TableConflicts
    from anabranch.repo.differences import Diff, TableDiff
    from anabranch.repo.reading import Table
    from anabranch.repo.sql_result import SqlResult

_TABLES = 10
_SHOWN_AS = {"insert": "insert", "update_postimage": "insert", "delete": "delete", "update_preimage": "delete"}


def table_html(shown: Table) -> str:
    """The first rows by key, with types in the header."""
    chosen = shown._selection
    rows = shown.head(ROWS + 1 if chosen.limit is None else min(ROWS + 1, chosen.limit))
    lines = [Line(list(row.values())) for row in rows[:ROWS]]
    # With a condition only reading all rows would tell how many there are.
    total = len(rows) if len(rows) <= ROWS else shown.count() if chosen.where is None else None
    return block(title(shown.name), table(_columns(shown.schema), lines), note(counted(len(lines), total)))


def result_html(result: SqlResult) -> str:
    """The first rows that a statement of SQL gave, with types in the header."""
    rows = result.arrow()
    typed = zip(result.columns, result.types, strict=True)
    headings = [Heading(name, type_, type_ != "void" and parse_type(type_).is_number) for name, type_ in typed]
    columns = [objects_of(rows.column(i).slice(0, ROWS)) for i in range(rows.num_columns)]
    lines = [Line(list(row)) for row in zip(*columns, strict=True)]
    return block(table(headings, lines), note(counted(len(lines), rows.num_rows)))


def table_diff_html(diff: TableDiff) -> str:
    """Counts, changes of the schema, and the first rows: what came green, what went red, cells as old → new."""
    return block(*_table_diff(diff))


def diff_html(diff: Diff) -> str:
    """The tables that differ, one below the other."""
    shown = list(diff)
    parts = [part for one in shown[:_TABLES] for part in _table_diff(one)]
    parts += [note(f"namespace {n.name}: {n.change}") for n in diff.namespaces]
    if len(shown) > _TABLES:
        parts.append(note(f"and {len(shown) - _TABLES} more: {', '.join(t.name for t in shown[_TABLES:])}"))
    return block(*parts) if parts else block(note("Nothing differs."))


def _table_diff(diff: TableDiff) -> Iterator[str]:
    renamed = f", renamed from {diff.renamed_from}" if diff.renamed_from else ""
    yield title(f"{diff.name}: {diff.change}{renamed}")
    counts = diff.counts()
    yield note(", ".join(f"{n:,} {word}" for word, n in counts.items()))
    for change in diff.schema:
        yield note(f"{change.change} {change.name or ''}: {change.before} → {change.after}")
    rows = diff.rows(limit=ROWS)
    if rows:
        yield table(_columns(diff.columns), [_changed_row(row, diff.columns.names) for row in rows])
    total = counts["inserted"] + counts["updated"] + counts["deleted"]
    yield note(counted(len(rows), total)) if total > len(rows) else ""


def _changed_row(row: Mapping[str, Any], names: Sequence[str]) -> Line:
    if row["change"] != "update":
        whole = row["after"] if row["change"] == "insert" else row["before"]
        return Line([whole.get(name) for name in names], row["change"])
    before, after = row["before"], row["after"]
    return Line(
        [changed(before.get(n), after.get(n)) if n in row["columns"] else after.get(n) for n in names], "update"
    )


def table_conflicts_html(conflicts: TableConflicts) -> str:
    """The first conflicts, with base, ours and theirs."""
    return block(*_table_conflicts(conflicts))


def _table_conflicts(conflicts: TableConflicts) -> Iterator[str]:
    rows = conflicts.rows()
    keys = list(rows[0]["key"]) if rows else []
    names = [*keys, "kind", "column", "base", "ours", "theirs"]
    lines = [Line([*row["key"].values(), *(row[name] for name in names[len(keys) :])]) for row in rows[:ROWS]]
    yield title(conflicts.table)
    yield table([Heading(name) for name in names], lines)
    yield note(counted(len(lines), len(rows), "conflict"))


def conflicts_html(conflicts: Conflicts) -> str:
    """All that is in conflict: rows by table, tables and columns themselves, rows that break a constraint."""
    parts = [part for one in conflicts.values() for part in _table_conflicts(one)]
    things = [*conflicts.objects, *conflicts.schema]
    if things:
        names = ("table", "column", "kind", "base", "ours", "theirs")
        parts += [title("tables and columns"), _listed(things, names)]
    if conflicts.violations:
        broken = _listed(conflicts.violations, ("table", "kind", "name", "key", "row"))
        parts += [title("constraints that merged rows break"), broken]
    return block(*parts) if parts else block(note("No conflicts."))


def _listed(things: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    lines = [Line([thing[name] for name in names]) for thing in things[:ROWS]]
    return table([Heading(name) for name in names], lines) + note(counted(len(lines), len(things), "conflict"))


def changes_html(feed: Changes) -> str:
    """The first changes, oldest first."""
    rows = to_dicts(feed.head(ROWS + 1))
    lines = [Line(list(row.values()), _SHOWN_AS[row["_change_type"]]) for row in rows[:ROWS]]
    return _whole(feed.name, feed.columns, lines, len(rows) > ROWS)


def blame_html(blame: Blame) -> str:
    """The first rows by key, each with its commit."""
    rows = to_dicts(blame.head(ROWS + 1))
    return _whole(blame.name, blame.columns, [Line(list(row.values())) for row in rows[:ROWS]], len(rows) > ROWS)


def _whole(name: str, columns: Iterable[tuple[str, DataType]], lines: Sequence[Line], more: bool) -> str:
    headings = [Heading(column, str(type_), type_.is_number) for column, type_ in columns]
    return block(title(name), table(headings, lines), note(counted(len(lines), None if more else len(lines))))


def _columns(schema: Schema) -> list[Heading]:
    return [Heading(c.name, str(c.type), c.type.is_number) for c in schema]
