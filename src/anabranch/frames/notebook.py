"""How notebooks show rows, differences and conflicts: the first of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.model.html import ROWS, HtmlHeading, Line, block, changed, counted, note, short, table, title
from anabranch.model.types import DataType

if TYPE_CHECKING:
    from anabranch.model.commits import Branch
    from anabranch.model.schema import Schema
    from anabranch.model.tables import TableEntry


def headings(columns: Iterable[tuple[str, DataType | None]]) -> list[HtmlHeading]:
    """Names with types below them; None is the type of nothing but nulls."""
    return [HtmlHeading(name, str(type_ or "void"), type_ is not None and type_.is_number) for name, type_ in columns]


def rows_html(name: str, columns: Sequence[HtmlHeading], rows: Sequence[Line], total: int | None) -> str:
    """Draw the first rows; `total` is None if only reading all would tell."""
    shown = rows[:ROWS]
    return block(title(name) if name else "", table(columns, shown), note(counted(len(shown), total)))


@dataclass(frozen=True)
class DifferenceShown:
    """What is shown of one table's difference: counts and changes of the schema as lines, and its first rows."""

    title: str
    lines: tuple[str, ...]
    columns: Schema
    rows: Sequence[Mapping[str, Any]]
    total: int


def diff_html(tables: Iterable[DifferenceShown], others: Iterable[str] = ()) -> str:
    """Draw tables that differ, one below the other: inserts green, deletes red, changed cells as old → new."""
    parts = [part for one in tables for part in _difference(one)] + [note(line) for line in others]
    return block(*parts) if parts else block(note("Nothing differs."))


def _difference(one: DifferenceShown) -> Iterator[str]:
    yield title(one.title)
    yield from map(note, one.lines)
    names = one.columns.names
    if one.rows:
        yield table(headings((c.name, c.type) for c in one.columns), [_changed_row(row, names) for row in one.rows])
    yield note(counted(len(one.rows), one.total)) if one.total > len(one.rows) else ""


def _changed_row(row: Mapping[str, Any], names: Sequence[str]) -> Line:
    if row["change"] != "update":
        whole = row["after"] if row["change"] == "insert" else row["before"]
        return Line([whole.get(name) for name in names], row["change"])
    before, after = row["before"], row["after"]
    return Line(
        [changed(before.get(n), after.get(n)) if n in row["columns"] else after.get(n) for n in names], "update"
    )


def repository_html(name: str, default: str, branches: Sequence[Branch], tables: Sequence[TableEntry]) -> str:
    """A repository: its branches, and the tables of the default one."""
    heads = [Line([b.name, short(b.commit), b.created_at]) for b in branches[:ROWS]]
    found = [Line([t.name, t.row_count, ", ".join(t.key)]) for t in tables[:ROWS]]
    return block(
        title(name),
        table([HtmlHeading("branch"), HtmlHeading("commit"), HtmlHeading("made")], heads),
        note(counted(len(heads), len(branches), "branch")) if len(branches) > len(heads) else "",
        table([HtmlHeading(f"table on {default}"), HtmlHeading("rows", right=True), HtmlHeading("key")], found)
        if found
        else "",
        note(counted(len(found), len(tables), "table")) if found else note(f"no tables on {default}"),
    )


Listed = Sequence[Mapping[str, Any]]


def conflicts_html(rows: Mapping[str, Listed], things: Listed = (), violations: Listed = ()) -> str:
    """Draw all conflicts: rows by table, tables and columns themselves, rows that break a constraint."""
    parts = [part for name, some in rows.items() for part in _row_conflicts(name, some)]
    if things:
        names = ("table", "column", "kind", "base", "ours", "theirs")
        parts += [title("tables and columns"), _listed(things, names)]
    if violations:
        broken = _listed(violations, ("table", "kind", "name", "key", "row"))
        parts += [title("constraints that merged rows break"), broken]
    return block(*parts) if parts else block(note("No conflicts."))


def _row_conflicts(name: str, rows: Listed) -> Iterator[str]:
    """The first conflicts of a table, with base, ours and theirs."""
    keys = list(rows[0]["key"]) if rows else []
    names = [*keys, "kind", "column", "base", "ours", "theirs"]
    lines = [Line([*row["key"].values(), *(row[name] for name in names[len(keys) :])]) for row in rows[:ROWS]]
    yield title(name)
    yield table([HtmlHeading(name) for name in names], lines)
    yield note(counted(len(lines), len(rows), "conflict"))


def _listed(things: Listed, names: Sequence[str]) -> str:
    lines = [Line([thing[name] for name in names]) for thing in things[:ROWS]]
    return table([HtmlHeading(name) for name in names], lines) + note(counted(len(lines), len(things), "conflict"))
