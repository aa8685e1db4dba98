"""A difference for other programs: JSON lines, CSV, SQL, and an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.diff_text import schema_words, summary_line
from anabranch.cli.output.tables import cell
from anabranch.cli.output.text import json_text
from anabranch.documents.diff import Wanted, chosen_rows, key_of
from anabranch.model.texts import html_text as escape

if TYPE_CHECKING:
    from anabranch.repo.compare.table_diff import NamespaceDiff, TableDiff

_STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:.5em 0}"
    "th,td{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left;white-space:pre-wrap;vertical-align:top}"
    "td.n,th.n{text-align:right}tr.insert{background:#e6ffec}tr.delete{background:#ffebe9}"
    "del{background:#ffc9c4;text-decoration:none}ins{background:#abf2bc;text-decoration:none}.null{color:#999}"
)


def written(
    format: str, tables: Sequence[TableDiff], namespaces: Sequence[NamespaceDiff], wanted: Wanted
) -> Iterable[str]:
    """All rows that differ, as lines in a format."""
    if format == "sql":
        from anabranch.repo.compare.sql_script import around, statements

        inner = [text for t in tables for text in statements(t, key_of(t, wanted), wanted.where, wanted.limit)]
        return [text if text.startswith("--") else f"{text};" for text in around(namespaces, inner)]
    return {"ndjson": _ndjson, "csv": _csv, "html": _html}[format](tables, wanted)


def _ndjson(tables: Sequence[TableDiff], wanted: Wanted) -> Iterator[str]:
    for table in tables:
        for row in chosen_rows(table, wanted)[0]:
            yield json_text({"table": table.name, **row})


def _csv(tables: Sequence[TableDiff], wanted: Wanted) -> Iterator[str]:
    """Spark's form: the columns, then `_change_type`; an update is two rows."""
    from anabranch.formats.export_text import CsvStyle, csv_header, csv_lines

    for table in tables:
        found = table.arrow(key=key_of(table, wanted), where=wanted.where)
        yield csv_header(found.column_names, CsvStyle()).decode().rstrip("\n")
        for batch in found.to_batches():
            yield csv_lines(batch, CsvStyle()).decode("utf-8", "surrogatepass").removesuffix("\n")


def _html(tables: Sequence[TableDiff], wanted: Wanted) -> Iterator[str]:
    yield f'<!doctype html><meta charset="utf-8"><title>Differences</title><style>{_STYLE}</style>'
    for table in tables:
        yield from _section(table, wanted)
    if not tables:
        yield "<p>Nothing differs.</p>"


def _section(table: TableDiff, wanted: Wanted) -> Iterator[str]:
    what = f"renamed from {table.renamed_from}" if table.renamed_from else table.change
    yield f"<h2>{escape(table.name)}: {escape(what)}</h2>"
    if table.schema:
        lines = (f"<li>{escape(schema_words(change, table.columns.columns))}</li>" for change in table.schema)
        yield f"<ul>{''.join(lines)}</ul>"
    rows, more = chosen_rows(table, wanted)
    if rows:
        numbers = {c.name for c in table.columns if c.type.is_number}
        names = [c.name for c in table.columns]
        yield f"<table><tr>{''.join(f'<th{_number(n, numbers)}>{escape(n)}</th>' for n in names)}</tr>"
        yield from (_row(row, names, numbers) for row in rows)
        yield "</table>"
    yield f"<p>{summary_line(table.counts(), table.schema)}{', not all of them shown' if more else ''}</p>"


def _row(row: dict[str, Any], names: Sequence[str], numbers: set[str]) -> str:
    cells = "".join(f"<td{_number(name, numbers)}>{_cell(row, name)}</td>" for name in names)
    return f'<tr class="{row["change"]}">{cells}</tr>'


def _number(name: str, numbers: set[str]) -> str:
    return ' class="n"' if name in numbers else ""


def _cell(row: dict[str, Any], name: str) -> str:
    if name in row["columns"]:
        return f"<del>{_value((row['before'] or {}).get(name))}</del> <ins>{_value(row['after'][name])}</ins>"
    return _value((row["after"] or row["before"]).get(name))


def _value(value: Any) -> str:
    return '<span class="null">NULL</span>' if value is None else escape(cell(value, 2000))
