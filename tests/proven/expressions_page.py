"""Writes docs/expressions.md from the table: `python -m tests.proven.expressions_page`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from anabranch.proven.table.row import Proof
from anabranch.proven.table.syntax import CONSTRUCTS, SPELLINGS
from anabranch.proven.table.whole import CAST_ROWS, FAMILIES, names_proven

PAGE = Path(__file__).parents[2] / "docs" / "expressions.md"
START = "<!-- the table: written by tests/proven/expressions_page.py -->"
END = "<!-- the end of the table -->"


def page() -> str:
    """The page, with the table as it is now."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    return "\n".join([f"{before}{START}", "", *_table(), f"{END}{rest.partition(END)[2]}"])


def _table() -> Iterator[str]:
    yield f"{len(names_proven())} functions, operators and casts."
    yield ""
    for title, rows in FAMILIES.items():
        yield from (f"### {title}", "", "| Spark | takes | gives |", "| --- | --- | --- |", *_lines(rows), "")
    yield from ("### Choices and conditions", "", *(f"- `{text}`" for text in CONSTRUCTS.values()), "")
    yield from (
        "### Casts",
        "",
        "Also `try_cast`, `::` and a type's name as a function.",
        "",
        "| from | to |",
        "| --- | --- |",
    )
    for source in dict.fromkeys(source for source, _ in CAST_ROWS):
        yield f"| {source} | {', '.join(to for known, to in CAST_ROWS if known == source)} |"
    yield ""


def _lines(rows: Iterable[Proof]) -> Iterator[str]:
    grouped: dict[tuple[str, ...], list[Proof]] = {}
    for row in rows:
        grouped.setdefault(row.names, []).append(row)
    for names, group in grouped.items():
        spelled = ", ".join(f"`{SPELLINGS.get(name, name)}`" for name in names).replace("|", "\\|")
        takes = "; ".join(", ".join(row.takes) or "nothing" for row in group).replace("|", "\\|")
        gives = "; ".join(dict.fromkeys(_gives(row) for row in group))
        yield f"| {spelled} | {takes} | {gives} |"


def _gives(row: Proof) -> str:
    if isinstance(row.gives, str):
        return row.gives
    words = {"zeroifnull": "decimal", "ceil": "decimal without its fraction", "floor": "decimal without its fraction"}
    return words.get(row.names[0], "same")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
