"""Results of SQL statements, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.commits import counts_text
from anabranch.cli.output.tables import Heading, screen_width, table_lines
from anabranch.cli.output.text import clean, json_text, plural, short, show_lines
from anabranch.frames.output import objects_of
from anabranch.sql.statements import GoverningSql, RowWriting, WritingSql
from anabranch.sql.version_statements import Explain, Show, ShowCreate

if TYPE_CHECKING:
    from anabranch.repo.read.sql_result import SqlResult

_ALONE = ("INSERT", "UPDATE", "DELETE", "COMMIT", "ROLLBACK", "RESTORE", "OPTIMIZE", "RESOLVE", "REVERT")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def document(result: SqlResult, rows: Any) -> dict[str, Any]:
    """A result as JSON; rows are lists, since two columns may share a name."""
    found: dict[str, Any] = {
        "statement": result.statement.text,
        "columns": list(result.columns),
        "types": list(result.types),
        "rows": [list(row) for row in _rows(rows)],
    }
    if result.counts is not None:
        counts = result.counts
        found |= {"inserted": counts.inserted, "updated": counts.updated, "deleted": counts.deleted}
    if result.commit is not None:
        found["commit"] = result.commit.hash
    return found


def show_result(result: SqlResult, rows: Any, form: str) -> None:
    """Print a result; a long one through the pager."""
    show_lines(_lines(result, rows, form), paged=rows.num_rows > 10)


def _lines(result: SqlResult, rows: Any, form: str) -> Iterator[str]:
    if form == "table":
        yield from table_text(result, rows, screen_width())
    elif form == "ndjson":
        for row in _rows(rows):
            pairs = dict(zip(result.columns, row, strict=True))
            yield json_text(pairs)
    else:
        from anabranch.formats.export_text import CsvStyle, csv_header, csv_lines

        yield csv_header(rows.column_names, CsvStyle()).decode().rstrip("\n")
        for batch in rows.to_batches():
            yield csv_lines(batch, CsvStyle()).decode("utf-8", "surrogatepass").removesuffix("\n")


def table_text(result: SqlResult, rows: Any, width: int) -> Iterator[str]:
    """A result for people: rows as a table, anything else in a line."""
    if isinstance(result.statement, WritingSql):
        described = counts_text(result.counts) if result.counts and _is_of_rows(result) else "done"
        yield f"{_word(result)}: {described}"
        return
    if isinstance(result.statement, GoverningSql) and rows.num_rows == 1:
        facts = zip(rows.column_names, next(_rows(rows)), strict=True)
        described = ", ".join(f"{name} {_fact(name, value)}" for name, value in facts if value is not None)
        yield f"{_word(result)}: {described}"
        return
    if isinstance(result.statement, (ShowCreate, Explain)):
        yield from _long_text(rows)
        return
    headings = [
        Heading(name, right=type_.partition("(")[0] in _NUMBERS)
        for name, type_ in zip(result.columns, result.types, strict=True)
    ]
    yield from table_lines(headings, [_shortened(row, result) for row in _rows(rows)], width)
    yield plural(rows.num_rows, "row")


def _is_of_rows(result: SqlResult) -> bool:
    """Whether counts describe what a statement did; for one about columns, they do not."""
    return isinstance(result.statement, RowWriting) or bool(result.counts and result.counts.rows)


def _long_text(rows: Any) -> Iterator[str]:
    """A long text with its line breaks, preceded by any other values, one per line."""
    for *facts, text in _rows(rows):
        yield from (f"{name}: {fact}" for name, fact in zip(rows.column_names, facts, strict=False))
        yield from clean(text, keep="\n").split("\n")


def _shortened(row: tuple[Any, ...], result: SqlResult) -> list[Any]:
    """A row of SHOW, with hashes shortened as elsewhere; a query's rows stay as they are."""
    if not isinstance(result.statement, Show):
        return list(row)
    return [short(v) if n == "commit" and v else v for n, v in zip(result.columns, row, strict=True)]


def _word(result: SqlResult) -> str:
    """What to call a statement: its first word, or two where one says little."""
    words = result.statement.text.upper().replace("OR REPLACE", "", 1).split()
    if words[0] == "WITH":
        return type(result.statement).__name__.removesuffix("Into").upper()
    return words[0] if words[0] in _ALONE else " ".join(words[:2])


def _fact(name: str, value: Any) -> str:
    return short(value) if name == "commit" else clean(str(value))


def _rows(rows: Any) -> Iterator[tuple[Any, ...]]:
    columns = [objects_of(rows.column(i)) for i in range(rows.num_columns)]
    yield from zip(*columns, strict=True)
