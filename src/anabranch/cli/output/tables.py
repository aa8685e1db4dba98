"""Tables for people, drawn by rich: cut to the terminal's width, whole in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from io import StringIO
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.text import clean, colourful, cut, plural, show_lines, width_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

CELL_LIMIT, CELL_MINIMUM = 60, 12
_PIPE_WIDTH, _PIPE_CELL = 1_000_000_000, 1_000_000
_GAP = 3


@dataclass(frozen=True)
class Heading:
    """A column of a table: its title, whether it is right-aligned, and whether it is cut after all others."""

    title: str
    right: bool = False
    cut_last: bool = False


@dataclass(frozen=True)
class Styled:
    """A cell with a style of rich."""

    value: Any
    style: str


def print_table(headings: Sequence[Heading], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table."""
    show_lines(drawn(headings, rows))


def drawn(headings: Sequence[Heading], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of a table, as the screen has room; nothing is drawn before they are asked for."""
    yield from table_lines(headings, rows, screen_width())


def table_lines(headings: Sequence[Heading], rows: Sequence[Sequence[Any]], width: int) -> list[str]:
    """Draw a table. Long cells are cut; columns that do not fit are left out, and listed below."""
    widths = fit(_natural(headings, rows, width), width, [h.cut_last for h in headings])
    lines = _drawn(_table(headings, rows, widths))
    if len(widths) == len(headings):
        return lines
    left = ", ".join(clean(h.title) for h in headings[len(widths) :])
    return [*lines, cut(f"{plural(len(headings) - len(widths), 'more column')}: {left}", width)]


def fits(headings: Sequence[Heading], rows: Sequence[Sequence[Any]], width: int) -> bool:
    """Whether a table has room for all of its columns."""
    return len(fit(_natural(headings, rows, width), width)) == len(headings)


def fits_whole(headings: Sequence[Heading], rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the screen has room for a table without cutting a cell."""
    natural = _natural(headings, rows, _PIPE_WIDTH)
    return sum(natural) + _GAP * (len(natural) - 1) <= screen_width()


def key_line(key: Mapping[str, Any]) -> str:
    """A row's key in one line: `id=1, line=2`."""
    return ", ".join(f"{clean(name)}={cell(value, _PIPE_CELL)}" for name, value in key.items())


def _natural(headings: Sequence[Heading], rows: Sequence[Sequence[Any]], width: int) -> list[int]:
    """The preferred width of each column."""
    limit = cell_limit(width)
    cells = [[cell(value, limit) for value in row] for row in rows]
    return [max([width_of(h.title), *(width_of(row[i]) for row in cells)]) for i, h in enumerate(headings)]


def fit(natural: Sequence[int], room: int, cut_last: Sequence[bool] = ()) -> list[int]:
    """The widths of as many columns as there is room for; the widest are cut first, but stay readable."""
    widths = list(natural)
    while len(widths) > 1 and sum(min(w, CELL_MINIMUM) + _GAP for w in widths) - _GAP > room:
        widths.pop()
    loose = [i for i in range(len(widths)) if not any(cut_last[i : i + 1])]
    for chosen in (loose, range(len(widths))):
        while (
            sum(widths) + _GAP * (len(widths) - 1) > room and max((widths[i] for i in chosen), default=0) > CELL_MINIMUM
        ):
            widths[max(chosen, key=lambda i: widths[i])] -= 1
    return widths


def _drawn(thing: RenderableType) -> list[str]:
    """Draw a renderable of rich, in colour if stdout wants it."""
    from rich.console import Console

    drawn, wanted = StringIO(), colourful(sys.stdout)
    Console(file=drawn, width=_PIPE_WIDTH, force_terminal=wanted, no_color=not wanted, highlight=False).print(thing)
    return [line.rstrip() for line in drawn.getvalue().rstrip("\n").split("\n")]


def screen_width() -> int:
    """The width to draw for."""
    return max(get_terminal_size().columns, 40) if sys.stdout.isatty() else _PIPE_WIDTH


def cell_limit(width: int) -> int:
    """The greatest width of a cell; in a pipe, a limit only so that drawing ends in time."""
    return _PIPE_CELL if width >= _PIPE_WIDTH else CELL_LIMIT


def cell(value: Any, limit: int = CELL_LIMIT) -> str:
    """A value for people, in one line."""
    if isinstance(value, Styled):
        return cell(value.value, limit)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return cut(f"x'{value.hex()}'", limit)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return (value.astimezone() if value.tzinfo else value).isoformat(" ")
    text = value.isoformat() if isinstance(value, date) else str(value)
    return cut(clean(text[: limit + 1]), limit)


def _table(headings: Sequence[Heading], rows: Sequence[Sequence[Any]], widths: Sequence[int]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for heading, width in zip(headings, widths, strict=False):
        title = Text(cut(clean(heading.title), width))
        table.add_column(title, justify="right" if heading.right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(_text(value, width) for value, width in zip(row, widths, strict=False)))
    return table


def _text(value: Any, width: int) -> Text:
    from rich.text import Text

    style = value.style if isinstance(value, Styled) else "dim" if value is None else ""
    return Text(cut(cell(value, width), width), style=style)
