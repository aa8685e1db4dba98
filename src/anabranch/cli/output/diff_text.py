"""A difference for people: for each table a heading, its columns, and its rows with changed cells as `old → new`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.tables import Heading, Styled, cell, cell_limit, fits, screen_width, table_lines
from anabranch.cli.output.text import clean, columns, cut, number, paint, plural, width_of
from anabranch.documents.diff import Wanted, chosen_rows

if TYPE_CHECKING:
    from anabranch.model.schema import Column
    from anabranch.plan.schema_diff import SchemaChange
    from anabranch.repo.compare.file_diff import FileDiff
    from anabranch.repo.compare.table_diff import NamespaceDiff, TableDiff


_COLOURS = {"added": "green", "dropped": "red", "changed": "yellow"}
_STYLES = {"insert": ("+", "green"), "delete": ("-", "red"), "update": ("~", "yellow")}
_OF_COLUMNS = ("add", "drop", "rename", "type", "nullable", "default", "comment")
_ARROW = " → "
_WHOLE = 10_000


def whole_text(tables: Iterable[TableDiff], namespaces: Sequence[NamespaceDiff], wanted: Wanted) -> Iterator[str]:
    """Everything that differs."""
    lines = _spaces(namespaces)
    for table in tables:
        if not table.is_empty:
            yield from [*lines, *([""] if lines else [])]
            lines = list(table_text(table, wanted))
    yield from lines or ["Nothing differs."]


def overview(tables: Sequence[TableDiff], namespaces: Sequence[NamespaceDiff], *, exact: bool) -> Iterator[str]:
    """One line per table: exact counts, or what the commits between touched."""
    yield from _spaces(namespaces)
    shown = [t for t in tables if not (exact and t.is_empty)]
    rows = [(t.change, clean(_name(t)), _summary(t, exact)) for t in shown]
    for table, line in zip(shown, columns(rows), strict=True):
        yield paint(line, _COLOURS[table.change])
    if not shown and not namespaces:
        yield "Nothing differs."


def table_text(table: TableDiff, wanted: Wanted) -> Iterator[str]:
    """One table: what happened to it, its columns and its rows."""
    yield paint(f"{clean(table.name)}: {_what(table)}", "bold")
    for change in table.schema:
        yield "  " + schema_line(change, table.columns.columns)
    counts = table.counts()
    if any(counts.values()):
        rows, more = chosen_rows(table, wanted)
        if rows:
            yield from _rows(table, rows)
        yield from _more(rows, more, counts, wanted)
        counts = counts if wanted.is_all or more else counts_of(rows)
    yield summary_line(counts, table.schema)


def counts_of(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count the changed rows that are listed."""
    found = {"inserted": 0, "updated": 0, "deleted": 0, "cells": sum(len(row["columns"]) for row in rows)}
    words = {"insert": "inserted", "update": "updated", "delete": "deleted"}
    for row in rows:
        found[words[row["change"]]] += 1
    return found


def summary_line(counts: Mapping[str, int], schema: Sequence[SchemaChange]) -> str:
    """`3 added, 1 deleted, 5 changed (7 cells), 2 columns changed`."""
    words = (("inserted", "added"), ("deleted", "deleted"), ("updated", "changed"))
    parts = [f"{number(counts[kind])} {word}" for kind, word in words if counts[kind]]
    if counts["updated"] and counts.get("cells"):
        parts[-1] += f" ({plural(counts['cells'], 'cell')})"
    changed = len({change.name for change in schema if change.change in _OF_COLUMNS})
    return ", ".join([*parts, *([f"{plural(changed, 'column')} changed"] if changed else [])]) or "no rows differ"


def schema_line(change: SchemaChange, known: Sequence[Column]) -> str:
    """A change of a column, the key or the like, in a coloured line."""
    text = schema_words(change, known)
    return paint(text, {"+": "green", "-": "red", "~": "yellow"}[text[0]])


def schema_words(change: SchemaChange, known: Sequence[Column]) -> str:
    """A change of a column, the key or the like, in words after a mark."""
    name, before, after = clean(change.name or ""), _plain(change.before, known), _plain(change.after, known)
    words = {
        "add": f"column {name}",
        "drop": f"column {name}",
        "check": f"check {name}:",
        "property": f"property {name}:",
        "cluster": "order of files:",
    }
    what = words.get(change.change)
    if what and change.before in (None, (), []):
        return f"+ {what} {after}"
    if what and change.after in (None, (), []):
        return f"- {what} {before}"
    texts = {
        "rename": f"column {before}{_ARROW}{name}",
        "type": f"column {name}: {before}{_ARROW}{after}",
        "nullable": f"column {name}: {'may be null' if change.after else 'NOT NULL'}",
        "default": f"column {name}: default {before}{_ARROW}{after}",
        "comment": f"column {name}: comment {before}{_ARROW}{after}",
        "order": f"order of columns: {before}{_ARROW}{after}",
        "key": f"key: {before}{_ARROW}{after}",
    }
    return f"~ {texts.get(change.change) or f'{what} {before}{_ARROW}{after}'}"


def _plain(value: Any, known: Sequence[Column]) -> str:
    names = {str(column.id): column.name for column in known}
    if isinstance(value, (list, tuple)):
        return clean(", ".join(names.get(str(v), str(v)) for v in value)) or "none"
    return "none" if value is None else clean(str(value))


def _spaces(namespaces: Sequence[NamespaceDiff]) -> list[str]:
    lines = []
    for space in namespaces:
        renamed = f"renamed from {clean(space.renamed_from)}" if space.renamed_from else space.change
        lines.append(paint(f"namespace {clean(space.name)}: {renamed}", _COLOURS[space.change]))
        lines += ["  " + schema_line(change, ()) for change in space.schema]
    return lines


def _name(table: TableDiff) -> str:
    return f"{table.renamed_from}{_ARROW}{table.name}" if table.renamed_from else table.name


def _what(table: TableDiff) -> str:
    return f"renamed from {clean(table.renamed_from)}" if table.renamed_from else table.change


def _summary(table: TableDiff, exact: bool) -> str:
    if exact:
        return summary_line(table.counts(), table.schema)
    counts = table.touched
    return summary_line(counts, table.schema) if counts else "all rows, or a key; --stat compares them"


def _more(rows: Sequence[dict[str, Any]], more: bool, counts: Mapping[str, int], wanted: Wanted) -> Iterator[str]:
    total = counts["inserted"] + counts["updated"] + counts["deleted"]
    if more and wanted.is_all:
        yield f"… {plural(total - len(rows), 'more row')} (--limit)"
    elif more:
        yield "… and more rows (--limit)"


def _rows(table: TableDiff, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Changed rows as a table; if it is too wide, changed columns come first."""
    shown, width = list(table.columns), screen_width()
    drawn = _drawn(shown, rows)
    if not fits(*drawn, width):
        touched = {name for row in rows for name in row["columns"]}
        keys = table.columns.key_names
        drawn = _drawn(sorted(shown, key=lambda c: (c.name not in keys, c.name not in touched)), rows)
    return table_lines(*drawn, width)


def _drawn(shown: Sequence[Column], rows: Sequence[dict[str, Any]]) -> tuple[list[Heading], list[list[Any]]]:
    touched = {name for row in rows for name in row["columns"]}
    headings = [Heading(""), *(Heading(c.name, c.type.is_number, c.name in touched) for c in shown)]
    return headings, [_row(shown, row) for row in rows]


def _row(shown: Sequence[Column], row: dict[str, Any]) -> list[Any]:
    mark, style = _STYLES[row["change"]]
    side = row["after"] or row["before"]
    cells = [Styled(mark, style)]
    for column in shown:
        changed = column.name in row["columns"]
        value = _both(row, column.name) if changed else side.get(column.name)
        plain = "dim" if value is None and row["change"] == "update" else ""
        cells.append(Styled(value, style if changed or row["change"] != "update" else plain))
    return cells


def _both(row: dict[str, Any], name: str) -> str:
    """A cell before and after; long ones are cut to where they begin to differ."""
    limit = cell_limit(screen_width())
    before, after = (cell((row[side] or {}).get(name), max(limit, _WHOLE)) for side in ("before", "after"))
    room = limit - len(_ARROW)
    if width_of(before) + width_of(after) <= room:
        return f"{before}{_ARROW}{after}"
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(same - 5, 0)
    each = room // 2
    return _ARROW.join(_part(text, start, each) for text in (before, after))


def _part(text: str, start: int, width: int) -> str:
    head = f"…{text[start + 1 :]}" if start else text
    return cut(head, width)


COLOURS = {"added": "green", "removed": "red", "appended": "yellow", "changed": "yellow", "moved": "cyan"}
_LINES = {"+": "green", "-": "red", "@": "cyan"}


def file_lines(files: Iterable[FileDiff], *, text: bool) -> Iterator[str]:
    """One line per file; with `text`, also what differs in it."""
    for file in files:
        moved = f" (from {clean(file.moved_from)})" if file.moved_from else ""
        yield paint(f"file {file.change:<8} {clean(file.path)}{moved}", COLOURS[file.change])
        for line in (file.text() or "").splitlines() if text else ():
            yield paint(f"  {clean(line)}", _LINES[line[0]]) if line[:1] in _LINES else f"  {clean(line)}"
