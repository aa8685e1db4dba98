"""Tables for notebooks: small HTML in which every text is escaped. Styles are inline because notebooks drop others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from anabranch.model.texts import CONTROLS
from anabranch.model.texts import html_text as escape

ROWS = 20
"""How many rows are shown."""
_WIDTH, _FULL = 80, 1000
_CONTROL = dict.fromkeys(CONTROLS, "·") | {9: " ", 10: "↵", 13: ""}
_GREEN, _RED, _GREY = "background:rgba(46,160,67,.22)", "background:rgba(248,81,73,.22)", "opacity:.6"
_CELL = "text-align:left;vertical-align:top;padding:2px 10px;white-space:nowrap"
_NUMBER = "text-align:right;vertical-align:top;padding:2px 10px;white-space:nowrap"
_STYLES = {"insert": _GREEN, "delete": _RED}


@dataclass(frozen=True)
class HtmlHeading:
    """A column: its name, its type below it, and whether its values are numbers."""

    name: str
    type: str = ""
    right: bool = False


@dataclass(frozen=True)
class Html:
    """Text that is HTML already."""

    text: str


@dataclass(frozen=True)
class Line:
    """A row of cells; `change` says whether the row was inserted or deleted."""

    cells: Sequence[Any]
    change: str = ""


def block(*parts: str) -> str:
    """Stack parts in one block."""
    return f'<div style="font-size:13px;line-height:1.4">{"".join(parts)}</div>'


def title(text: str) -> str:
    """A line above a table."""
    return f'<div style="margin:6px 0 2px"><b>{escape(text)}</b></div>'


def note(text: str) -> str:
    """A line below a table."""
    return f'<div style="margin:2px 0 8px;{_GREY}">{escape(text)}</div>' if text else ""


def table(headings: Sequence[HtmlHeading], lines: Iterable[Line]) -> str:
    """Draw a table."""
    head = "".join(f'<th style="{_NUMBER if h.right else _CELL}">{_heading(h)}</th>' for h in headings)
    body = "".join(_line(line, headings) for line in lines)
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _heading(heading: HtmlHeading) -> str:
    below = f'<br><span style="font-weight:normal;{_GREY}">{cut(heading.type)}</span>' if heading.type else ""
    return cut(heading.name) + below


def _line(line: Line, headings: Sequence[HtmlHeading]) -> str:
    pairs = zip(line.cells, headings, strict=True)
    cells = "".join(f'<td style="{_NUMBER if h.right else _CELL}">{cell(value)}</td>' for value, h in pairs)
    return f'<tr style="{_STYLES.get(line.change, "")}">{cells}</tr>'


def cell(value: Any) -> str:
    """A value as people read it, in one line."""
    if isinstance(value, Html):
        return value.text
    if value is None:
        return f'<span style="{_GREY}">NULL</span>'
    return cut(_text(value))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"x'{value[:_FULL].hex()}'"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds" if not value.microsecond else "auto")
    if isinstance(value, tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(inner)}" for name, inner in value.items())
    return str(value)


def cut(text: str) -> str:
    """Escape a text and cut it; a tooltip shows the rest."""
    plain = text[: _FULL + 1].translate(_CONTROL)
    if len(plain) <= _WIDTH:
        return escape(plain)
    more = "…" if len(text) > _FULL else ""
    return f'<span title="{escape(plain[:_FULL] + more)}">{escape(plain[: _WIDTH - 1])}…</span>'


def changed(before: Any, after: Any) -> Html:
    """A cell that changed: `old → new`."""
    plain = "text-decoration:none"
    old, new = (f'<{tag} style="{plain};{style}">' for tag, style in (("del", _RED), ("ins", _GREEN)))
    return Html(f"{old}{cell(before)}</del> → {new}{cell(after)}</ins>")


def short(hash_: str | None) -> Html | None:
    """The first digits of a hash, with the whole hash as a tooltip."""
    return None if hash_ is None else Html(f'<code title="{escape(hash_)}">{escape(hash_[:10])}</code>')


def shorts(hashes: Iterable[str]) -> Html:
    """The first digits of several hashes."""
    return Html(" ".join(found.text for found in map(short, hashes) if found))


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values."""
    lines = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{cell(value)}</td></tr>'
        for name, value in pairs
    )
    return f'<table style="border-collapse:collapse"><tbody>{lines}</tbody></table>'


def counted(shown: int, total: int | None, word: str = "row") -> str:
    """Say how many there are, and whether all are shown; `total` is None if the rest were not counted."""
    if total is None:
        return f"{shown:,} {word}s shown; there are more"
    plural = word if total == 1 else f"{word}s"
    return f"{total:,} {plural}" if shown >= total else f"{shown:,} of {total:,} {plural} shown"
